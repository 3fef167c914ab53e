package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func walLs(parent *kingpin.CmdClause, e *env) {
	parent.Command("ls", "List the segments of the log.").Action(e.action(func(s *inspect.Store) error {
		return s.ListLog(e.out)
	}))
}
