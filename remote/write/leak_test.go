package write

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: a request that was answered has ended its own.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
