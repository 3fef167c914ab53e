package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func partLs(parent *kingpin.CmdClause, e *env) {
	parent.Command("ls", "List the live parts.").Action(e.action(func(s *inspect.Store) error {
		return s.ListParts(e.out)
	}))
}
