// Package funcs holds the functions of instant vectors and scalars.
package funcs
