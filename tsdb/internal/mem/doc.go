// Package mem keeps bytes and records where the garbage collector does not
// look: in memory mapped from the system, handed out as small numbers instead
// of pointers.
//
// An Arena hands out blocks of bytes, Records holds fixed-size records. Both
// live and die with a generation of the head: they are filled under their
// owner's lock, read without it, and given back to the system in one deed.
// Memory is taken in regions that never move, so that what a reader was handed
// stays where it is while others allocate.
//
// # Ownership
//
// Release is the end of everything that was handed out: a slice or pointer
// still held afterwards points to memory that is gone, and touching it is a
// fault that kills the process. The owner counts its readers and releases when
// the last one left; nothing here counts for it. An Arena or Records that is
// forgotten without Release leaks its regions.
//
// # Backends
//
// On linux and darwin regions are anonymous private mappings: pages that were
// never touched are not resident. Elsewhere, and in every build with the race
// detector, which does not see mapped memory, regions are pointer-free slices
// of the Go heap; then Release also overwrites them with rubbish, so that a
// late reader is a race or a wrong answer in a test instead of nothing at all.
// A mapping that the system refuses is replaced by the Go heap too.
package mem
