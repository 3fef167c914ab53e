// Package info joins the labels of info metrics, such as target_info, to other
// series: the function info of the language. It is as Prometheus'
// promql/info.go, by series rather than by step.
package info
