package api

import (
	"io"
	"sync"
)

const (
	// spillBytes is how much of an answer is held back before it is sent.
	spillBytes = 64 << 10
	// maxPooledBytes keeps buffers of exceptional answers out of the pool.
	maxPooledBytes = 1 << 20
)

// sinkPool recycles the buffers of answers.
type sinkPool struct{ pool sync.Pool }

// sink collects the bytes of an answer and sends them on in pieces, so that an
// answer's text is never in memory as a whole. Writers append to buf and call
// spill now and then.
type sink struct {
	w    io.Writer
	buf  []byte
	sent int // bytes that left buf
	err  error
}

// get returns an empty sink that sends to w.
func (p *sinkPool) get(w io.Writer) *sink {
	s, _ := p.pool.Get().(*sink)
	if s == nil {
		s = &sink{buf: make([]byte, 0, 8<<10)}
	}
	s.w, s.buf, s.sent, s.err = w, s.buf[:0], 0, nil
	return s
}

// put takes a sink back; it must not be used after.
func (p *sinkPool) put(s *sink) {
	s.w = nil
	if cap(s.buf) <= maxPooledBytes {
		p.pool.Put(s)
	}
}

// spill sends what has gathered when it is enough. After an error, bytes are
// dropped: the client is gone.
func (s *sink) spill() {
	if len(s.buf) >= spillBytes {
		_ = s.flush()
	}
}

// flush sends what has gathered and returns the first error of all sends.
func (s *sink) flush() error {
	if s.err == nil {
		_, s.err = s.w.Write(s.buf)
	}
	s.sent += len(s.buf)
	s.buf = s.buf[:0]
	return s.err
}
