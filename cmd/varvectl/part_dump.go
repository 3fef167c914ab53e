package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func partDump(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("dump", "Print the series and blocks of parts.")
	samples := cmd.Flag("samples", "Print every sample and exemplar too.").Bool()
	ids := cmd.Arg("part", "Number of a part; all if there is none.").Uint64List()
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.DumpParts(e.out, *samples, *ids...)
	}))
}
