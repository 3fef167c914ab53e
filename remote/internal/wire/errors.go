package wire

import (
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error that says that bytes are not what
// they should be: a damaged compressed body, a broken protobuf message.
var ErrMalformed = errors.New("malformed input")

// Limits a LimitError can name.
const (
	// LimitEncoded is the size of a body as it was sent.
	LimitEncoded = "encoded body size"
	// LimitDecoded is the size of a body after decompression.
	LimitDecoded = "decoded body size"
	// LimitSymbols is the number of symbols of a remote write 2.0 request.
	LimitSymbols = "symbols per request"
	// LimitBuckets is the number of spans, buckets and bounds of one histogram.
	LimitBuckets = "spans, buckets and bounds per histogram"
)

// LimitError says that an input is larger than this server takes.
type LimitError struct {
	Limit   string // which limit, one of the Limit constants
	Max     int    // its value
	Claimed int64  // what the input has or says it has; 0 when only known to be more than Max
}

// Error names the limit, its value and the size that was claimed.
func (e *LimitError) Error() string {
	if e.Claimed > 0 {
		return fmt.Sprintf("%s %d is over the limit of %d", e.Limit, e.Claimed, e.Max)
	}
	return fmt.Sprintf("%s is over the limit of %d", e.Limit, e.Max)
}

// EncodingError says that a body came in an encoding that is not taken here.
type EncodingError struct {
	Encoding string // as sent
	Want     string // what is taken, for the message
}

// Error names the encoding and the ones that are taken.
func (e *EncodingError) Error() string {
	return fmt.Sprintf("content encoding %q is not supported, want %s", clip(e.Encoding, 64), e.Want)
}

// malformed returns an error that wraps ErrMalformed and says what and why.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// clip cuts s to n bytes, so that foreign text cannot fill a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
