package corpus

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: queries that ended and stores that are closed have ended theirs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
