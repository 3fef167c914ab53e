package budget

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

// Inside returns how many have a place now.
func (g *Gate) Inside() int { return len(g.slots) }

// turn is how long one evaluates before others are let go first.
const turn = 5 * time.Millisecond

// Pass is a goroutine's place behind a gate, or that of who has none yet; it is for one
// goroutine. Without a gate, as the zero value is, nobody waits.
type Pass struct {
	gate  *Gate
	since time.Time
}

// Pass returns a Pass that has no place yet.
func (g *Gate) Pass() Pass { return Pass{gate: g} }

// Enter waits for a place.
func (g *Gate) Enter(ctx context.Context) (*Pass, error) {
	p := &Pass{gate: g}
	return p, p.Take(ctx)
}

// Take waits for a place, until ctx ends.
func (p *Pass) Take(ctx context.Context) error {
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
		return Alive(ctx)
	}
}

// Try takes a place if there is one at once, for help that is not needed.
func (g *Gate) Try() (*Pass, bool) {
	p := &Pass{gate: g}
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

// Leave gives the place back, if there is one.
func (p *Pass) Leave() {
	if p.gate != nil && !p.since.IsZero() {
		p.since = time.Time{}
		<-p.gate.slots
	}
}

// Yield lets others go first if the turn is over. After an error, when there is
// no place, evaluation is to end. Who has none, because others work for it, takes
// none: it would wait for those, and they for it.
func (p *Pass) Yield(ctx context.Context) error {
	if p.gate == nil || p.since.IsZero() || time.Since(p.since) < turn {
		return nil
	}
	p.Leave()
	return p.Take(ctx)
}
