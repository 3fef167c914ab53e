// Package trace records what a query did, step by step, for the answer itself to
// tell. Its form is that of VictoriaMetrics' query tracer.
//
// A nil *Span records nothing: call sites need no condition, but for loops over
// series, where Enabled saves making the arguments.
package trace

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Span is one step of a query and the steps it consists of. All of it may be
// called by several workers at once.
type Span struct {
	mu       *sync.Mutex // of the whole tree
	message  string
	start    time.Time
	end      time.Time // zero until it is done
	children []*Span
}

// New begins a trace, or returns nil if it is not wanted.
func New(on bool, format string, args ...any) *Span {
	if !on {
		return nil
	}
	return &Span{mu: new(sync.Mutex), message: fmt.Sprintf(format, args...), start: time.Now()}
}

// Enabled tells whether anything is recorded.
func (s *Span) Enabled() bool { return s != nil }

// Start begins a step of s. It is over when Done or Donef is called.
func (s *Span) Start(format string, args ...any) *Span {
	if s == nil {
		return nil
	}
	child := &Span{mu: s.mu, message: fmt.Sprintf(format, args...)}
	s.mu.Lock()
	defer s.mu.Unlock()
	child.start = time.Now()
	s.children = append(s.children, child)
	return child
}

// Printf records a step that takes no time.
func (s *Span) Printf(format string, args ...any) { s.Start(format, args...).Done() }

// Done ends a step. Only the first end counts.
func (s *Span) Done() { s.finish("") }

// Donef ends a step and adds to its message what came of it.
func (s *Span) Donef(format string, args ...any) {
	if s != nil {
		s.finish(": " + fmt.Sprintf(format, args...))
	}
}

func (s *Span) finish(what string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.IsZero() {
		s.end = time.Now()
		s.message += what
	}
}

// node is a Span as JSON.
type node struct {
	Milliseconds float64 `json:"duration_msec"`
	Message      string  `json:"message"`
	Children     []*node `json:"children,omitempty"`
}

// AppendJSON appends the tree as an object: duration_msec, message, children. A
// step that is not over says so, and how long it has taken so far. A nil Span
// appends null.
func (s *Span) AppendJSON(dst []byte) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	s.mu.Lock()
	tree := s.nodeLocked(time.Now())
	s.mu.Unlock()
	b, err := json.Marshal(tree)
	if err != nil {
		panic(fmt.Sprintf("BUG: marshal trace: %v", err))
	}
	return append(dst, b...)
}

func (s *Span) nodeLocked(now time.Time) *node {
	n := &node{Message: s.message}
	end := s.end
	if end.IsZero() {
		end = now
		n.Message += " (not over)"
	}
	n.Milliseconds = float64(end.Sub(s.start).Microseconds()) / 1000
	for _, c := range s.children {
		n.Children = append(n.Children, c.nodeLocked(now))
	}
	return n
}
