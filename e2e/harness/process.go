package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	readyTimeout = 60 * time.Second
	stopTimeout  = 60 * time.Second
	// ticksPerSecond is the unit of times in /proc, fixed by Linux for user space.
	ticksPerSecond = 100
)

// Process is a running program.
type Process struct {
	cmd  *exec.Cmd
	logs *logBuffer
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read after done
}

// startProcess runs a program; it is killed at the end of the test at the
// latest. Its output is shown when the test fails.
func startProcess(t testing.TB, bin string, args ...string) *Process {
	p := &Process{cmd: exec.Command(bin, args...), logs: &logBuffer{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("last output of %s:\n%s", filepath.Base(bin), p.logs.tail(8<<10))
		}
	})
	return p
}

// Kill ends the program with SIGKILL and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop asks the program to end with SIGTERM and requires that it exits with 0.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	require.NoError(t, p.Signal(syscall.SIGTERM))
	p.WaitExit(t)
	require.NoError(t, p.err, "exit after SIGTERM")
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// WaitExit waits until the program ends by itself and returns its exit code.
func (p *Process) WaitExit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		require.FailNow(t, "the program does not end", p.logs.tail(4<<10))
	}
	return p.cmd.ProcessState.ExitCode()
}

// Alive tells whether the program still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Logs returns what the program has printed so far.
func (p *Process) Logs() string { return p.logs.String() }

// PID returns the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CPU returns the processor time that the program has used.
func (p *Process) CPU(t testing.TB) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(stat), ") ")
	require.True(t, ok)
	fields := strings.Fields(rest)
	const userTime, systemTime = 11, 12 // counted from the state field
	user, err := strconv.ParseInt(fields[userTime], 10, 64)
	require.NoError(t, err)
	system, err := strconv.ParseInt(fields[systemTime], 10, 64)
	require.NoError(t, err)
	return time.Duration(user+system) * (time.Second / ticksPerSecond)
}

// RSS returns the memory in use and its peak, in bytes.
func (p *Process) RSS(t testing.TB) (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			now = kib << 10
		case name == "VmHWM":
			peak = kib << 10
		}
	}
	require.NotZero(t, peak)
	return now, peak
}

// FreeAddress returns a loopback address that nothing listens on.
func FreeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// logBuffer keeps what a program prints.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

const maxLog = 4 << 20

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	if len(b.text) > maxLog {
		b.text = append(b.text[:0], b.text[len(b.text)-maxLog/2:]...)
	}
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func (b *logBuffer) tail(n int) string {
	s := b.String()
	return s[max(0, len(s)-n):]
}
