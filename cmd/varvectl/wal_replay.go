package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func walReplay(parent *kingpin.CmdClause, e *env) {
	parent.Command("replay", "Tell what a store that is opened would take from the log.").Action(e.action(func(s *inspect.Store) error {
		return s.ReplayLog(e.out)
	}))
}
