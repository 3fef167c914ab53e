package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func indexStats(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("stats", "Count the series and values of each label.")
	top := cmd.Flag("top", "Labels to print, those with the most values first.").Default("20").Int()
	ids := cmd.Arg("part", "Number of a part; all if there is none.").Uint64List()
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.IndexStats(e.out, *top, *ids...)
	}))
}
