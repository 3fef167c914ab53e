package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

const (
	// vmStep is the step, and the range, of a request that names none.
	vmStep = 5 * 60 * 1000
	// vmMaxQueryBytes is VictoriaMetrics' default of -search.maxQueryLen.
	vmMaxQueryBytes = 16 << 10
	// vmAdjusted is the step from which on the last points of a range are left as they
	// are, VictoriaMetrics' default of -search.maxStepForPointsAdjustment.
	vmAdjusted = 60 * 1000
)

// vmQuery evaluates an expression of MetricsQL at one time.
func (a *API) vmQuery(r *http.Request) vmResult {
	now := a.now()
	q := promqlx.MetricsQLQuery{Instant: true, Text: r.Form.Get("query")}
	if q.Text == "" {
		return vmError(errors.New("missing `query` arg"))
	}
	var err error
	if q.Start, err = vmhttp.Time(r.Form, "time", now.UnixMilli(), now); err != nil {
		return vmError(err)
	}
	if q.Lookback, err = vmhttp.Duration(r.Form, "max_lookback", 0); err != nil {
		return vmError(err)
	}
	if q.Step, err = vmhttp.Duration(r.Form, "step", q.Lookback); err != nil {
		return vmError(err)
	}
	if q.Step <= 0 {
		q.Step = vmStep
	}
	if err := checkVMQuery(q.Text); err != nil {
		return vmError(err)
	}
	if q.Filters, err = vmhttp.ExtraFilters(r, promqlx.ParseSelectors); err != nil {
		return vmError(err)
	}
	shift, err := a.vmShift(r, q, now)
	if err != nil {
		return vmError(err)
	}
	q.Start -= shift
	q.End = q.Start
	return a.runVM(r, q, now, shift)
}

// vmQueryRange evaluates an expression of MetricsQL at every step of a range.
func (a *API) vmQueryRange(r *http.Request) vmResult {
	now := a.now()
	q := promqlx.MetricsQLQuery{Text: r.Form.Get("query")}
	if q.Text == "" {
		return vmError(errors.New("missing `query` arg"))
	}
	var err error
	if q.Start, err = vmhttp.Time(r.Form, "start", now.UnixMilli()-vmStep, now); err != nil {
		return vmError(err)
	}
	if q.End, err = vmhttp.Time(r.Form, "end", now.UnixMilli(), now); err != nil {
		return vmError(err)
	}
	if q.Step, err = vmhttp.Duration(r.Form, "step", vmStep); err != nil {
		return vmError(err)
	}
	if q.Filters, err = vmhttp.ExtraFilters(r, promqlx.ParseSelectors); err != nil {
		return vmError(err)
	}
	if q.Lookback, err = vmhttp.Duration(r.Form, "max_lookback", 0); err != nil {
		return vmError(aboutRange(q, err))
	}
	if err := checkVMQuery(q.Text); err != nil {
		return vmError(aboutRange(q, err))
	}
	return a.runVM(r, q, now, 0)
}

// aboutRange tells which query an error is about.
func aboutRange(q promqlx.MetricsQLQuery, err error) error {
	return fmt.Errorf("error when executing query=%q on the time range (start=%d, end=%d, step=%d): %w", q.Text, q.Start, q.End, q.Step, err)
}

func checkVMQuery(text string) error {
	if len(text) > vmMaxQueryBytes {
		return fmt.Errorf("too long query; got %d bytes; mustn't exceed `-search.maxQueryLen=%d` bytes", len(text), vmMaxQueryBytes)
	}
	return nil
}

// vmOffset is how young samples are that a query does not see yet, milliseconds.
func (a *API) vmOffset(r *http.Request) (int64, error) {
	return vmhttp.Duration(r.Form, "latency_offset", a.opts.LatencyOffset.Milliseconds())
}

// vmShift tells how far back a query about now is to look instead, so that it does
// not see the youngest samples, which may not all be there. What the whole
// expression takes a window of is not shifted.
func (a *API) vmShift(r *http.Request, q promqlx.MetricsQLQuery, now time.Time) (int64, error) {
	offset, err := a.vmOffset(r)
	ahead := q.Start - now.UnixMilli()
	if err == nil && (max(ahead, -ahead) >= offset || vmhttp.Bool(r.Form, "nocache")) {
		return 0, nil
	}
	if promqlx.MetricsQLIsWindow(q.Text) {
		return 0, nil
	}
	return ahead + offset, err
}

// runVM evaluates a query within its timeout; shift is added to the times of a
// vector.
func (a *API) runVM(r *http.Request, q promqlx.MetricsQLQuery, now time.Time, shift int64) vmResult {
	ctx := r.Context()
	if timeout := vmhttp.Timeout(r.Form, 0); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	q.NoCache = vmhttp.Bool(r.Form, "nocache")
	q.RoundDigits = 100
	if n, err := strconv.Atoi(r.Form.Get("round_digits")); err == nil {
		q.RoundDigits = n
	}
	q.Client = r.RemoteAddr
	q.Trace = promqlx.NewTrace(vmhttp.Bool(r.Form, "trace"), "%s %s", r.URL.Path, q.Text)
	began := time.Now()
	out := a.opts.Engine.MetricsQL(ctx, a.opts.Storage, q)
	took := time.Since(began)
	err := out.Err
	if err == nil && out.Kind == promqlx.MetricsQLMatrix && out.Step < vmAdjusted {
		var offset int64
		if offset, err = a.vmOffset(r); err == nil {
			repeatLast(out, now.UnixMilli()-offset, now.UnixMilli()+out.Step)
		} else {
			err = aboutRange(q, err)
		}
	}
	if err != nil {
		return vmResult{err: err, close: out.Close}
	}
	out.Start += shift
	return vmResult{body: vmData{out, took}, close: out.Close, trace: q.Trace}
}

// repeatLast puts the last value up to a time in the place of those after it, which
// may be of samples that are not all there, unless there are steps behind end.
// (adjustLastPoints of VictoriaMetrics.)
func repeatLast(r *promqlx.MetricsQLResult, from, end int64) {
	for i := range r.Series {
		values := r.Series[i].Values
		if r.Start+int64(len(values)-1)*r.Step > end {
			continue
		}
		first := len(values)
		for first > 0 && r.Start+int64(first-1)*r.Step > from {
			first--
		}
		last := math.NaN()
		if first > 0 {
			last = values[first-1]
		}
		for k := first; k < len(values); k++ {
			values[k] = last
		}
	}
}

// vmData is the answer to a query.
type vmData struct {
	out  *promqlx.MetricsQLResult
	took time.Duration
}

func (d vmData) writeJSON(s *sink) {
	switch d.out.Kind {
	case promqlx.MetricsQLRaw:
		s.buf = append(s.buf, `"data":{"resultType":"matrix","result":[`...)
		s.writeRaw(d.out.Series)
		s.buf = append(s.buf, "]}"...)
		return // without statistics
	case promqlx.MetricsQLMatrix:
		s.buf = append(s.buf, `"data":{"resultType":"matrix","result":[`...)
		s.writeGrid(d.out)
	default:
		s.buf = append(s.buf, `"data":{"resultType":"vector","result":[`...)
		s.writeInstant(d.out)
	}
	s.buf = append(s.buf, `]},"stats":{"seriesFetched": "`...)
	s.buf = strconv.AppendInt(s.buf, int64(d.out.SeriesFetched), 10)
	s.buf = append(s.buf, `","executionTimeMsec":`...)
	s.buf = strconv.AppendInt(s.buf, d.took.Milliseconds(), 10)
	s.buf = append(s.buf, '}')
}

func (s *sink) writeRaw(all []promqlx.MetricsQLSeries) {
	for i := range all {
		one := &all[i]
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = appendVMMetric(s.buf, one)
		s.buf = append(s.buf, `,"values":[`...)
		for k, v := range one.Values {
			buf := s.room(maxPointBytes)
			if k > 0 {
				buf = append(buf, ',')
			}
			s.buf = vmhttp.AppendPoint(buf, one.Times[k], v)
		}
		s.buf = append(s.buf, "]}"...)
		s.spill()
	}
}

func (s *sink) writeInstant(r *promqlx.MetricsQLResult) {
	first := true
	for i := range r.Series {
		one := &r.Series[i]
		if len(one.Values) == 0 || math.IsNaN(one.Values[0]) {
			continue
		}
		if !first {
			s.buf = append(s.buf, ',')
		}
		first = false
		s.buf = appendVMMetric(s.buf, one)
		s.buf = append(s.buf, `,"value":`...)
		s.buf = vmhttp.AppendPoint(s.buf, r.Start, one.Values[0])
		s.buf = append(s.buf, '}')
		s.spill()
	}
}

// writeGrid writes series whose values are of the same times.
func (s *sink) writeGrid(r *promqlx.MetricsQLResult) {
	first := true
	for i := range r.Series {
		one := &r.Series[i]
		if !slices.ContainsFunc(one.Values, isValue) {
			continue
		}
		if first {
			s.stamps.learnGrid(r.Start, r.Step, len(one.Values))
		} else {
			s.buf = append(s.buf, ',')
		}
		first = false
		s.buf = appendVMMetric(s.buf, one)
		s.buf = append(s.buf, `,"values":[`...)
		s.writeValues(one.Values)
		s.buf[len(s.buf)-1] = ']' // the last comma
		s.buf = append(s.buf, '}')
		s.spill()
	}
}

func isValue(v float64) bool { return v == v }

// writeValues writes the values that there are, each with its time and a comma.
func (s *sink) writeValues(values []float64) {
	first := 0
	for some := range slices.Chunk(values, pointsAtOnce) {
		buf := s.room(pointsAtOnce * maxPointBytes)
		for i, v := range some {
			if v != v {
				continue
			}
			buf = s.stamps.append(buf, first+i)
			if k, ok := small(v); ok {
				buf = appendSmallEnd(buf, k)
				continue
			}
			buf = append(appendVMNumber(buf, v), `"],`...)
			buf = slices.Grow(buf, (len(some)-i)*maxPointBytes) // a number may be 300 digits long
		}
		s.buf = buf
		first += len(some)
	}
}

// learnGrid takes times that all series have in common.
func (s *stamps) learnGrid(start, step int64, n int) {
	s.times, s.texts, s.lengths = s.times[:0], slices.Grow(s.texts[:0], n)[:n], slices.Grow(s.lengths[:0], n)[:n]
	const from, end = 1e9, 1e10 // seconds of ten digits, of which only the last change mostly
	var text [stampBytes + 4]byte
	begins := int64(-1) // the seconds that text begins with, but for four digits
	for i := range n {
		t := start + int64(i)*step
		second := t / 1000
		if t%1000 != 0 || second < from || second >= end {
			var other [stampBytes + 4]byte
			b := vmhttp.AppendSeconds(append(other[:0], '['), t)
			b = append(b, `,"`...)
			s.texts[i], s.lengths[i] = other, uint8(len(b))
			continue
		}
		if second/10_000 != begins {
			begins = second / 10_000
			vmhttp.AppendSeconds(append(text[:0], '['), begins*10_000_000)
			copy(text[11:], `,"`)
		}
		k := second % 10_000
		text[7], text[8], text[9], text[10] = byte('0'+k/1000), byte('0'+k/100%10), byte('0'+k/10%10), byte('0'+k%10)
		s.texts[i], s.lengths[i] = text, 13
	}
}

// appendVMNumber is vmhttp.AppendNumber, whose bytes it appends, with the shortcuts
// of appendDigits.
func appendVMNumber(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1<<53 {
		return appendDigits(dst, f)
	}
	return vmhttp.AppendNumber(dst, f)
}

// appendVMMetric appends the beginning of a series: an open brace, and its name and
// labels as they are.
func appendVMMetric(dst []byte, one *promqlx.MetricsQLSeries) []byte {
	dst = append(dst, `{"metric":{`...)
	empty := len(dst)
	if one.Name != "" {
		dst = vmhttp.AppendString(append(dst, `"__name__":`...), one.Name)
		dst = append(dst, ',')
	}
	for i := range one.Tags {
		dst = vmhttp.AppendString(dst, one.Tags[i].Key)
		dst = vmhttp.AppendString(append(dst, ':'), one.Tags[i].Value)
		dst = append(dst, ',')
	}
	if len(dst) == empty {
		return append(dst, '}')
	}
	dst[len(dst)-1] = '}' // the last comma
	return dst
}
