package main

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/tsdb"
)

// metrics are the store's own figures.
type metrics struct {
	db atomic.Pointer[tsdb.DB]

	flushes, merges, retired, corruptions prometheus.Counter
	failures, refusals                    *prometheus.CounterVec
	flushSeconds, mergeSeconds            prometheus.Counter
	replaySeconds                         prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	m := &metrics{
		flushes:      counter("varve_flushes_total", "Times that samples in memory were written out."),
		flushSeconds: counter("varve_flush_seconds_total", "Time spent on writing samples out."),
		merges:       counter("varve_merges_total", "Merges of parts."),
		mergeSeconds: counter("varve_merge_seconds_total", "Time spent on merges."),
		retired:      counter("varve_parts_retired_total", "Parts dropped by the retention."),
		corruptions:  counter("varve_corruptions_total", "Damage found and set aside."),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_background_failures_total", Help: "Background jobs that failed and were tried again.",
		}, []string{"job"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_writes_refused_total", Help: "Writes and new series refused for now, by limit.",
		}, []string{"limit"}),
		replaySeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_replay_seconds", Help: "Time that reading the log took at the start.",
		}),
	}
	reg.MustRegister(m.failures, m.refusals, m.replaySeconds, storeCollector{m})
	return m
}

// watch begins to export the figures of db.
func (m *metrics) watch(db *tsdb.DB) { m.db.Store(db) }

// storeCollector exports tsdb.Stats.
type storeCollector struct{ m *metrics }

var storeDescs = [...]struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(tsdb.Stats) float64
}{
	{newDesc("varve_head_series", "Series registered in memory."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.HeadSeries) }},
	{newDesc("varve_head_samples", "Samples in memory."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.HeadSamples) }},
	{newDesc("varve_head_bytes", "Memory of the samples in memory, estimated."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.HeadBytes) }},
	{newDesc("varve_parts", "Live parts."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.Parts) }},
	{newDesc("varve_part_samples", "Samples in parts."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.PartSamples) }},
	{newDesc("varve_part_bytes", "Size of the parts on disk."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.PartBytes) }},
	{newDesc("varve_log_bytes", "Size of the log on disk."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.LogBytes) }},
	{newDesc("varve_tombstones", "Deletes not yet carried out on disk."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.Tombstones) }},
	{newDesc("varve_samples_appended_total", "Samples acknowledged."), prometheus.CounterValue, func(s tsdb.Stats) float64 { return float64(s.SamplesTotal) }},
	{newDesc("varve_scrub_parts_total", "Parts compared with their checksums."), prometheus.CounterValue, func(s tsdb.Stats) float64 { return float64(s.Scrub.Parts) }},
	{newDesc("varve_scrub_bytes_total", "Bytes read to compare parts with their checksums."), prometheus.CounterValue, func(s tsdb.Stats) float64 { return float64(s.Scrub.Bytes) }},
	{newDesc("varve_damaged_places_total", "Places found damaged, by checking or by reading."), prometheus.CounterValue, func(s tsdb.Stats) float64 { return float64(s.Scrub.Damages) }},
	{newDesc("varve_samples_replayed", "Samples read from the log at the start."), prometheus.GaugeValue, func(s tsdb.Stats) float64 { return float64(s.Replayed) }},
}

func newDesc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// Describe names the figures.
func (c storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range storeDescs {
		ch <- d.desc
	}
}

// Collect reads them; there are none before the store is open.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	db := c.m.db.Load()
	if db == nil {
		return
	}
	stats := db.Stats()
	for _, d := range storeDescs {
		ch <- prometheus.MustNewConstMetric(d.desc, d.kind, d.value(stats))
	}
}

// refusalLogInterval keeps a flood of refused writes out of the log.
const refusalLogInterval = 10 * time.Second

// events makes logs and metrics of what the store does.
func events(logger *slog.Logger, m *metrics) *tsdb.Events {
	var warned atomic.Int64 // when refused writes were last told of
	return &tsdb.Events{
		Flushed: func(i tsdb.FlushInfo) {
			m.flushes.Inc()
			m.flushSeconds.Add(i.Took.Seconds())
			giveBack()
			logger.Info("Wrote samples out", "parts", i.Parts, "samples", i.Samples, "bytes", i.Bytes, "took", i.Took)
		},
		Merged: func(i tsdb.MergeInfo) {
			m.merges.Inc()
			m.mergeSeconds.Add(i.Took.Seconds())
			giveBack()
			logger.Info("Merged parts", "inputs", i.Inputs, "samples", i.Samples, "bytes", i.Bytes, "took", i.Took)
		},
		Retired: func(i tsdb.RetireInfo) {
			m.retired.Add(float64(i.Parts))
			logger.Info("Dropped parts", "parts", i.Parts, "bytes", i.Bytes, "reason", i.Reason)
		},
		Replayed: func(i tsdb.ReplayInfo) {
			m.replaySeconds.Set(i.Took.Seconds())
			logger.Info("Read the log", "frames", i.Frames, "samples", i.Samples, "torn_bytes", i.Torn, "took", i.Took)
		},
		Refused: func(err *tsdb.OverloadError) {
			m.refusals.WithLabelValues(err.Name).Inc()
			if now := time.Now().UnixNano(); now-warned.Load() > int64(refusalLogInterval) {
				warned.Store(now)
				logger.Warn("Refusing writes", "limit", err.Limit, "reason", err.Reason)
			}
		},
		Corrupted: func(err error) {
			m.corruptions.Inc()
			logger.Error("Damage found", "err", err)
		},
		BackgroundErr: func(job string, err error) {
			m.failures.WithLabelValues(job).Inc()
			logger.Error("Background job failed, it will be tried again", "job", job, "err", err)
		},
	}
}
