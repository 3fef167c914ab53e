package influx

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func (h *Handler) setVersion(w http.ResponseWriter) {
	w.Header().Set("X-Influxdb-Version", h.opts.Version)
	w.Header().Set("X-Influxdb-Build", "OSS")
}

// ping answers 204, or 200 with the version to a client that asks for a body.
func (h *Handler) ping(w http.ResponseWriter, req *http.Request) {
	h.setVersion(w)
	if v := req.URL.Query().Get("verbose"); v != "" && v != "0" && v != "false" {
		writeJSON(w, http.StatusOK, map[string]string{"version": h.opts.Version})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// health answers in the words of InfluxDB 2.
func (h *Handler) health(w http.ResponseWriter, _ *http.Request) {
	h.setVersion(w)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"name":"influxdb", "message":"ready for queries and writes", "status":"pass", "checks":[]}`))
}

// query answers any InfluxQL with the list of databases: clients send SHOW
// DATABASES and CREATE DATABASE before they write, and look for no more.
func (h *Handler) query(w http.ResponseWriter, _ *http.Request) {
	h.setVersion(w)
	rows := make([][1]string, len(h.opts.Databases))
	for i, name := range h.opts.Databases {
		rows[i][0] = name
	}
	values, err := json.Marshal(rows)
	if err != nil {
		panic("influx: " + err.Error()) // strings always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"],"values":%s}]}]}`, values)
}

// bucket is a bucket as InfluxDB 2 describes it.
type bucket struct {
	ID             string          `json:"id"`
	OrgID          string          `json:"orgID"`
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	RetentionRules []retentionRule `json:"retentionRules"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
}

type retentionRule struct {
	Type         string `json:"type"`
	EverySeconds int64  `json:"everySeconds"`
}

// noID stands for ids, of which there are none: buckets are not kept apart.
const noID = "0000000000000001"

func newBucket(name string) bucket {
	return bucket{ID: noID, OrgID: noID, Type: "user", Name: name, RetentionRules: []retentionRule{}}
}

// buckets answers that each bucket which a client asks for exists, since a write
// to any is taken; and takes the creation of any.
func (h *Handler) buckets(w http.ResponseWriter, req *http.Request) {
	h.setVersion(w)
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		names := req.URL.Query()["name"]
		if len(names) == 0 {
			names = h.opts.Databases
		}
		list := make([]bucket, len(names))
		for i, name := range names {
			list[i] = newBucket(name)
		}
		writeJSON(w, http.StatusOK, map[string]any{"links": map[string]string{"self": req.URL.RequestURI()}, "buckets": list})
	case http.MethodPost:
		var asked struct{ Name string }
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBucketBody)).Decode(&asked); err != nil {
			writeError(w, http.StatusBadRequest, "cannot read the bucket: "+err.Error())
			return
		}
		writeJSON(w, http.StatusCreated, newBucket(asked.Name))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		writeError(w, http.StatusMethodNotAllowed, "buckets can be listed and created only")
	}
}

const maxBucketBody = 64 << 10

// unsupported answers paths that look like ours and are not.
func unsupported(w http.ResponseWriter, req *http.Request) {
	path := strings.ToValidUTF8(req.URL.Path, "\ufffd")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, "unsupported path requested: %q\n", path)
}
