// Package cache keeps answers of range queries by stretches of their steps, so
// that a query that is asked again a minute later evaluates a few steps instead of
// a day of them. An answer with kept stretches is the same, bit for bit, as one
// without.
//
// The steps of a plan are cut into buckets at the same times whatever is asked,
// and what is kept of a bucket is valid as long as the store's generation of the
// samples that it was made of is the same (Store.Generation): appends that come
// late, deletes and drops make it another. Nothing is kept of a plan whose value at
// a step may depend on more than the step (Why), of answers with annotations, nor
// of the last hours, which change all the time.
package cache
