package block

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCorrupt is what every error about damaged stored bytes wraps.
var ErrCorrupt = errors.New("corrupt")

// ErrVersion is what every error about a format newer than this build wraps.
var ErrVersion = errors.New("format is newer than this build reads")

// CorruptionError says where stored bytes are damaged and how it was noticed.
// It satisfies errors.Is with ErrCorrupt and with its cause.
type CorruptionError struct {
	File   string // path, empty where only bytes were at hand
	Offset int64  // of the damaged unit within File
	Cause  error
}

func (e *CorruptionError) Error() string {
	cause := strings.TrimPrefix(e.Cause.Error(), ErrCorrupt.Error()+": ")
	if e.File == "" {
		return fmt.Sprintf("corrupt bytes at offset %d: %s", e.Offset, cause)
	}
	return fmt.Sprintf("corrupt file %s at offset %d: %s", e.File, e.Offset, cause)
}

// Unwrap returns ErrCorrupt and the cause.
func (e *CorruptionError) Unwrap() []error { return []error{ErrCorrupt, e.Cause} }

// Corruptf makes the cause of damage in bytes whose place the caller adds: an
// error that wraps ErrCorrupt.
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
