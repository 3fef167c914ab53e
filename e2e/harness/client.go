package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Client speaks HTTP to one server. It is safe for concurrent use.
type Client struct {
	URL  string
	HTTP *http.Client
}

// NewClient returns a client with connections of its own. It follows no
// redirects.
func NewClient(base string) Client {
	return Client{URL: base, HTTP: &http.Client{
		Timeout:       2 * time.Minute,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Response is a whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Require fails the test unless the answer has the given status.
func (r Response) Require(t testing.TB, status int) Response {
	t.Helper()
	require.Equal(t, status, r.Status, "answer: %s", clip(r.Body))
	return r
}

func (r Response) String() string { return string(r.Body) }

// Send sends a request, whose path may carry a query. headers are pairs of name
// and value. It returns an error when there is no whole answer.
func (c Client) Send(method, path string, body io.Reader, headers ...string) (Response, error) {
	req, err := http.NewRequest(method, c.URL+path, body)
	if err != nil {
		return Response{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return c.SendRequest(req)
}

// SendRequest sends a request whose URL is absolute.
func (c Client) SendRequest(req *http.Request) (Response, error) {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return Response{}, fmt.Errorf("read answer: %w", err)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: text}, nil
}

// Do is Send with a body of bytes in a test that needs an answer.
func (c Client) Do(t testing.TB, method, path string, body []byte, headers ...string) Response {
	t.Helper()
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	resp, err := c.Send(method, path, r, headers...)
	require.NoError(t, err)
	return resp
}

// Get asks for a path with query arguments, given as pairs.
func (c Client) Get(t testing.TB, path string, args ...string) Response {
	t.Helper()
	if len(args) > 0 {
		path += "?" + Form(args...).Encode()
	}
	return c.Do(t, http.MethodGet, path, nil)
}

// Post sends a body of some content type.
func (c Client) Post(t testing.TB, path, contentType string, body []byte) Response {
	t.Helper()
	if contentType == "" {
		return c.Do(t, http.MethodPost, path, body)
	}
	return c.Do(t, http.MethodPost, path, body, "Content-Type", contentType)
}

// PostForm sends pairs as a form.
func (c Client) PostForm(t testing.TB, path string, args ...string) Response {
	t.Helper()
	return c.Post(t, path, "application/x-www-form-urlencoded", []byte(Form(args...).Encode()))
}

// try sends a request without a body within a second.
func (c Client) try(method, path string) (int, error) {
	quick := *c.HTTP
	quick.Timeout = time.Second
	resp, err := Client{URL: c.URL, HTTP: &quick}.Send(method, path, nil)
	return resp.Status, err
}

// Form makes arguments of pairs.
func Form(args ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(args); i += 2 {
		v.Add(args[i], args[i+1])
	}
	return v
}

// Envelope is the outer object of an answer of the Prometheus API.
type Envelope struct {
	Status    string          `json:"status"`
	ErrorType string          `json:"errorType"`
	Error     string          `json:"error"`
	Data      json.RawMessage `json:"data"`
	Warnings  []string        `json:"warnings"`
	Infos     []string        `json:"infos"`
}

// Envelope decodes the answer.
func (r Response) Envelope(t testing.TB) Envelope {
	t.Helper()
	var e Envelope
	require.NoError(t, json.Unmarshal(r.Body, &e), "answer with status %d: %s", r.Status, clip(r.Body))
	return e
}

// Data decodes the data of a successful answer into v.
func (r Response) Data(t testing.TB, v any) {
	t.Helper()
	r.Require(t, http.StatusOK)
	e := r.Envelope(t)
	require.Equal(t, "success", e.Status)
	require.NoError(t, json.Unmarshal(e.Data, v), "data: %s", clip(e.Data))
}

func clip(b []byte) []byte { return b[:min(len(b), 2000)] }
