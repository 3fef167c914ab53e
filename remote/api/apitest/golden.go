package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Case is one request and its answer, written as
//
//	# anything said about it
//	GET /api/v1/query
//	query: or1
//	time: 1700000000
//	@Accept: application/json
//	----
//	200 application/json
//	{"status":"success",...}
//
// with an empty line after it. Parameters go into the URL of a GET and into the
// form of a POST or PUT; the answer ends with the body, if there is one.
type Case struct {
	Line         int    // of its first line in the file
	Text         string // the request as it stands in the file
	Method, Path string
	Params       [][2]string
	Headers      [][2]string
	Want         string // status, content type and body
}

// ParseCases reads the cases of a file. It is strict: nobody checks the checker.
func ParseCases(text string) ([]Case, error) {
	var cases []Case
	line := 1
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		c := Case{Line: line}
		line += strings.Count(block, "\n") + 2
		request, want, ok := strings.Cut(block, "\n----\n")
		if !ok {
			return nil, fmt.Errorf("line %d: no ---- in %q", c.Line, block)
		}
		c.Text, c.Want = request, want
		for l := range strings.SplitSeq(request, "\n") {
			switch key, val, isParam := strings.Cut(l, ": "); {
			case strings.HasPrefix(l, "#"):
			case c.Method == "":
				if c.Method, c.Path, ok = strings.Cut(l, " "); !ok {
					return nil, fmt.Errorf("line %d: no method and path in %q", c.Line, l)
				}
			case !isParam:
				return nil, fmt.Errorf("line %d: no parameter in %q", c.Line, l)
			case strings.HasPrefix(key, "@"):
				c.Headers = append(c.Headers, [2]string{key[1:], val})
			default:
				c.Params = append(c.Params, [2]string{key, val})
			}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Request makes the request, as a server receives it.
func (c Case) Request() (*http.Request, error) {
	var pairs []string
	for _, p := range c.Params {
		pairs = append(pairs, url.QueryEscape(p[0])+"="+url.QueryEscape(p[1]))
	}
	form := strings.Join(pairs, "&")
	target, body := c.Path, ""
	if c.Method == http.MethodPost || c.Method == http.MethodPut {
		body = form
	} else if form != "" {
		target += "?" + form
	}
	r, err := http.NewRequest(c.Method, target, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("line %d: make request: %w", c.Line, err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range c.Headers {
		r.Header.Set(h[0], h[1])
	}
	return r, nil
}

// Answer writes an answer as the files do.
func Answer(code int, header http.Header, body string) string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", code, header.Get("Content-Type")))
	if body = strings.TrimSuffix(body, "\n"); body != "" {
		text += "\n" + body
	}
	return text
}
