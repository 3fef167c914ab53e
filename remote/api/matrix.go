package api

import (
	"slices"

	"github.com/prometheus/prometheus/promql"
)

// stampBytes is more than the longest timestamp takes: "-9223372036854775.808".
const stampBytes = 24

// maxStamps bounds what is remembered for an answer: the steps of the longest
// query. Ranges of raw samples may have more.
const maxStamps = maxPoints + 1

// stamps are the texts of timestamps that many series of a matrix have in
// common: `[1700000000,"`, each in a place of its own.
type stamps struct {
	times   []int64
	texts   [][stampBytes + 4]byte
	lengths []uint8
}

// learn takes the timestamps of a series as those that the others will have.
func (s *stamps) learn(points []promql.FPoint) {
	s.times, s.texts, s.lengths = s.times[:0], s.texts[:0], s.lengths[:0]
	for _, p := range points[:min(len(points), maxStamps)] {
		var text [stampBytes + 4]byte
		b := append(text[:0], '[')
		b = appendTimestamp(b, p.T)
		b = append(b, `,"`...)
		s.times, s.texts, s.lengths = append(s.times, p.T), append(s.texts, text), append(s.lengths, uint8(len(b)))
	}
}

// append appends the text of a time, in room for maxPointBytes.
func (s *stamps) append(dst []byte, i int) []byte {
	n := len(dst)
	dst = dst[:n+stampBytes+4]
	*(*[stampBytes + 4]byte)(dst[n:]) = s.texts[i]
	return dst[:n+int(s.lengths[i])]
}

// pointsAtOnce are written without a look at the room there is.
const pointsAtOnce = 64

// maxPointBytes is more than a float point takes in a matrix.
const maxPointBytes = stampBytes + 4 + maxFloatBytes + 3

// writeMatrix writes an array of series.
func (s *sink) writeMatrix(m promql.Matrix) {
	longest := []promql.FPoint(nil)
	for i := range m {
		if len(m[i].Floats) > len(longest) {
			longest = m[i].Floats
		}
	}
	if len(m) == 1 {
		longest = nil // nobody to share with
	}
	s.stamps.learn(longest)
	s.buf = append(s.buf, '[')
	for i := range m {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.writeSeries(&m[i])
		s.spill()
	}
	s.buf = append(s.buf, ']')
}

// writeSeries writes one element of a matrix, spilling as it grows.
func (s *sink) writeSeries(series *promql.Series) {
	s.buf = append(s.buf, `{"metric":`...)
	s.buf = appendLabels(s.buf, series.Metric)
	if len(series.Floats) > 0 {
		s.buf = append(s.buf, `,"values":[`...)
		s.writeFloats(series.Floats)
		s.buf[len(s.buf)-1] = ']' // the last comma
	}
	open := `,"histograms":[`
	for _, p := range series.Histograms {
		s.buf = append(s.buf, open...)
		open = ","
		s.buf = appendHPoint(s.buf, p)
		s.spill()
	}
	if open == "," {
		s.buf = append(s.buf, ']')
	}
	s.buf = append(s.buf, '}')
}

// writeFloats writes points, each followed by a comma, of which the last is not
// sent on.
func (s *sink) writeFloats(points []promql.FPoint) {
	at := 0 // in s.stamps: the first time that is not before the point's
	times := s.stamps.times
	for some := range slices.Chunk(points, pointsAtOnce) {
		buf := s.room(pointsAtOnce * maxPointBytes)
		for i := range some {
			p := &some[i]
			for at < len(times) && times[at] < p.T {
				at++
			}
			if at < len(times) && times[at] == p.T {
				buf = s.stamps.append(buf, at)
				at++
			} else {
				buf = appendTimestamp(append(buf, '['), p.T)
				buf = append(buf, `,"`...)
			}
			if k, ok := small(p.F); ok {
				buf = appendSmallEnd(buf, k)
				continue
			}
			buf = append(appendDigits(buf, p.F), `"],`...)
		}
		s.buf = buf
	}
}
