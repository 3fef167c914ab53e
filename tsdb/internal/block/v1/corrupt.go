package v1

import (
	"fmt"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// corruptf makes the cause of damage in bytes whose place the caller adds.
func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{block.ErrCorrupt}, args...)...)
}
