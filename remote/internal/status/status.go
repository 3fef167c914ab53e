// Package status maps errors to HTTP statuses, in one place for all protocols.
package status

import (
	"context"
	"errors"
	"math"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// ClientClosed is what is noted for a request whose client went away. Nobody
// reads it.
const ClientClosed = 499

// diskRetry is how long a sender is asked to wait when the disk refuses writes.
const diskRetry = 10 * time.Second

// Error is an error that knows its status.
type Error struct {
	Code       int
	RetryAfter time.Duration // 0 for none
	Err        error
}

// Error returns the text of the error inside.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error inside.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a status and a text.
func New(code int, text string) *Error { return &Error{Code: code, Err: errors.New(text)} }

// Of returns the status that an error means, and how long a sender is to wait
// before it tries again, 0 for no advice.
//
// 4xx says that trying again will not help, but for 429; 5xx and 429 that it
// may.
func Of(err error) (code int, retryAfter time.Duration) {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Code, known.RetryAfter
	}
	if overload, ok := errors.AsType[*tsdb.OverloadError](err); ok {
		if overload.TooMany {
			return http.StatusTooManyRequests, overload.RetryAfter
		}
		return http.StatusServiceUnavailable, overload.RetryAfter
	}
	if limit, ok := errors.AsType[*wire.LimitError](err); ok {
		if limit.Limit == wire.LimitEncoded {
			return http.StatusRequestEntityTooLarge, 0
		}
		return http.StatusBadRequest, 0
	}
	return ofKind(err)
}

// ofKind is Of for errors known by type or value alone.
func ofKind(err error) (code int, retryAfter time.Duration) {
	switch {
	case isA[*tsdb.InputError](err), errors.Is(err, wire.ErrMalformed):
		return http.StatusBadRequest, 0
	case isA[*http.MaxBytesError](err):
		return http.StatusRequestEntityTooLarge, 0
	case isA[*wire.EncodingError](err):
		return http.StatusUnsupportedMediaType, 0
	case errors.Is(err, context.Canceled):
		return ClientClosed, 0
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
		return http.StatusRequestTimeout, 0 // the connection's read deadline
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, 0
	case errors.Is(err, tsdb.ErrClosed), errors.Is(err, tsdb.ErrLogFailed):
		return http.StatusServiceUnavailable, diskRetry
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return http.StatusServiceUnavailable, diskRetry
	}
	return http.StatusInternalServerError, 0
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Write answers a request of a write protocol with an error: its status, a
// Retry-After header where waiting helps, its text as the plain body.
func Write(w http.ResponseWriter, err error) {
	code, retryAfter := Of(err)
	SetRetryAfter(w.Header(), retryAfter)
	http.Error(w, err.Error(), code)
}

// SetRetryAfter sets the Retry-After header, in whole seconds rounded up, unless
// d is 0.
func SetRetryAfter(h http.Header, d time.Duration) {
	if d > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(d.Seconds()))))
	}
}
