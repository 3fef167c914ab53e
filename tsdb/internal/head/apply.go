package head

// Group is a request's samples ordered by shard, ready to be enqueued. It is
// reused from request to request by one goroutine at a time.
type Group struct {
	samples []Sample
	counts  [shardCount + 1]int // shard i is samples[counts[i]:counts[i+1]]
}

// Arrange fills g with the samples, keeping their order within a series.
func (g *Group) Arrange(samples []Sample) {
	g.counts = [shardCount + 1]int{}
	for i := range samples {
		g.counts[samples[i].Series.shard+1]++
	}
	for i := 0; i < shardCount; i++ {
		g.counts[i+1] += g.counts[i]
	}
	if cap(g.samples) < len(samples) {
		g.samples = make([]Sample, len(samples))
	}
	g.samples = g.samples[:len(samples)]
	at := g.counts
	for i := range samples {
		sh := samples[i].Series.shard
		g.samples[at[sh]] = samples[i]
		at[sh]++
	}
}

// Clear lets go of what the samples point to.
func (g *Group) Clear() {
	clear(g.samples)
	g.samples = g.samples[:0]
}

// Enqueue puts the samples of g in line under their sequence number. Calls must
// come in ascending order of seq, one at a time; it only takes a moment. The
// samples are visible after Drain.
func (h *Head) Enqueue(seq uint64, g *Group) {
	for i := range h.shards {
		part := g.samples[g.counts[i]:g.counts[i+1]]
		if len(part) == 0 {
			continue
		}
		q := &h.shards[i].queue
		q.Lock()
		q.pieces = append(q.pieces, piece{seq: seq, samples: part})
		q.Unlock()
	}
}

// Drain applies g's samples and whatever stands in line before them. When it
// returns all of them are visible and g may be reused.
func (h *Head) Drain(g *Group) {
	for i := range h.shards {
		if g.counts[i] == g.counts[i+1] {
			continue
		}
		h.drainShard(i)
	}
}

func (h *Head) drainShard(i int) {
	sh := &h.shards[i]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.queue.Lock()
	pieces := sh.queue.pieces
	sh.queue.pieces = nil
	sh.queue.Unlock()
	gen := h.active.Load()
	for _, p := range pieces {
		gen.apply(i, p)
	}
}

// apply adds a piece to the generation; its shard is locked.
func (g *Generation) apply(shardIndex int, p piece) {
	size := 0
	mint, maxt := int64(emptyMinT), int64(emptyMaxT)
	for i := range p.samples {
		s := &p.samples[i]
		d := s.Series.data
		if d == nil || d.gen != g {
			d = &seriesData{series: s.Series, gen: g, prev: d, mint: emptyMinT, maxt: emptyMaxT}
			s.Series.data, s.Series.lastGen = d, g.id
			g.bySeries[shardIndex] = append(g.bySeries[shardIndex], d)
			size += seriesBytes
		}
		size += d.append(s)
		if s.Kind != KindExemplar {
			mint, maxt = min(mint, s.T), max(maxt, s.T)
		}
	}
	g.bytes.Add(int64(size))
	g.samples.Add(int64(len(p.samples)))
	storeMin(&g.seqMin, p.seq)
	storeMax(&g.seqMax, p.seq)
	storeMin(&g.mint, mint)
	storeMax(&g.maxt, maxt)
}

// seriesBytes is what a series costs a generation before its first sample.
const seriesBytes = 200 // its first run not counted
