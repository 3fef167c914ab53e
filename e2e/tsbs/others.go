package tsbs

import (
	"fmt"
	"net/url"
	"strconv"
)

// highCPU asks for the rows in which usage_user is above 90, with all that they hold.
// The draws, as where TSBS asks it: the time, the hosts. The steps are the moments at
// which the hosts tell something.
func highCPU(d *dice, k Kind) Query {
	start, end := d.window(k.over)
	var hosts []int
	if k.hosts > 0 {
		hosts = d.choose(k.hosts)
	}
	text := selector(k.metrics, hosts) + " and on(hostname) (" + selector(1, hosts) + " > 90)"
	step := int64(d.Interval.Seconds())
	first := (start + step - 1) / step * step
	q := rangeQuery(text, first, (end-1)/step*step, step)
	q.Hosts, q.Start, q.End = hosts, start, end
	return q
}

// lastPoint asks for the last row of each host, however old, with the time at which it
// was told as the value of a series called time. Nothing is drawn, but each question
// is asked a second after the one before: no two are the same.
func lastPoint(d *dice, k Kind) Query {
	at := d.Start.Add(d.Span).Unix() + int64(d.asked)
	window := strconv.FormatInt(int64(d.Span.Seconds())+int64(d.asked)+1, 10) + "s"
	text := "(last_over_time(" + selector(k.metrics, nil) + "[" + window + "]), " +
		"label_set(tlast_over_time(" + selector(1, nil) + "[" + window + "]), '__name__', 'time'))"
	return Query{Start: d.Start.Unix(), End: at, Path: "/api/v1/query?" + url.Values{
		"query": {text}, "time": {strconv.FormatInt(at, 10)},
	}.Encode()}
}

// lastMinutes asks for the highest usage_user of any host in each of the five minutes
// before a moment; the last of them ends with it. The draw: the hour that ends with
// the moment.
//
// A step is the last millisecond of a minute. That of the minute that is not over
// looks at what comes before the moment only.
func lastMinutes(d *dice, k Kind) Query {
	_, end := d.window(k.over)
	minute := (end - 1) / 60 * 60 // the last one with a row before end
	usage := selector(1, nil)
	text := fmt.Sprintf("max(max_over_time(%s[1m])) if (time() < %d) default max(max_over_time(%s[%ds] @ %d.999))",
		usage, minute, usage, end-minute, end-1)
	return Query{Start: minute - 4*60, End: end, Path: "/api/v1/query_range?" + url.Values{
		"query": {text}, "start": {fmt.Sprintf("%d.999", minute-4*60+59)}, "end": {fmt.Sprintf("%d.999", minute+59)},
		"step": {"60"},
	}.Encode()}
}
