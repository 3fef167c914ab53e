// Command varve is a long-term store for Prometheus: it takes remote write and
// Influx line protocol and answers PromQL and remote read.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/prometheus/common/promslog"
)

func main() {
	f, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "varve: %v\n", err)
		os.Exit(2)
	}
	logger := promslog.New(f.log)
	ballast := limitMemory(f.store.MemoryBudget)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = run(ctx, f, logger)
	runtime.KeepAlive(ballast)
	if err != nil {
		logger.Error("Stopped", "err", err)
		os.Exit(1)
	}
	logger.Info("Stopped")
}
