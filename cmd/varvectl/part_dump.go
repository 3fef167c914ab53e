package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func partDump(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("dump", "Print the series and blocks of parts.")
	samples := cmd.Flag("samples", "Print every sample and exemplar too.").Bool()
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.DumpParts(e.out, *samples, *ids...)
	}))
}
