package importer

import (
	"context"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
)

// ingester carries the good samples of one request to the store, batch by batch.
type ingester struct {
	store        Store
	batchSamples int
	batch        Batch // nil between batches
	ctx          context.Context
}

// ingest calls f for the lines of the body. f returns what is wrong with the
// line, or an error that ends the request; what f added by then to the open
// batch is lost.
func (h *Handler) ingest(r *http.Request, f func(in *ingester, line []byte) (refused string, err error)) error {
	body, err := openBody(r, h.opts.MaxSnappyBytes)
	if err != nil {
		return err
	}
	defer body.Close()

	in := &ingester{store: h.store, batchSamples: h.opts.BatchSamples, ctx: r.Context()}
	defer in.discard()
	var (
		bad   BadLinesError
		fatal error
	)
	readErr := eachLine(body, h.opts.MaxLineBytes, func(number int, line []byte) error {
		refused, err := f(in, line)
		if refused != "" {
			bad.add(number, line, refused)
		}
		fatal = err
		return err
	})
	switch {
	case fatal != nil:
		return fatal
	case r.Context().Err() != nil && readErr != nil:
		return readErr // the client left; nobody waits for the rest
	}
	if err := in.commit(); err != nil {
		return err
	}
	if readErr == nil && bad.Count > 0 {
		return &bad
	}
	return joinBad(readErr, &bad)
}

// joinBad adds the bad lines to the error that ended the body.
func joinBad(readErr error, bad *BadLinesError) error {
	if readErr == nil || bad.Count == 0 {
		return readErr
	}
	return &RequestError{Status: http.StatusBadRequest, Err: joined{readErr, bad}}
}

type joined struct{ end, bad error }

func (j joined) Error() string   { return j.end.Error() + "\n" + j.bad.Error() }
func (j joined) Unwrap() []error { return []error{j.end, j.bad} }

// add puts samples of one series into the batch and commits as often as it is
// full.
func (in *ingester) add(set *labelSet, extra []labels.Label, times []int64, values []float64) (refused string, err error) {
	for _, l := range extra {
		set.add(l.Name, l.Value)
	}
	lset, err := set.build()
	if err != nil {
		return err.Error(), nil
	}
	for len(times) > 0 {
		if in.batch == nil {
			in.batch = in.store.Batch()
		}
		n := min(len(times), max(1, in.batchSamples-in.batch.Len()))
		reason, err := in.batch.Add(lset, times[:n], values[:n])
		if err != nil {
			return "", err
		}
		if refused == "" {
			refused = reason
		}
		times, values = times[n:], values[n:]
		if in.batch.Len() >= in.batchSamples {
			if err := in.commit(); err != nil {
				return "", err
			}
		}
	}
	return refused, nil
}

func (in *ingester) commit() error {
	if in.batch == nil {
		return nil
	}
	batch := in.batch
	in.batch = nil
	return batch.Commit(in.ctx)
}

func (in *ingester) discard() {
	if in.batch != nil {
		in.batch.Discard()
		in.batch = nil
	}
}
