package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// queryArgs are what a server is asked.
type queryArgs struct {
	url              string
	expr             string
	time             string
	start, end, step string
	explain, trace   bool
}

func queryCommand(cmd *kingpin.CmdClause, e *env) {
	q := &queryArgs{}
	cmd.HelpLong("Of a vector, each line is a series, its value and the time in brackets; of a matrix, the values of a series stand below it. Warnings go to the error output.\n")
	cmd.Flag("url", "The server, also with user and password as in http://user:password@host:8428.").Default("http://localhost:8428").Envar("VARVE_URL").StringVar(&q.url)
	cmd.Flag("time", "When to evaluate: seconds or RFC 3339; now if it is not given.").StringVar(&q.time)
	cmd.Flag("start", "Evaluate at every step from this time on.").StringVar(&q.start)
	cmd.Flag("end", "Up to this time; now if it is not given.").StringVar(&q.end)
	cmd.Flag("step", "Time between steps, such as 15s or 1h.").Default("1m").StringVar(&q.step)
	cmd.Flag("explain", "Tell the plan of the query instead of its result.").BoolVar(&q.explain)
	cmd.Flag("trace", "Tell behind the result what the query did and how long that took.").BoolVar(&q.trace)
	cmd.Arg("expr", "A PromQL expression.").Required().StringVar(&q.expr)
	cmd.Action(func(*kingpin.ParseContext) error {
		if e.done {
			return nil
		}
		if q.start != "" && q.time != "" {
			return fmt.Errorf("--time and --start exclude each other")
		}
		a, err := q.ask()
		if err == nil {
			err = a.print(e.out, e.err)
		}
		if err != nil {
			return &lookError{err}
		}
		return nil
	})
}

// queryAnswer is what a server says.
type queryAnswer struct {
	Status    string
	ErrorType string
	Error     string
	Data      struct {
		Explain    string
		ResultType string
		Result     json.RawMessage
	}
	Warnings, Infos []string
	Trace           *traceStep
}

// traceStep is a step of a query and those it consists of.
type traceStep struct {
	Milliseconds float64 `json:"duration_msec"`
	Message      string
	Children     []*traceStep
}

// ask sends the query. The error is that of the server, if it has one.
func (q *queryArgs) ask() (*queryAnswer, error) {
	path, form := "/api/v1/query", url.Values{"query": {q.expr}}
	switch {
	case q.start != "":
		path = "/api/v1/query_range"
		form.Set("start", q.start)
		form.Set("end", q.end)
		form.Set("step", q.step)
		if q.end == "" {
			form.Set("end", strconv.FormatInt(time.Now().Unix(), 10))
		}
	case q.time != "":
		form.Set("time", q.time)
	}
	for name, on := range map[string]bool{"explain": q.explain, "trace": q.trace} {
		if on {
			form.Set(name, "1")
		}
	}
	resp, err := http.PostForm(strings.TrimSuffix(q.url, "/")+path, form)
	if err != nil {
		return nil, fmt.Errorf("ask server: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	a := &queryAnswer{}
	if err := json.Unmarshal(body, a); err != nil || a.Status == "" {
		return nil, fmt.Errorf("the server answers %s: %.200s", resp.Status, body)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%s: %s", a.ErrorType, a.Error)
	}
	return a, nil
}
