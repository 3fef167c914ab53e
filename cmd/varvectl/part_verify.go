package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func partVerify(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("verify", "Read and decode everything in parts: what is damaged, and which samples that costs.")
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.VerifyParts(e.out, *ids...)
	}))
}
