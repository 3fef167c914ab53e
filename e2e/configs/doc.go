// Package configs loads the examples under configs that need Prometheus' own
// packages to be read.
package configs
