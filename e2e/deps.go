//go:build never

// Package e2e holds the packages that the tests below it use from outside in the
// module file. It is never built.
package e2e

import (
	_ "github.com/cortexproject/promqlsmith"
	_ "github.com/influxdata/influxdb-client-go/v2"
	_ "github.com/influxdata/line-protocol/v2/lineprotocol"
	_ "github.com/prometheus/complicance/remotewrite2"
	_ "github.com/prometheus/prometheus/promql/promqltest"
	_ "github.com/prometheus/prometheus/storage/remote"
	_ "github.com/prometheus/prometheus/tsdb"
	_ "github.com/prometheus/prometheus/web/api/v1"
	_ "github.com/stretchr/testify/require"
	_ "github.com/varvedb/varve/tsdb"
)
