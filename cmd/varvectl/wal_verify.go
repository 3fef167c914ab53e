package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func walVerify(parent *kingpin.CmdClause, e *env) {
	parent.Command("verify", "Read and decode every frame of the log.").Action(e.action(func(s *inspect.Store) error {
		return s.VerifyLog(e.out)
	}))
}
