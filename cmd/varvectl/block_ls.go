package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func blockLs(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("ls", "List the blocks of parts: where they are, how they are coded, bytes per sample.")
	cmd.HelpLong(codingHelp)
	most := cmd.Flag("largest", "Only that many blocks of each part, those with the most bytes; 0 is all.").Default("0").Int()
	ms := selectorFlag(cmd)
	ids := partsArg(cmd)
	cmd.Action(e.action(func(s *inspect.Store) error { return s.ListBlocks(e.out, *most, *ms, *ids...) }))
}
