// Package budget bounds the memory and the samples of queries. A Pool is what
// all queries share; each has a Meter, which it tells what it takes and gives
// back.
//
// Admission: a query that knows what it will need says so once, by Admit, or by
// Expect if it guesses, before it holds anything of size. It waits in line until that much is free; who came
// first is served first, so that a large query is not starved by small ones.
// What it needs beyond that, it takes by Grow, which never waits: there it
// either is, or the query fails, alone.
//
// Invariants:
//
//	I1: the reservations of all meters never exceed Limits.Memory.
//	I2: the reservation of a meter is at least what it uses and never exceeds
//	    Limits.QueryMemory.
//	I3: a meter that was released reserves nothing.
package budget
