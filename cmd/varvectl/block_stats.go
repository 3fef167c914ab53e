package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func blockStats(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("stats", "Count blocks, samples and bytes by the way they are coded: what compresses badly.")
	cmd.HelpLong(codingHelp)
	by := cmd.Flag("by", "Count by the values of this label too, __name__ for one.").String()
	top := cmd.Flag("top", "Values of the label to print, those with the most bytes first; 0 is all.").Default("20").Int()
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.BlockStats(e.out, *by, *top, *ids...) }))
}
