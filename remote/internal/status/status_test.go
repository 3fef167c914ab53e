package status

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

func TestWrite(t *testing.T) {
	f := func(err error, code int, retryAfter, body string) {
		t.Helper()
		for _, err := range []error{err, fmt.Errorf("write: %w", err)} {
			w := httptest.NewRecorder()
			Write(w, err)
			require.Equal(t, code, w.Code)
			require.Equal(t, retryAfter, w.Header().Get("Retry-After"))
			require.Contains(t, w.Body.String(), body)
			require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		}
	}
	f(&tsdb.InputError{Culprit: "{a=\"b\"}", Reason: "too old"}, 400, "", `{a="b"}: too old`)
	f(&tsdb.OverloadError{Limit: "10 active series", Reason: "too many", RetryAfter: 1500 * time.Millisecond, TooMany: true}, 429, "2", "10 active series")
	f(&tsdb.OverloadError{Limit: "1 byte of memory", Reason: "full", RetryAfter: time.Second}, 503, "1", "1 byte of memory")
	f(&wire.LimitError{Limit: wire.LimitEncoded, Max: 7}, 413, "", "encoded body size is over the limit of 7")
	f(&wire.LimitError{Limit: wire.LimitDecoded, Max: 7, Claimed: 9}, 400, "", "decoded body size 9 is over the limit of 7")
	f(&wire.EncodingError{Encoding: "br", Want: "none"}, 415, "", `"br"`)
	f(&http.MaxBytesError{Limit: 5}, 413, "", "too large")
	f(wire.ErrMalformed, 400, "", "malformed")
	f(context.Canceled, ClientClosed, "", "canceled")
	f(context.DeadlineExceeded, 503, "", "deadline")
	f(os.ErrDeadlineExceeded, 408, "", "timeout")
	f(tsdb.ErrClosed, 503, "10", "closed")
	f(&fs.PathError{Op: "write", Path: "wal", Err: syscall.ENOSPC}, 503, "10", "no space")
	f(&fs.PathError{Op: "write", Path: "wal", Err: syscall.EIO}, 503, "10", "write wal")
	f(errors.New("what"), 500, "", "what")
	f(New(405, "only POST"), 405, "", "only POST")
	f(&Error{Code: 429, RetryAfter: time.Minute, Err: errors.New("later")}, 429, "60", "later")
}
