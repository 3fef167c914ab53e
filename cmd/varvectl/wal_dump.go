package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func walDump(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("dump", "Print the frames of the log.")
	items := cmd.Flag("items", "Print every series, sample and delete in them.").Bool()
	segment := cmd.Flag("segment", "Number of the one segment to print; 0 is all.").Default("0").Uint64()
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.DumpLog(e.out, *items, *segment)
	}))
}
