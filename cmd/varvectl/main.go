// Command varvectl looks into the folder of a store, stopped or running: its
// parts, their blocks and series, its log and its manifest. It never writes there.
// One command, query, asks a running server instead.
//
// It exits with 0 when all is sound, with 1 when it found damage or could not
// look, and with 2 when it was called the wrong way.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/varvedb/varve/tsdb/inspect"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main but for the process around it. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	out := bufio.NewWriterSize(stdout, 64<<10)
	e := &env{out: out, err: stderr}
	_, err := newApp(e, stderr).Parse(args)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	var looked *lookError
	switch {
	case e.done:
		return e.code
	case err == nil:
		return 0
	case errors.As(err, &looked):
		fmt.Fprintf(stderr, "varvectl: %v\n", looked.error)
		return 1
	}
	fmt.Fprintf(stderr, "varvectl: %v\n", err)
	return 2
}

func newApp(e *env, stderr io.Writer) *kingpin.Application {
	app := kingpin.New("varvectl", "Look into the folder of a varve store, stopped or running. Nothing is written there. The exit status is 1 if something is damaged.")
	app.Version(version.Print("varvectl"))
	app.HelpFlag.Short('h')
	app.UsageTemplate(kingpin.DefaultUsageTemplate + longHelp)
	app.UsageWriter(usageWriter{e})
	app.ErrorWriter(stderr)
	app.Terminate(func(code int) {
		if !e.done {
			e.done, e.code = true, code
		}
	})
	app.Flag("storage.path", "Folder of the store.").Default("./data").Envar("VARVE_STORAGE_PATH").StringVar(&e.path)
	part := app.Command("part", "The immutable folders that samples are in.")
	partLs(part, e)
	partVerify(part, e)
	partDump(part, e)
	block := app.Command("block", "What samples of one series are coded as, in a part.")
	blockLs(block, e)
	blockStats(block, e)
	blockInfo(block, e)
	blockDump(block, e)
	index := app.Command("index", "The series of each part.")
	indexStats(index, e)
	indexLookup(index, e)
	indexDump(index, e)
	wal := app.Command("wal", "The log of what is not in parts yet.")
	walLs(wal, e)
	walDump(wal, e)
	walVerify(wal, e)
	walReplay(wal, e)
	manifestShow(app.Command("manifest", "The list of what is live."), e)
	db := app.Command("db", "The store as a whole.")
	dbCheck(db, e)
	dbSpace(db, e)
	dbFind(db, e)
	queryCommand(app.Command("query", "Ask a running server."), e)
	return app
}

// longHelp goes below the usage of a command: what its columns mean.
const longHelp = `{{with .Context.SelectedCommand}}{{with .HelpLong}}{{. | Wrap 0}}{{end}}{{end}}`

// env is what the commands share.
type env struct {
	path     string
	out, err io.Writer

	// done says that kingpin printed help or the version, which is all that was
	// asked for, and code what to exit with.
	done bool
	code int
}

// usageWriter drops what kingpin prints once it was done: it expects that the
// process has ended by then, and prints help again.
type usageWriter struct{ *env }

func (w usageWriter) Write(p []byte) (int, error) {
	if w.done {
		return len(p), nil
	}
	return w.out.Write(p)
}

// lookError is an error of looking, not of the command line.
type lookError struct{ error }

// Unwrap returns the error itself.
func (e *lookError) Unwrap() error { return e.error }

// action makes a command call look with the store.
func (e *env) action(look func(s *inspect.Store) error) kingpin.Action {
	return func(*kingpin.ParseContext) error {
		if e.done {
			return nil
		}
		s, err := inspect.Open(e.path)
		if err == nil {
			err = look(s)
		}
		if err != nil {
			return &lookError{err}
		}
		return nil
	}
}
