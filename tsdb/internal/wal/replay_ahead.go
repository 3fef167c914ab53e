package wal

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

const (
	jobsPerWorker = 4
	smallFrame    = 4 << 10  // payloads below it are handed on together,
	jobFrames     = 64       // at most so many of them
	jobBytes      = 64 << 10 // or about so many bytes
	aheadBytes    = 1 << 20  // of payloads that are not applied yet, or else one frame
	keptFrame     = 64 << 10 // what a longer one was decoded to is not kept for others
	mostWorkers   = 16
)

// errStopped ends the reading when apply failed.
var errStopped = errors.New("stopped")

// ReplayAhead is Replay for frames whose decoding is worth a goroutine of its own.
// It reads and decodes ahead, with a goroutine for each processor, 16 at most: it
// calls decode for every frame that Replay would hand over, of several frames at
// once, and then apply in the order of the log, in the caller's goroutine.
//
// decode leaves what it makes of a frame, its failure too, in a D that may have
// been used for another frame. The payload and the D are valid until apply returns.
//
// At most about 1 MiB of payloads, or one frame, is in memory, and what they were
// decoded to. An error of apply ends the replay and is wrapped; the report may
// then be ahead of it.
func ReplayAhead[D any](l *Log, after uint64, decode func(Frame, *D), apply func(Frame, *D) error) (ReplayReport, error) {
	return replayAhead(l, after, min(runtime.GOMAXPROCS(0), mostWorkers), decode, apply)
}

func replayAhead[D any](l *Log, after uint64, workers int, decode func(Frame, *D), apply func(Frame, *D) error) (ReplayReport, error) {
	if workers == 1 {
		var d D
		return l.Replay(after, func(f Frame) error {
			decode(f, &d)
			return apply(f, &d)
		})
	}
	report, err := l.replay(after, func(w *walker, segments []segmentFile) error {
		a := newAhead[D](workers)
		w.fn = a.add
		return a.run(workers, decode, apply, func() error { return w.run(segments) }, w.readError)
	})
	if err != nil {
		return report, fmt.Errorf("replay log: %w", err)
	}
	return report, nil
}

// ahead moves jobs in a ring: the reader fills them, workers decode them, and the
// caller applies them in order and gives them back.
type ahead[D any] struct {
	todo  chan *job[D] // for workers
	order chan *job[D] // for the caller
	free  chan *job[D]
	stop  chan struct{} // closed when the caller needs no more

	// Of the reader.
	idle    []*job[D]
	filling *job[D] // nil if none is being filled
	flying  int     // bytes of payloads that are not applied yet
}

// job is some small frames, or one that is not.
type job[D any] struct {
	frames  []Frame
	ends    []int // of the payloads in buf
	buf     []byte
	small   []D // one for each frame
	big     D   // of the frame that is not small
	isBig   bool
	decoded chan struct{}
}

func (j *job[D]) result(i int) *D {
	if j.isBig {
		return &j.big
	}
	return &j.small[i]
}

func (j *job[D]) reset() {
	if len(j.buf) > keptFrame {
		*j = job[D]{decoded: j.decoded, small: j.small, frames: j.frames, ends: j.ends}
	}
	j.frames, j.ends, j.buf, j.isBig = j.frames[:0], j.ends[:0], j.buf[:0], false
}

func newAhead[D any](workers int) *ahead[D] {
	n := workers * jobsPerWorker
	a := &ahead[D]{
		todo: make(chan *job[D], n), order: make(chan *job[D], n), free: make(chan *job[D], n),
		stop: make(chan struct{}),
	}
	for range n {
		a.idle = append(a.idle, &job[D]{decoded: make(chan struct{}, 1)})
	}
	return a
}

// add is called by the reader with each frame.
func (a *ahead[D]) add(f Frame) error {
	isBig := len(f.Payload) >= smallFrame
	if j := a.filling; j != nil && (isBig || len(j.frames) == jobFrames || len(j.buf)+len(f.Payload) > jobBytes) {
		a.hand()
	}
	if a.filling == nil {
		if err := a.await(len(f.Payload)); err != nil {
			return err
		}
	}
	j := a.filling
	j.isBig = isBig
	j.buf = append(j.buf, f.Payload...)
	j.ends = append(j.ends, len(j.buf))
	j.frames = append(j.frames, f)
	if !isBig && len(j.small) < len(j.frames) {
		j.small = append(j.small, *new(D))
	}
	a.flying += len(f.Payload)
	if isBig {
		a.hand()
	}
	return nil
}

// await waits until a job for a payload of n bytes may be filled.
func (a *ahead[D]) await(n int) error {
	for len(a.idle) == 0 || a.flying > 0 && a.flying+n > aheadBytes {
		select {
		case j := <-a.free:
			a.flying -= len(j.buf)
			j.reset()
			a.idle = append(a.idle, j)
		case <-a.stop:
			return errStopped
		}
	}
	last := len(a.idle) - 1
	a.filling, a.idle = a.idle[last], a.idle[:last]
	return nil
}

// hand gives the job that was filled to the workers and to the caller. The channels
// have room for every job.
func (a *ahead[D]) hand() {
	j := a.filling
	a.filling = nil
	from := 0
	for i, end := range j.ends {
		j.frames[i].Payload = j.buf[from:end:end]
		from = end
	}
	a.todo <- j
	a.order <- j
}

// run calls read in a goroutine and applies what it adds. It returns when all
// goroutines have ended.
func (a *ahead[D]) run(workers int, decode func(Frame, *D), apply func(Frame, *D) error, read func() error, wrap func(uint64, error) error) error {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for j := range a.todo {
				for i, f := range j.frames {
					decode(f, j.result(i))
				}
				j.decoded <- struct{}{}
			}
		})
	}
	var readErr error
	running.Go(func() {
		readErr = read()
		if a.filling != nil {
			a.hand()
		}
		close(a.todo)
		close(a.order)
	})
	err := a.applyAll(apply, wrap)
	running.Wait()
	if err != nil {
		return err
	}
	return readErr
}

// applyAll applies the jobs until there are no more or one fails.
func (a *ahead[D]) applyAll(apply func(Frame, *D) error, wrap func(uint64, error) error) error {
	for j := range a.order {
		<-j.decoded
		for i, f := range j.frames {
			if err := apply(f, j.result(i)); err != nil {
				close(a.stop)
				return wrap(f.Segment, err)
			}
		}
		a.free <- j
	}
	return nil
}
