package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func indexDump(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("dump", "Print the values of labels, and how many series have each.")
	name := cmd.Flag("label", "Only this label.").String()
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.DumpIndex(e.out, *name, *ids...) }))
}
