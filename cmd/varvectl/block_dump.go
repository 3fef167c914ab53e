package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func blockDump(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("dump", "Print the headers of the blocks at an offset and their samples.")
	id, offset := blockArgs(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.ShowBlocks(e.out, *id, *offset, true) }))
}
