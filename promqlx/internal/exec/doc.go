// Package exec runs plans: it opens the series of the selectors, slides windows
// over their samples, and folds, joins and maps the rows on their way up.
package exec
