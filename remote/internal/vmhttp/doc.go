// Package vmhttp reads arguments and writes texts as VictoriaMetrics does, whose
// clients write times, durations and switches in more ways than Prometheus'. The
// texts of its errors are VictoriaMetrics' too. (lib/httputil, lib/timeutil and
// app/vmselect/searchutil of VictoriaMetrics.)
//
// A form is the http.Request.Form of a request: the arguments of the body before
// those of the URL.
package vmhttp
