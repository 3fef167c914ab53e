// Package influx is the door for the InfluxDB line protocol: it takes bodies of
// lines over HTTP and appends their samples to the store, and it answers the
// probes that Influx clients send before they write.
//
// # What is a line
//
//	measurement[,tag=value...] field=value[,field=value...] [time]
//
// A line is valid when Influx's own grammar says so (scan.go is that grammar by
// hand): control characters, but for tag values and strings, and
// invalid UTF-8 are refused, so are empty or
// repeated tags and values which are no number, boolean or string. Spaces before
// a line and after its time are fine, string fields may hold raw newlines, lines
// which start with # are comments.
//
// # What a line means
//
//   - Each numeric or boolean field is one sample of the series named
//     measurement_field which carries the line's tags. True is 1, false is 0;
//     integers become the nearest float64; string fields are skipped.
//   - A backslash before a space, comma, equals sign or backslash in a name or a
//     tag value vanishes; any other stays.
//   - A tag __name__ is ignored.
//   - The argument db becomes the label db unless the line has a tag db; an
//     argument extra_label=name=value, which may be repeated, beats tags and db.
//   - Times are cut to milliseconds. The unit is the argument precision (ns, n,
//     us, u, µ, ms, s, m, h in either case); without it the unit is guessed by
//     size, and a missing or zero time is the server's. With a precision a zero
//     is 1970.
//
// # Good and bad lines
//
// A bad line does not cost its neighbours: all good lines are stored, and the
// answer is a 400 which names the bad ones by number, text and reason. A field
// string which is never closed makes its first line bad; the next one is read
// as usual. A line whose time or labels the store refuses is a bad line too.
// With the header Stream-Mode: 1 bad lines are skipped in silence.
//
// # How a body runs through
//
// A body is read, decoded and scanned in chunks, so a request holds one buffer,
// not its body; only snappy blocks have to be whole. Samples collect in a batch
// which is committed every Options.BatchSamples: a request below that is all or
// nothing; a larger one is several batches, and it is acknowledged only when
// all of them are logged. A body which breaks off or exceeds a limit is refused;
// batches committed by then stay.
//
// In steady state a line costs no allocation: its measurement and tags, as raw
// bytes, find a row in a cache; the row knows the series and the text of each
// field in the order in which the sender writes them (fast.go). Whatever does
// not fit takes the way of the plain grammar (scan.go), with the same result.
package influx
