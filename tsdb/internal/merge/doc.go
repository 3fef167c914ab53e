// Package merge joins parts: which of them is decided by pure functions, how is
// a streaming merge in label order that writes one new part.
package merge
