package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout = 3 * time.Minute
	stopTimeout  = 3 * time.Minute
	maxAnswer    = 64 << 20
)

// server is a program on a folder of its own.
type server struct {
	kind
	dir  string
	addr string
	http *http.Client
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// running are the programs to kill if the run is broken off.
var running struct {
	sync.Mutex
	cmds map[*exec.Cmd]bool
}

func killAll() {
	running.Lock()
	defer running.Unlock()
	for cmd := range running.cmds {
		_ = cmd.Process.Kill()
	}
}

// newServer prepares a server on a fresh folder below dir.
func newServer(k kind, dir string) (*server, error) {
	dir, err := os.MkdirTemp(dir, k.name+"-")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(dir+".yml", nil, 0o600); err != nil { // an empty configuration, for those who want one
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return &server{kind: k, dir: dir, addr: l.Addr().String(), http: newHTTPClient()}, nil
}

func newHTTPClient() *http.Client {
	return &http.Client{
		Timeout:   10 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true},
	}
}

// start starts the program and waits until it serves.
func (s *server) start() error {
	log, err := os.OpenFile(s.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, done := exec.Command(s.bin, s.args(s.dir, s.addr)...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.done = cmd, done
	running.Lock()
	if running.cmds == nil {
		running.cmds = map[*exec.Cmd]bool{}
	}
	running.cmds[cmd] = true
	running.Unlock()
	go func() {
		_ = cmd.Wait()
		running.Lock()
		delete(running.cmds, cmd)
		running.Unlock()
		close(done)
	}()
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := s.send(http.MethodGet, s.ready, nil); err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("the program ended before it was ready:\n%s", s.logTail())
		default:
		}
	}
	return fmt.Errorf("the program is not ready in time:\n%s", s.logTail())
}

// stop ends the program as an operator would.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		return errors.New("the program does not end")
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d after SIGTERM", code)
	}
	return nil
}

// kill ends the program with SIGKILL.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// remove kills the program and removes what it left.
func (s *server) remove() {
	if s.cmd != nil {
		s.kill()
	}
	for _, path := range []string{s.dir, s.dir + ".log", s.dir + ".yml"} {
		_ = os.RemoveAll(path)
	}
}

// logTail returns the last of what the program printed.
func (s *server) logTail() string {
	text, _ := os.ReadFile(s.dir + ".log")
	return string(text[max(0, len(text)-4<<10):])
}

// send asks for a path and returns the answer's body; any status but 200 and 204
// is an error.
func (s *server) send(method, path string, body io.Reader, headers ...string) ([]byte, error) {
	req, err := http.NewRequest(method, "http://"+s.addr+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return text, &statusError{resp.StatusCode, fmt.Sprintf("%s %.60s: status %d: %.300s", method, path, resp.StatusCode, text)}
	}
	return text, nil
}

type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func (s *server) post(path string) error {
	_, err := s.send(http.MethodPost, path, nil)
	return err
}

// diskBytes returns the sizes of all files in the data folder, and of those of
// an index.
func (s *server) diskBytes() (all, index int64, err error) {
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) { // merged away meanwhile
				return nil
			}
			return err
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		all += info.Size()
		if rel := strings.TrimPrefix(path, s.dir+string(filepath.Separator)); s.isIndex(rel) {
			index += info.Size()
		}
		return nil
	})
	return all, index, err
}
