package tsdb_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: a store that is closed has ended its own.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
