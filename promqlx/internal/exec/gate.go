package exec

import (
	"context"
	"time"
)

// Gate bounds the goroutines that evaluate at once, so that queries leave
// processors to those who write. Whoever evaluates for long lets others go first
// now and then: short queries do not wait for long ones to end.
type Gate struct{ slots chan struct{} }

// NewGate returns a gate for n goroutines, at least 1.
func NewGate(n int) *Gate { return &Gate{slots: make(chan struct{}, max(1, n))} }

// turn is how long one evaluates before others are let go first.
const turn = 5 * time.Millisecond

// pass is a goroutine's place behind the gate.
type pass struct {
	gate  *Gate
	since time.Time
}

// enter waits for a place.
func (g *Gate) enter(ctx context.Context) (*pass, error) {
	p := &pass{gate: g}
	return p, p.take(ctx)
}

func (p *pass) take(ctx context.Context) error {
	if p.gate == nil {
		return nil
	}
	select {
	case p.gate.slots <- struct{}{}: // ctx makes its channel only for who waits
		p.since = time.Now()
		return nil
	default:
	}
	select {
	case p.gate.slots <- struct{}{}:
		p.since = time.Now()
		return nil
	case <-ctx.Done():
		return alive(ctx)
	}
}

// try takes a place if there is one at once, for help that is not needed.
func (g *Gate) try() (*pass, bool) {
	p := &pass{gate: g}
	if g == nil {
		return p, true
	}
	select {
	case g.slots <- struct{}{}:
		p.since = time.Now()
		return p, true
	default:
		return nil, false
	}
}

// leave gives the place back.
func (p *pass) leave() {
	if p.gate != nil && !p.since.IsZero() {
		p.since = time.Time{}
		<-p.gate.slots
	}
}

// yield lets others go first if the turn is over. After an error, when there is
// no place, evaluation is to end. Who has none, because others work for it, takes
// none: it would wait for those, and they for it.
func (p *pass) yield(ctx context.Context) error {
	if p.gate == nil || p.since.IsZero() || time.Since(p.since) < turn {
		return nil
	}
	p.leave()
	return p.take(ctx)
}
