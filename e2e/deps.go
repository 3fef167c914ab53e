//go:build never

package e2e

// The suite has test files only; this keeps it in go.mod.
import _ "github.com/prometheus/complicance/remotewrite2"
