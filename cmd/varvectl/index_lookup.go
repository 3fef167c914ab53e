package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func indexLookup(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("lookup", "Print the series that a selector finds, with their numbers in each part.")
	ms := selectorArg(cmd)
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.IndexLookup(e.out, *ms, *ids...) }))
}
