package api

import (
	"fmt"
	"html"
	"net/http"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// prettify lays a MetricsQL query out for people. A query that cannot be parsed is
// no error of the request.
func (a *API) prettify(r *http.Request) vmResult {
	text, err := promqlx.PrettifyMetricsQL(r.Form.Get("query"))
	if err != nil {
		return vmResult{whole: true, body: rawJSON(fmt.Appendf(nil, `{"status": "error", "msg": %q}`, err))}
	}
	return vmResult{whole: true, body: rawJSON(fmt.Appendf(nil, `{"status": "success", "query": %q}`, text))}
}

// expand shows a MetricsQL query without its WITH templates: as JSON with
// format=json, else on a page to try queries on.
func (a *API) expand(r *http.Request) vmResult {
	query := r.Form.Get("query")
	text, err := "", error(nil)
	if query != "" {
		text, err = promqlx.ExpandMetricsQL(query)
	}
	if r.Form.Get("format") != "json" {
		if err != nil {
			text = fmt.Sprintf("Cannot parse query: %s", err)
		}
		return vmResult{whole: true, contentType: "text/html; charset=utf-8", body: rawJSON(fmt.Appendf(nil, expandPage, html.EscapeString(query), html.EscapeString(text)))}
	}
	body := []byte(`{"status": "success","expr":`)
	switch {
	case query == "":
		body, text = []byte(`{"status": "error","error":`), "query string cannot be empty"
	case err != nil:
		body, text = []byte(`{"status": "error","error":`), fmt.Sprintf("Cannot parse query: %s", err)
	}
	return vmResult{whole: true, body: rawJSON(append(vmhttp.AppendString(body, text), '}'))}
}

const expandPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Expand WITH templates</title></head><body>
<form method="get">
<p><label>MetricsQL query<br><textarea name="query" rows="12" cols="100">%s</textarea></label></p>
<p><input type="submit" value="Expand"></p>
<p><label>Without templates<br><textarea rows="5" cols="100" readonly>%s</textarea></label></p>
</form></body></html>
`
