package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func dbCheck(parent *kingpin.CmdClause, e *env) {
	parent.Command("check", "Read everything and tell what is not sound.").Action(e.action(func(s *inspect.Store) error {
		return s.Check(e.out)
	}))
}
