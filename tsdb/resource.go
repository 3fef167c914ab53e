package tsdb

import "sync/atomic"

// refCount counts the holders of something that is let go with the last one.
// It starts at one holder.
type refCount struct {
	n     atomic.Int64
	after func()
}

func newRefCount(after func()) *refCount {
	r := &refCount{after: after}
	r.n.Store(1)
	return r
}

func (r *refCount) acquire() { r.n.Add(1) }

func (r *refCount) release() {
	switch n := r.n.Add(-1); {
	case n == 0:
		r.after()
	case n < 0:
		panic("tsdb: released more often than acquired")
	}
}
