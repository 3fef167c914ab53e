package write

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/tsdb"
)

const (
	maxReportLines = 10
	maxReportLine  = 600 // bytes
)

// report gathers what a request had refused.
type report struct {
	refused  int      // samples, histograms, exemplars, metadata
	causes   int      // refusals, each of one or more of them
	lines    []string // the first causes
	overload *tsdb.OverloadError
}

func (r *report) reset() { *r = report{lines: r.lines[:0]} }

// add notes that n items were refused because of err, when it is an error that
// concerns them alone; any other is returned.
func (r *report) add(err error, n int) error {
	overload, isOverload := errors.AsType[*tsdb.OverloadError](err)
	_, isInput := errors.AsType[*tsdb.InputError](err)
	switch {
	case isOverload && !overload.TooMany:
		return err // the store takes nothing for now
	case isOverload:
		r.overload = overload
	case !isInput:
		return err
	}
	r.refused += n
	if r.causes++; r.causes <= maxReportLines {
		line := clipText(err.Error(), maxReportLine)
		if n > 1 {
			line += fmt.Sprintf(" (%d samples)", n)
		}
		r.lines = append(r.lines, line)
	}
	return nil
}

// err returns what the sender is told after stored items were committed: nil
// when nothing was refused, else a 400, or a 429 when a limit of the store
// stands in the way of some. The first cause is on the first line, the only one
// that some senders log.
func (r *report) err(stored int) error {
	if r.causes == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "refused %d, stored %d: %s", r.refused, stored, strings.Join(r.lines, "\n"))
	if more := r.causes - len(r.lines); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	out := status.New(http.StatusBadRequest, b.String())
	if r.overload != nil {
		out.Code, out.RetryAfter = http.StatusTooManyRequests, r.overload.RetryAfter
	}
	return out
}

// clipText cuts s to n bytes or a little less, never inside a character.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
