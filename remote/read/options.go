package read

import (
	"errors"
	"net/http"
)

// The defaults of Options.
const (
	DefaultMaxSamples       = 50_000_000
	DefaultMaxResponseBytes = 1 << 30
	DefaultMaxFrameBytes    = 1 << 20
	DefaultMaxRequestBytes  = 32 << 20
	DefaultMaxConcurrent    = 10
)

// Options tune a Handler. The zero value is what Prometheus does.
type Options struct {
	// MaxSamples bounds the samples of a query answered as SAMPLES; 0 means
	// DefaultMaxSamples, negative no limit.
	MaxSamples int
	// MaxResponseBytes bounds a SAMPLES answer before compression; 0 means
	// DefaultMaxResponseBytes. A snappy block ends at 4 GiB.
	MaxResponseBytes int
	// MaxFrameBytes bounds a frame of a streamed answer; 0 means
	// DefaultMaxFrameBytes. A chunk that is larger gets a frame of its own.
	MaxFrameBytes int
	// MaxRequestBytes bounds the decoded request; 0 means DefaultMaxRequestBytes.
	MaxRequestBytes int
	// MaxConcurrent bounds the requests served at once, others wait; 0 means
	// DefaultMaxConcurrent, negative no limit.
	MaxConcurrent int
	// DropStartTimes keeps streamed answers readable for Prometheus before 3.14.
	DropStartTimes bool
	// WriteError answers a request that failed before anything was sent. err is
	// a *RequestError for the client's mistakes, else what the store returned.
	// nil means plain text: 400 for a *RequestError, 500 for others.
	WriteError func(w http.ResponseWriter, err error)
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxSamples, DefaultMaxSamples)
	setDefault(&o.MaxResponseBytes, DefaultMaxResponseBytes)
	setDefault(&o.MaxFrameBytes, DefaultMaxFrameBytes)
	setDefault(&o.MaxRequestBytes, DefaultMaxRequestBytes)
	setDefault(&o.MaxConcurrent, DefaultMaxConcurrent)
	o.MaxResponseBytes = min(o.MaxResponseBytes, 0xffffffff)
	if o.WriteError == nil {
		o.WriteError = writeError
	}
	return o
}

func setDefault(n *int, value int) {
	if *n == 0 {
		*n = value
	}
}

// RequestError is the client's mistake: a request that cannot be read or that
// asks for too much. It is worth a 400.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if _, ok := errors.AsType[*RequestError](err); ok {
		status = http.StatusBadRequest
	}
	http.Error(w, err.Error(), status)
}
