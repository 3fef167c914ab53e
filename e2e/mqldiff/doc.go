// Package mqldiff holds varve's MetricsQL to VictoriaMetrics 1.146 by random
// queries over random data: integers and multiples of 0.25 in counters with
// resets, gauges with gaps, histograms of both kinds, series that come, end and
// are marked as stale.
//
// A few thousand answers are recorded in testdata/answers.jsonl.gz, and varve
// gives them too: that needs no VictoriaMetrics. With a server's binary at hand
// any number of fresh queries is asked of both:
//
//	MQLDIFF_VM       the binary of VictoriaMetrics 1.146
//	MQLDIFF_QUERIES  how many queries, 2000 if not given
//	MQLDIFF_SEED     repeats a run; a random one if not given
//	MQLDIFF_DATA     the seed of the data, that of the recorded answers if not given
//	MQLDIFF_OUT      a file that gets every difference
//	MQLDIFF_RECORD   a file to write the answers to, with MQLDIFF_VM
//	MQLDIFF_QUERY    asks one thing alone: endpoint?arguments, as a report has it
//
// VictoriaMetrics runs with GOMAXPROCS=1, which leaves less to chance, and its
// cache of results is emptied before each request: it changes answers.
//
// Bodies are compared as bytes, without their statistics. What an answer leaves
// to chance is told by its query, see looseness in compare.go; a difference is
// asked again, and where VictoriaMetrics contradicts itself one of its answers
// has to be ours.
package mqldiff
