package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/varvedb/varve/tsdb/inspect"
)

func manifestShow(parent *kingpin.CmdClause, e *env) {
	cmd := parent.Command("show", "Print what the manifest lists.")
	metadata := cmd.Flag("metadata", "Print the metadata of every family too.").Bool()
	cmd.Action(e.action(func(s *inspect.Store) error {
		return s.ShowManifest(e.out, *metadata)
	}))
}
