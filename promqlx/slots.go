package promqlx

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"
)

// slots bounds the queries that evaluate at once (I1): who has sent one token has
// a slot. Go serves blocked senders in the order in which they came.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take waits for a slot until ctx ends (I2).
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}: // nobody waits then, and none makes ctx's channel
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contextError(ctx, "query queue")
	}
}

// free gives a slot back.
func (s slots) free() { <-s }

// contextError says, in Prometheus' words, why ctx ended and where the query was
// then; it returns nil if ctx has not ended.
func contextError(ctx context.Context, where string) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout(where)
	default:
		return promql.ErrQueryCanceled(where)
	}
}
