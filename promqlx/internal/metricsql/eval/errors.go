package eval

import (
	"errors"
	"fmt"
	"strconv"

	mql "github.com/VictoriaMetrics/metricsql"
)

// about says at which expression a deed failed. Its text is made when somebody asks: at
// each of ten thousand nested expressions it would be one of all those within.
type about struct {
	deed string
	expr mql.Expr // nil if the deed says it
	err  error
}

func (a *about) Unwrap() error { return a.err }

// maxErrorText is how long a text gets before expressions are left out of it.
const maxErrorText = 64 << 10

// Error says the deeds from the outermost one inwards, and the cause.
func (a *about) Error() string {
	var b []byte
	left := false
	for err := error(a); ; {
		switch e := err.(type) {
		case *about:
			if left = left || len(b) > maxErrorText; !left {
				b = e.append(b)
			}
			err = e.err
		case readable:
			err = e.error
		default:
			if left {
				b = append(b, "...: "...)
			}
			return string(append(b, err.Error()...))
		}
	}
}

func (a *about) append(b []byte) []byte {
	b = append(b, a.deed...)
	if a.expr != nil {
		b = strconv.AppendQuote(append(b, ' '), string(a.expr.AppendString(nil)))
	}
	return append(b, ": "...)
}

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
