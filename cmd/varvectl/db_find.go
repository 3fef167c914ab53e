package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func dbFind(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("find", "Tell where the samples of series are: in which parts, how many, in how many bytes; and those in the log.")
	series := cmd.Flag("series", "Print every series too.").Bool()
	ms := selectorArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.Find(e.out, *series, *ms...) }))
}
