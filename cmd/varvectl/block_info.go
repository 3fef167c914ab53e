package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func blockInfo(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("info", "Print what the headers of the blocks at an offset say, and whether they decode.")
	id, offset := blockArgs(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.ShowBlocks(e.out, *id, *offset, false) }))
}
