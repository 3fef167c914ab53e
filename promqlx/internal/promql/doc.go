// Package promql is the front end of PromQL: it makes plans of what Prometheus'
// parser yields.
package promql
