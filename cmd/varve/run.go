package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/tsdb"
)

// run serves until ctx ends or something fails, then lets requests finish,
// flushes and closes the store.
func run(ctx context.Context, f *flags, logger *slog.Logger) error {
	for _, name := range f.feature {
		for _, one := range strings.Split(name, ",") {
			if promqlx.LookupFeature(strings.TrimSpace(one)) == promqlx.FeatureUnknown {
				return fmt.Errorf("unknown feature %q", one)
			}
		}
	}
	logger.Info("Starting varve", "version", version.Info(), "build", version.BuildContext())
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), versioncollector.NewCollector("varve"),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := newMetrics(registry)
	f.store.Events = events(logger, metrics)
	f.query.Registerer, f.query.Logger = registry, logger
	f.query.QueryEnded = logSlow(f.slow, logger)

	engine, err := promqlx.New(f.query)
	if err != nil {
		return fmt.Errorf("set up query engine: %w", err)
	}
	door, err := remote.New(doorOptions(f, engine, registry, logger))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: door, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), ReadHeaderTimeout: 30 * time.Second, ReadTimeout: f.http.readTimeout}
	served := make(chan error, 1)
	go func() { served <- web.ListenAndServe(server, f.web, logger) }()

	db, err := openStore(f, logger, metrics)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	door.Open(db)
	logger.Info("Ready to serve")
	err = serve(ctx, f, served, logger)
	return errors.Join(err, stop(server, f.http.shutdown, logger), closeStore(db))
}

// serve waits until ctx ends or the listener fails; meanwhile it checks the web
// configuration anew on SIGHUP, as on /-/reload.
func serve(ctx context.Context, f *flags, served <-chan error, logger *slog.Logger) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-hangup:
			if err := web.Validate(*f.web.WebConfigFile); err != nil {
				logger.Error("Reload: the web configuration is not sound", "err", err)
			} else {
				logger.Info("Reload: the web configuration is sound")
			}
		case <-ctx.Done():
			logger.Info("Stopping: finishing requests, then flushing")
			return nil
		case err := <-served:
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		}
	}
}

func openStore(f *flags, logger *slog.Logger, metrics *metrics) (*tsdb.DB, error) {
	logger.Info("Opening store", "path", f.path, "retention", f.store.Retention, "wal_sync", f.store.Sync.String(),
		"memory_budget", f.store.MemoryBudget)
	db, err := tsdb.Open(f.path, f.store)
	if err != nil {
		return nil, err
	}
	metrics.watch(db)
	return db, nil
}

// stop lets requests finish for a while.
func stop(server *http.Server, wait time.Duration, logger *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		logger.Warn("Requests did not end in time and were cut off", "waited", wait)
		return server.Close()
	}
	return err
}

func closeStore(db *tsdb.DB) error {
	if err := db.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

func doorOptions(f *flags, engine *promqlx.Engine, registry *prometheus.Registry, logger *slog.Logger) remote.Options {
	o := remote.Options{
		Engine:          engine,
		MaxRequestBytes: f.http.maxRequest,
		Dialect:         api.Dialect(f.dialect),
		LatencyOffset:   f.latency,
		LookbackDelta:   f.query.LookbackDelta,
		EnableAdminAPI:  f.http.admin,
		CORSOrigin:      f.http.cors,
		Flags:           f.all,
		Registry:        registry,
		Retention:       f.store.Retention.String(),
		Build: api.BuildInfo{
			Revision: version.GetRevision(), Branch: version.Branch, BuildUser: version.BuildUser,
			BuildDate: version.BuildDate, GoVersion: version.GoVersion,
		},
		OnError: func(r *http.Request, err error) {
			logger.Debug("Answer broke off", "path", r.URL.Path, "err", err)
		},
	}
	if f.http.lifecycle {
		o.Reload = func() error { return web.Validate(*f.web.WebConfigFile) }
	}
	return o
}
