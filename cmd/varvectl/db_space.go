package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func dbSpace(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("space", "Tell what the bytes are used for, by part, by month and in all.")
	cmd.HelpLong("The sum is that of the lengths of all files in the folder. A series counts once for each part it is in: where B/SERIES is small, indexes and headers weigh much. " +
		"HEADERS and TABLES find the blocks, TIMES are those of samples that do not come at even intervals.\n")
	cmd.Action(e.action(func(s *inspect.Store) error { return s.Space(e.out) }))
}
