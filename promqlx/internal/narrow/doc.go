// Package narrow computes functions over windows on samples in the form in which the
// store keeps them decoded: bytes on a grid of times. Neither times nor floats are made
// of them, and the sum of eight samples takes hardly longer than that of one.
package narrow
