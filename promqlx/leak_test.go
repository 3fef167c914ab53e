package promqlx

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: a query that ended has ended its own.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
