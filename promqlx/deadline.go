package promqlx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// deadline is the context of a query: its caller's, until a time or its end. It is
// what context.WithDeadline returns, but there is a timer, a channel and a place among
// the caller's children only if somebody waits for it, or asks often, which a query
// that is small and that nothing holds up does not.
type deadline struct {
	context.Context // the caller's
	until           time.Time

	made atomic.Pointer[within] // as soon as somebody waits
	mu   sync.Mutex             // held while it is made or ended
	over atomic.Bool

	asked atomic.Int32 // how often, while none is made
}

// oftenAsked is how often Err reads the clock, which is slower than to look at a
// context that has a timer, but faster than to make one.
const oftenAsked = 16

// within is a context of the standard library, and its end.
type within struct {
	context.Context
	cancel context.CancelFunc
}

// within returns a context that ends with ctx, at a time, or by end, whichever is
// first; if that is ctx anyway it is ctx itself.
func (d *deadline) within(ctx context.Context, until time.Time) context.Context {
	if t, ok := ctx.Deadline(); ok && !t.After(until) {
		return ctx
	}
	d.Context, d.until = ctx, until
	return d
}

// end ends the context, whoever still has it.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over.Store(true)
	if w := d.made.Load(); w != nil {
		w.cancel()
	}
}

// whole returns the context that can be waited for.
func (d *deadline) whole() *within {
	if w := d.made.Load(); w != nil {
		return w
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.made.Load(); w != nil {
		return w
	}
	w := &within{}
	w.Context, w.cancel = context.WithDeadline(d.Context, d.until)
	if d.over.Load() {
		w.cancel()
	}
	d.made.Store(w)
	return w
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.until, true }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.whole().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if w := d.made.Load(); w != nil {
		return w.Err()
	}
	if d.asked.Add(1) > oftenAsked {
		return d.whole().Err()
	}
	if err := d.Context.Err(); err != nil {
		return err
	}
	if time.Until(d.until) <= 0 {
		return context.DeadlineExceeded
	}
	if d.over.Load() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context: children find the context they end with by it.
func (d *deadline) Value(key any) any {
	if w := d.made.Load(); w != nil {
		return w.Value(key)
	}
	return d.Context.Value(key)
}
