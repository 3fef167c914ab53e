package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func indexStats(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("stats", "Count the series and values of each label, and what they take.")
	cmd.HelpLong("TEXT is the bytes of the distinct values, DICTIONARY what is stored of them and of what finds them, COLUMNS what says which series has which value.\n")
	top := cmd.Flag("top", "Labels to print, those with the most values first.").Default("20").Int()
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.IndexStats(e.out, *top, *ids...)
	}))
}
