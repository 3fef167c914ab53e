package server

import (
	"os"
	"strconv"
	"testing"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// envInt reads a number from the environment; without it short counts in quick
// runs and long in others.
func envInt(name string, short, long int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	if testing.Short() {
		return short
	}
	return long
}
