package index

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// source is what the planner needs to know of an index that does not change
// while it looks: a segment, or a snapshot of a head.
type source interface {
	length() uint32
	all() *bitmap.Set
	label(name string) label // nil if no series ever had it
	names() []string         // sorted
	// namesOf returns the names that ascending series have, some more than once, and
	// perhaps others.
	namesOf(series []uint32) []string
	labels(series uint32, b *labels.ScratchBuilder) error
}

// label is one label name of a source. Its values have ordinals from 1; a series
// that lacks it has 0.
type label interface {
	values() uint32 // number of distinct values
	present() *bitmap.Set
	find(value string) uint32 // 0 if there is none
	value(ordinal uint32) string
	sorted() bool // ordinals have the order of values
	// prefixed returns a range of ordinals that holds all values with a prefix,
	// and no others if they are sorted.
	prefixed(prefix string) (lo, hi uint32)
	// scan calls f for the ordinals from lo to hi; a value is valid in the call.
	scan(lo, hi uint32, f func(ordinal uint32, value string, series int))
	// series returns how many series have one of the values: of a head perhaps
	// more than the snapshot has.
	series(vs *valueSet) int
	postings(ordinal uint32) *bitmap.Set
	union(vs *valueSet, a *bitmap.Accumulator)
	// fill writes the ordinals of ascending series.
	fill(dst, series []uint32)
}
