package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func partVerify(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("verify", "Read and decode everything in parts.")
	ids := cmd.Arg("part", "Number of a part; all if there is none.").Uint64List()
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.VerifyParts(e.out, *ids...)
	}))
}
