package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/status"
)

// errorKind is the errorType of an answer, in Prometheus' words.
type errorKind string

const (
	kindTimeout     errorKind = "timeout"
	kindCanceled    errorKind = "canceled"
	kindExec        errorKind = "execution"
	kindBadData     errorKind = "bad_data"
	kindInternal    errorKind = "internal"
	kindUnavailable errorKind = "unavailable"
)

// memoryRetry is how long a client is asked to wait whose query found no memory
// free.
const memoryRetry = 5 * time.Second

// apiError is an error with its kind.
type apiError struct {
	kind errorKind
	err  error
}

// status is the one place where an error becomes a status code; retryAfter is
// how long the client should wait before it asks again, 0 for no advice.
func (e *apiError) status() (code int, retryAfter time.Duration) {
	switch e.kind {
	case kindBadData:
		if _, ok := errors.AsType[*http.MaxBytesError](e.err); ok {
			return http.StatusRequestEntityTooLarge, 0
		}
		return http.StatusBadRequest, 0
	case kindExec:
		return http.StatusUnprocessableEntity, 0
	case kindCanceled:
		return status.ClientClosed, 0
	case kindTimeout:
		if _, ok := errors.AsType[*promqlx.QueueError](e.err); ok {
			return http.StatusServiceUnavailable, memoryRetry
		}
		return http.StatusServiceUnavailable, 0
	}
	return status.Of(e.err)
}

func badData(err error) result { return result{err: &apiError{kindBadData, err}} }

func internal(err error) result { return result{err: &apiError{kindInternal, err}} }

func invalidParam(err error, name string) result {
	return badData(fmt.Errorf("invalid parameter %q: %w", name, err))
}

// queryError gives an error of evaluation or of the storage its kind.
func queryError(err error) *apiError {
	if _, ok := errors.AsType[promql.ErrQueryCanceled](err); ok {
		return &apiError{kindCanceled, err}
	}
	if _, ok := errors.AsType[promql.ErrQueryTimeout](err); ok {
		return &apiError{kindTimeout, err}
	}
	if _, ok := errors.AsType[promql.ErrStorage](err); ok {
		return &apiError{kindInternal, err}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &apiError{kindCanceled, err}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{kindTimeout, err}
	}
	// Where asking again helps, the query is not to blame.
	if code, _ := status.Of(err); code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		return &apiError{kindUnavailable, err}
	}
	return &apiError{kindExec, err}
}

// prepareError gives an error of preparing a query its kind: the text is at
// fault unless time ran out or the client left.
func prepareError(err error) *apiError {
	if e := queryError(err); e.kind == kindCanceled || e.kind == kindTimeout {
		return e
	}
	return &apiError{kindBadData, fmt.Errorf("invalid parameter %q: %w", "query", err)}
}
