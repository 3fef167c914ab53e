package tsdb

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/storage"
)

// AppenderV2 returns an appender that logs and shows its samples at Commit.
func (s *Storage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &appender{ctx: ctx, batch: s.db.Batch()}
}

// Appender returns an appender of the older interface.
func (s *Storage) Appender(ctx context.Context) storage.Appender {
	return &appenderV1{appender{ctx: ctx, batch: s.db.Batch()}}
}

// appender turns Prometheus' calls into those of a Batch. It hands out no
// series references: a look-up by labels costs little beside the log.
type appender struct {
	ctx   context.Context
	batch *Batch
}

var _ storage.ExemplarAppenderV2 = (*appender)(nil)

func (a *appender) Append(_ storage.SeriesRef, ls labels.Labels, st, t int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if a.batch == nil {
		return 0, errEnded
	}
	s, err := a.series(ls)
	if err != nil {
		return 0, err
	}
	if err := a.sample(s, st, t, v, h, fh); err != nil {
		return 0, err
	}
	if opts.MetricFamilyName != "" && !opts.Metadata.IsEmpty() {
		if err := a.batch.Metadata(opts.MetricFamilyName, opts.Metadata); err != nil {
			return 0, err
		}
	}
	return storage.SeriesRef(s), a.exemplars(s, opts.Exemplars)
}

func (a *appender) series(ls labels.Labels) (Series, error) {
	ls = ls.WithoutEmpty()
	if name, twice := ls.HasDuplicateLabelNames(); twice {
		return 0, &InputError{Culprit: clip(ls.String()), Reason: "label name " + name + " is not unique"}
	}
	return a.batch.Series(ls)
}

func (a *appender) sample(s Series, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram) error {
	switch {
	case fh != nil:
		if err := fh.Validate(); err != nil {
			return err
		}
		return a.batch.FloatHistogram(s, st, t, fh.Copy())
	case h != nil:
		if err := h.Validate(); err != nil {
			return err
		}
		return a.batch.Histogram(s, st, t, h.Copy())
	}
	return a.batch.Float(s, st, t, v)
}

func (a *appender) exemplars(s Series, xs []exemplar.Exemplar) error {
	var partial *storage.AppendPartialError
	for i, x := range xs {
		if err := a.batch.Exemplar(s, x); err != nil {
			if partial == nil {
				partial = &storage.AppendPartialError{}
			}
			partial.ExemplarErrors = append(partial.ExemplarErrors, storage.ExemplarError{Index: i, Err: err})
		}
	}
	return partial.ToError()
}

func (a *appender) AppendExemplars(_ storage.SeriesRef, ls labels.Labels, xs []exemplar.Exemplar) (storage.SeriesRef, error) {
	if a.batch == nil {
		return 0, errEnded
	}
	s, ok := a.batch.db.head.Find(ls.WithoutEmpty(), a.batch.began)
	if !ok {
		return 0, storage.ErrNotFound
	}
	return storage.SeriesRef(s), a.exemplars(s, xs)
}

// errEnded is returned to those who commit or roll back twice: the batch may be
// another one's by then.
var errEnded = errors.New("appender was committed or rolled back")

func (a *appender) Commit() error {
	b := a.batch
	if b == nil {
		return errEnded
	}
	a.batch = nil
	return b.Commit(a.ctx)
}

func (a *appender) Rollback() error {
	if a.batch == nil {
		return errEnded
	}
	a.batch.Discard()
	a.batch = nil
	return nil
}

// appenderV1 is the older interface over the same batch.
type appenderV1 struct{ appender }

var errNoZeroSample = errors.New("start timestamps are kept with their samples, not as zero samples")

func (a *appenderV1) SetOptions(*storage.AppendOptions) {}

func (a *appenderV1) Append(ref storage.SeriesRef, l labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	return a.appender.Append(ref, l, 0, t, v, nil, nil, storage.AppendV2Options{})
}

func (a *appenderV1) AppendHistogram(ref storage.SeriesRef, l labels.Labels, t int64, h *histogram.Histogram, fh *histogram.FloatHistogram) (storage.SeriesRef, error) {
	return a.appender.Append(ref, l, 0, t, 0, h, fh, storage.AppendV2Options{})
}

func (a *appenderV1) AppendExemplar(_ storage.SeriesRef, l labels.Labels, e exemplar.Exemplar) (storage.SeriesRef, error) {
	return a.appender.AppendExemplars(0, l, []exemplar.Exemplar{e})
}

func (a *appenderV1) UpdateMetadata(_ storage.SeriesRef, l labels.Labels, m metadata.Metadata) (storage.SeriesRef, error) {
	if a.batch == nil {
		return 0, errEnded
	}
	return 0, a.batch.Metadata(l.Get(labels.MetricName), m)
}

func (a *appenderV1) AppendSTZeroSample(storage.SeriesRef, labels.Labels, int64, int64) (storage.SeriesRef, error) {
	return 0, errNoZeroSample
}

func (a *appenderV1) AppendHistogramSTZeroSample(storage.SeriesRef, labels.Labels, int64, int64, *histogram.Histogram, *histogram.FloatHistogram) (storage.SeriesRef, error) {
	return 0, errNoZeroSample
}
