package remote

import (
	"errors"
	"net/http"

	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/remote/read"
)

// writeError is status.Write for rooms that mark the client's mistakes by types
// of their own.
func writeError(w http.ResponseWriter, err error) {
	if coded, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		err = &status.Error{Code: coded.StatusCode(), Err: err}
	} else if _, ok := errors.AsType[*read.RequestError](err); ok {
		err = &status.Error{Code: http.StatusBadRequest, Err: err}
	}
	status.Write(w, err)
}
