// Package aggr holds the aggregates of the MetricsQL dialect: sum, topk, quantile,
// outliers_iqr and so on, over series that are evaluated already.
//
// There are two forms, as VictoriaMetrics has them. Eval has all series of a call
// at once. Fold takes one series after the other and keeps no more than a row of
// values per group; it is what a query reads the store through. They share their
// kernels and differ in this only:
//   - Eval leaves series without any value out before it groups; a Fold does not, so
//     they may be the ones that a limit lets in, and that any picks.
//   - A sum or an average of minus zeros alone is zero in Eval if there are several
//     series, and minus zero in a Fold.
//   - any with a limit returns one group in Eval, and as many as the limit in a Fold.
package aggr
