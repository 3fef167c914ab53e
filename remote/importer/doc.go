// Package importer is the door for bulk import and export as VictoriaMetrics
// speaks it: JSON lines in (/api/v1/import), Prometheus' text in
// (/api/v1/import/prometheus), tables in (/api/v1/import/csv), JSON lines out
// (/api/v1/export), and tables out (/api/v1/export/csv).
//
// # JSON lines
//
//	{"metric":{"__name__":"m","job":"a"},"values":[1,2.5],"timestamps":[1749938400000,1749938415000]}
//
// One object a line, both ways; timestamps are milliseconds. A value is a
// number, null (skipped), "Infinity" or "-Infinity" ("+Infinity", "Inf", "+Inf"
// and "-Inf" too), or "NaN" (skipped). Unknown members are ignored, and so are
// labels that are not strings. What Export prints imports again bit for bit,
// negative zeros included, except NaNs: JSON has no NaN, so they and staleness
// markers are printed as null, whose import is nothing. Histograms and start
// timestamps have no place in this form; Export leaves histograms out and counts
// them in the trailer X-Varve-Skipped-Histograms.
//
// # Text
//
//	m{job="a",path="/"} 2.5 1749938400000
//
// One sample a line; comments are skipped. A time with a size below 2^31 is in
// seconds, perhaps with a fraction, any other in milliseconds; without a time,
// or with 0, the argument timestamp counts (milliseconds), else the server's
// clock. NaN is skipped. The path may end in Pushgateway labels:
// /metrics/job/NAME{/LABEL/VALUE}, each with @base64 where needed.
//
// All before the first brace of a line is the metric's name, so that an exemplar
// behind "m 1" makes a series of an odd name, as in VictoriaMetrics; behind
// "m{} 1" it is a comment.
//
// # Tables
//
//	host,requests,time                  format=1:label:host,2:metric:requests_total,3:time:unix_s
//	a,17,1749938400
//
// The argument format says what the columns are, counted from 1: metric:NAME,
// label:NAME, or time: as unix_s, unix_ms, unix_ns, rfc3339 or custom:LAYOUT, a
// layout of Go's package time. Columns that it does not name are passed over. A
// line has a sample for each metric, all with the same labels and time; without a
// time, or with 0, the server's clock counts. An empty cell is none, NaN is
// skipped. A cell may stand in double or single quotes, which are doubled to
// stand for themselves; it ends on its line. The first line may be a header: it
// is passed over if a number or time in it is none.
//
// # All of them
//
// The argument extra_label=name=value, which may be repeated, beats the labels
// of the lines; an empty value removes a label, as everywhere. Of a repeated
// label the last one counts. Bodies may be gzip, zstd, deflate or snappy.
//
// A body is read line by line: a request holds one line and one batch, which is
// committed every Options.BatchSamples samples and is all or nothing. A bad line
// does not cost its neighbours: the good ones are stored and the answer is an
// error, a *BadLinesError, that names the bad ones. A line above
// Options.MaxLineBytes or a body that breaks off ends the request; the lines
// before are stored, a broken last line is not.
package importer
