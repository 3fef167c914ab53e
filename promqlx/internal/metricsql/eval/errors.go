package eval

import (
	"errors"
	"fmt"
)

// readable marks an error that is told to who asked without what is around it.
type readable struct{ error }

func (r readable) Unwrap() error { return r.error }

func readablef(format string, args ...any) error { return readable{fmt.Errorf(format, args...)} }

// asReadable marks an error, if it is one.
func asReadable(err error) error {
	if err == nil {
		return nil
	}
	return readable{err}
}

// Readable returns the part of an error that is told to who asked, the outermost one
// that is marked; ok is false if none is.
func Readable(err error) (part error, ok bool) {
	var r readable
	if errors.As(err, &r) {
		return r.error, true
	}
	return err, false
}

func duplicateError(n interface{ String() string }) error {
	return fmt.Errorf("duplicate output timeseries: %s", n.String())
}
