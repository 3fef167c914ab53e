package inspect

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// ErrDamage is wrapped by the error of a call that found damage. All of it was
// printed.
var ErrDamage = errors.New("damage found")

// report prints, and counts what is not sound. Its first write error sticks.
type report struct {
	out    io.Writer
	err    error
	damage int
}

func (r *report) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	var n int
	n, r.err = r.out.Write(p)
	return n, r.err
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// damaged prints one place of damage.
func (r *report) damaged(format string, args ...any) {
	r.damage++
	r.printf("DAMAGE "+format+"\n", args...)
}

// result is what the call returns.
func (r *report) result() error {
	switch {
	case r.err != nil:
		return fmt.Errorf("print: %w", r.err)
	case r.damage == 1:
		return fmt.Errorf("%w: 1 place", ErrDamage)
	case r.damage > 1:
		return fmt.Errorf("%w: %d places", ErrDamage, r.damage)
	}
	return nil
}

// table prints rows whose cells are aligned; the first row names the columns.
func (r *report) table(rows [][]any) {
	w := tabwriter.NewWriter(r, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil && r.err == nil {
		r.err = err
	}
}

// stamp writes a time in milliseconds as people read it.
func stamp(t int64) string { return time.UnixMilli(t).UTC().Format("2006-01-02T15:04:05.000Z") }
