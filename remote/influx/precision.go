package influx

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// precision is the unit of the times of a request.
type precision int64

const (
	// precisionGuess takes the unit from the size of each time.
	precisionGuess precision = 0

	precisionNanosecond  = precision(time.Nanosecond)
	precisionMicrosecond = precision(time.Microsecond)
	precisionMillisecond = precision(time.Millisecond)
	precisionSecond      = precision(time.Second)
	precisionMinute      = precision(time.Minute)
	precisionHour        = precision(time.Hour)
)

// parsePrecision reads the argument precision in either case.
func parsePrecision(arg string) (precision, error) {
	switch strings.ToLower(arg) {
	case "":
		return precisionGuess, nil
	case "ns", "n":
		return precisionNanosecond, nil
	case "us", "u", "µ", "µs":
		return precisionMicrosecond, nil
	case "ms":
		return precisionMillisecond, nil
	case "s":
		return precisionSecond, nil
	case "m":
		return precisionMinute, nil
	case "h":
		return precisionHour, nil
	}
	return 0, fmt.Errorf("unknown precision %q: want one of ns, us, ms, s, m, h", arg)
}

// Below these sizes a time of unknown unit counts as seconds, milliseconds and
// microseconds; above them all it counts as nanoseconds.
const (
	guessMilliseconds = 1e11
	guessMicroseconds = 1e14
	guessNanoseconds  = 1e17
)

// millis cuts t to milliseconds, downwards. It reports false when the
// result is no int64. now is the answer for a zero of unknown unit.
func (p precision) millis(t, now int64) (int64, bool) {
	if p == precisionGuess {
		switch {
		case t == 0:
			return now, true
		case t >= guessNanoseconds:
			p = precisionNanosecond
		case t >= guessMicroseconds:
			p = precisionMicrosecond
		case t >= guessMilliseconds:
			p = precisionMillisecond
		default:
			p = precisionSecond
		}
	}
	if p < precisionMillisecond {
		return floorDiv(t, int64(precisionMillisecond/p)), true
	}
	factor := int64(p / precisionMillisecond)
	if t > math.MaxInt64/factor || t < math.MinInt64/factor {
		return 0, false
	}
	return t * factor, true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
