package fuzztally

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// refuseAll makes FuzzUpper accept nothing, as no target should.
const refuseAll = "FUZZTALLY_REFUSE_ALL"

// FuzzUpper takes what begins with a capital letter.
func FuzzUpper(f *testing.F) {
	f.Add("Yes")
	f.Add("no")
	f.Add("")
	tally := New(f)
	f.Cleanup(func() {
		if got, err := tally.Total(); err != nil {
			f.Error(err)
		} else if got.Accepted > got.Inputs {
			f.Errorf("got %+v: more accepted than run", got)
		}
	})
	refuse := os.Getenv(refuseAll) != ""
	f.Fuzz(func(t *testing.T, s string) {
		tally.Input()
		if !refuse && s != "" && s[0] >= 'A' && s[0] <= 'Z' {
			tally.Accepted()
		}
	})
}

// rerun runs the test binary again, as go test would with args.
func rerun(t *testing.T, env string, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.v"}, args...)...)
	cmd.Env = append(os.Environ(), env)
	b, err := cmd.CombinedOutput()
	return string(b), err
}

var line = regexp.MustCompile(`Fuzz\w+: (\d+) inputs run, (\d+) accepted`)

func counts(t *testing.T, out string) (inputs, accepted int) {
	t.Helper()
	m := line.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("got no counts in:\n%s", out)
	}
	inputs, _ = strconv.Atoi(m[1])
	accepted, _ = strconv.Atoi(m[2])
	return inputs, accepted
}

func TestSeedsAreCounted(t *testing.T) {
	out, err := rerun(t, "A=", "-test.run=^FuzzUpper$")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if inputs, accepted := counts(t, out); inputs != 3 || accepted != 1 {
		t.Errorf("got %d inputs, %d accepted, want 3 and 1:\n%s", inputs, accepted, out)
	}
}

func TestWorkersAreCounted(t *testing.T) {
	const n = 500
	out, err := rerun(t, "A=", "-test.run=^$", "-test.fuzz=^FuzzUpper$", "-test.fuzztime="+strconv.Itoa(n)+"x",
		"-test.parallel=2", "-test.fuzzcachedir="+filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if inputs, accepted := counts(t, out); inputs < n || accepted == 0 || accepted >= inputs {
		t.Errorf("got %d inputs, %d accepted, want at least %d and some:\n%s", inputs, accepted, n, out)
	}
}

func TestNothingAcceptedFails(t *testing.T) {
	const env = refuseAll + "=1"
	out, err := rerun(t, env, "-test.run=^FuzzUpper$")
	if err == nil || !strings.Contains(out, "FuzzUpper accepted no input") {
		t.Errorf("want a failure:\n%s", out)
	}
	if out, err = rerun(t, env, "-test.run=^FuzzUpper$/seed#0"); err != nil {
		t.Errorf("a single bad seed may be asked for: %v\n%s", err, out)
	}
}
