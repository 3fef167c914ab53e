package api

import (
	"io"
	"slices"
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

	stamps stamps
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

// room returns buf with place for n more bytes. It sends what has gathered, but
// for the last byte, which the caller may want to change, when it is enough.
func (s *sink) room(n int) []byte {
	if len(s.buf) >= spillBytes {
		last := s.buf[len(s.buf)-1]
		s.buf = s.buf[:len(s.buf)-1]
		_ = s.flush()
		s.buf = append(s.buf, last)
	}
	if cap(s.buf)-len(s.buf) < n {
		s.buf = slices.Grow(s.buf, n)
	}
	return s.buf
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
