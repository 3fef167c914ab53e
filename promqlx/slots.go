package promqlx

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"
)

// slots bounds the queries that evaluate at once (I1). It is the engine's
// promql.QueryTracker, which the engine asks twice per query: to parse, where
// nobody should wait and the engine's timeout does not run yet, and to evaluate.
type slots struct {
	taken chan struct{}
}

// What Insert returns and Delete gets back.
const (
	slotNone = iota
	slotTaken
)

func newSlots(n int) *slots { return &slots{taken: make(chan struct{}, n)} }

type slotKey struct{}

// withSlot marks a context whose query needs a slot.
func withSlot(ctx context.Context) context.Context {
	return context.WithValue(ctx, slotKey{}, true)
}

// GetMaxConcurrent returns the number of slots.
func (s *slots) GetMaxConcurrent() int { return cap(s.taken) }

// Insert waits for a slot until ctx ends (I2).
func (s *slots) Insert(ctx context.Context, _ string) (int, error) {
	if ctx.Value(slotKey{}) == nil {
		return slotNone, nil
	}
	select {
	case s.taken <- struct{}{}:
		return slotTaken, nil
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return slotNone, promql.ErrQueryTimeout("query queue")
	}
	return slotNone, promql.ErrQueryCanceled("query queue")
}

// Delete frees the slot that Insert gave.
func (s *slots) Delete(slot int) {
	if slot == slotTaken {
		<-s.taken
	}
}

// Close does nothing: there is nothing to close.
func (s *slots) Close() error { return nil }
