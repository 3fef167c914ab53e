// Package fuzztally counts the inputs of a fuzz target and those it accepted: a
// decoder that refuses everything passes every fuzz run and was not tested.
//
// Under go test -fuzz the inputs run in worker processes, whose output goes
// nowhere and which may be killed at any time. So each worker keeps its counts in
// a file of a directory that the process which started it made, named by the
// environment variable VARVE_FUZZ_TALLY, and writes it anew every half a second
// and at its end. The process that started the workers adds them up and prints
//
//	FuzzX: N inputs run, M accepted
//
// (go test prints it with -v). It fails the target if inputs ran and none was
// accepted. Without -fuzz the same line counts the seeds.
//
// The package imports nothing but the standard library, for the tests of every
// other package to use it.
package fuzztally

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	variable   = "VARVE_FUZZ_TALLY"
	writeEvery = 500 * time.Millisecond
	countsSize = 16
)

// Counts are numbers of inputs.
type Counts struct {
	Inputs, Accepted uint64
}

// Tally counts the inputs of one fuzz target. Its methods may be called by many
// at once.
type Tally struct {
	dir string // where workers leave their counts; empty in a worker
	mu  struct {
		sync.Mutex
		own     Counts
		file    *os.File // nil but in a worker
		written time.Time
		err     error // of the first write that failed
	}
}

// New returns the tally of f, which reports when f ends. Call it once in a
// target, before f.Fuzz.
func New(f *testing.F) *Tally {
	f.Helper()
	t := new(Tally)
	if dir := os.Getenv(variable); dir != "" {
		file, err := os.CreateTemp(dir, "worker-*")
		if err != nil {
			f.Fatalf("create the counts of a fuzz worker: %v", err)
		}
		t.mu.file = file
		f.Cleanup(func() {
			if err := t.close(); err != nil {
				f.Errorf("write the counts of a fuzz worker: %v", err)
			}
		})
		return t
	}
	t.dir = f.TempDir()
	f.Setenv(variable, t.dir) // workers inherit it
	f.Cleanup(func() { t.report(f) })
	return t
}

// Input counts an input that is about to run.
func (t *Tally) Input() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.own.Inputs++
	t.shareLocked()
}

// Accepted counts an input that the code under test took.
func (t *Tally) Accepted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.own.Accepted++
}

// Total returns the counts of this process and of the workers it started. They
// are final once the workers ended; of a worker that was killed the last half a
// second may be missing.
func (t *Tally) Total() (Counts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.mu.own
	workers, err := t.workers()
	sum.Inputs += workers.Inputs
	sum.Accepted += workers.Accepted
	return sum, err
}

// workers adds up what the workers of this process left.
func (t *Tally) workers() (sum Counts, err error) {
	if t.dir == "" {
		return sum, nil
	}
	files, err := os.ReadDir(t.dir)
	if err != nil {
		return sum, fmt.Errorf("list the counts of fuzz workers: %w", err)
	}
	for _, e := range files {
		b, err := os.ReadFile(filepath.Join(t.dir, e.Name()))
		if err != nil {
			return sum, fmt.Errorf("read the counts of a fuzz worker: %w", err)
		}
		if len(b) < countsSize {
			continue // it ended before it wrote any
		}
		sum.Inputs += binary.LittleEndian.Uint64(b)
		sum.Accepted += binary.LittleEndian.Uint64(b[8:])
	}
	return sum, nil
}

func (t *Tally) report(f *testing.F) {
	c, err := t.Total()
	if err != nil {
		f.Errorf("%s: %v", f.Name(), err)
		return
	}
	f.Logf("%s: %d inputs run, %d accepted", f.Name(), c.Inputs, c.Accepted)
	if c.Inputs > 0 && c.Accepted == 0 && !oneInputOnly() {
		f.Errorf("%s accepted no input", f.Name())
	}
}

// oneInputOnly tells whether go test was asked for some of the seeds, as in
// -run FuzzX/name: those may all be bad.
func oneInputOnly() bool {
	run := flag.Lookup("test.run")
	return run != nil && strings.Contains(run.Value.String(), "/")
}

// shareLocked writes the counts of a worker if it did not do so lately. It is a
// single write in place, for it runs amid the inputs whose coverage is measured.
func (t *Tally) shareLocked() {
	if t.mu.file == nil {
		return
	}
	if now := time.Now(); now.Sub(t.mu.written) >= writeEvery {
		t.mu.written = now
		t.writeLocked()
	}
}

func (t *Tally) writeLocked() {
	var b [countsSize]byte
	binary.LittleEndian.PutUint64(b[:], t.mu.own.Inputs)
	binary.LittleEndian.PutUint64(b[8:], t.mu.own.Accepted)
	if _, err := t.mu.file.WriteAt(b[:], 0); err != nil && t.mu.err == nil {
		t.mu.err = err
	}
}

// close writes the last counts of a worker.
func (t *Tally) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeLocked()
	if err := t.mu.file.Close(); err != nil && t.mu.err == nil {
		t.mu.err = err
	}
	return t.mu.err
}
