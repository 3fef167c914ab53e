// Package plan holds the logical plan of a query: what the front ends of the
// dialects make of a text, what rewrites improve, and what package exec runs.
//
// A plan is a tree of nodes. Everything about time that a text can say is
// resolved in it: durations are milliseconds, start() and end() are times,
// constants are folded, and parts that are the same at all steps stand below a
// Once. One rewrite is one file, from tree to tree; Explain prints a plan.
package plan
