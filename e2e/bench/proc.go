package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of times in /proc, fixed by Linux for user space.
const ticksPerSecond = 100

// usage is processor time.
type usage struct{ user, system time.Duration }

func (u usage) all() time.Duration { return u.user + u.system }

func (u usage) minus(v usage) usage { return usage{u.user - v.user, u.system - v.system} }

// cpu returns the processor time that the server has used since it started.
func (s *server) cpu() (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return usage{}, err
	}
	return parseStat(string(stat))
}

func parseStat(stat string) (usage, error) {
	// The name of the program may hold anything, brackets too.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const userTime, systemTime = 11, 12 // counted from the state
	if len(fields) <= systemTime {
		return usage{}, fmt.Errorf("parse /proc stat: got %d fields", len(fields))
	}
	user, err := strconv.ParseInt(fields[userTime], 10, 64)
	if err != nil {
		return usage{}, fmt.Errorf("parse /proc stat: %w", err)
	}
	system, err := strconv.ParseInt(fields[systemTime], 10, 64)
	if err != nil {
		return usage{}, fmt.Errorf("parse /proc stat: %w", err)
	}
	const tick = time.Second / ticksPerSecond
	return usage{time.Duration(user) * tick, time.Duration(system) * tick}, nil
}

// memory returns the server's resident bytes now and at their peak.
func (s *server) memory() (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	return parseStatus(string(status))
}

func parseStatus(status string) (now, peak int64, err error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("parse /proc status: %w", err)
		}
		if name == "VmRSS" {
			now = kib << 10
		} else {
			peak = kib << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, errors.New("parse /proc status: no VmRSS or VmHWM")
	}
	return now, peak, nil
}

// preciseCPU is cpu().all() in nanoseconds, for what is over within a tick. It
// adds up the threads there are: a thread that ends takes its time along, but
// those of Go programs do not end.
func (s *server) preciseCPU() (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil || len(threads) == 0 { // a kernel without scheduler statistics
		u, err := s.cpu()
		return u.all(), err
	}
	var total time.Duration
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		running, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(running, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse %s: %w", name, err)
		}
		total += time.Duration(ns)
	}
	return total, nil
}

// forgetPeak lets the peak of memory begin anew, where the kernel can.
func (s *server) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0)
}
