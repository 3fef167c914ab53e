package importer

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// The defaults of Options.
const (
	DefaultMaxLineBytes    = 10 << 20
	DefaultBatchSamples    = 20_000
	DefaultMaxExportLine   = 4 << 20
	DefaultMaxSnappyBytes  = 64 << 20
	defaultExportBufferLen = 64 << 10
)

// Options tune a Handler. The zero value works.
type Options struct {
	// MaxLineBytes bounds a line of an import; 0 means DefaultMaxLineBytes.
	MaxLineBytes int
	// BatchSamples is how many samples are committed together; 0 means
	// DefaultBatchSamples.
	BatchSamples int
	// MaxExportLineBytes is the size at which Export continues a series on
	// another line; 0 means DefaultMaxExportLine. It should not exceed the
	// MaxLineBytes of whoever imports.
	MaxExportLineBytes int
	// MaxSnappyBytes bounds the decoded size of a snappy body, the one encoding
	// that cannot be read in pieces; 0 means DefaultMaxSnappyBytes.
	MaxSnappyBytes int
	// Now is the clock for text lines without a time; nil means time.Now.
	Now func() time.Time
	// ParseSelectors reads a match[] of an export to sets of matchers, of which a
	// series has to match one; nil means PromQL's selectors.
	ParseSelectors func(string) ([][]*labels.Matcher, error)
	// WriteError answers a request that failed: with a *BadLinesError or a
	// *RequestError for the client's mistakes, else with what the store
	// returned. nil means plain text with the status that the error's
	// StatusCode method names, or 500.
	WriteError func(w http.ResponseWriter, err error)
}

func (o Options) withDefaults() Options {
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	if o.BatchSamples <= 0 {
		o.BatchSamples = DefaultBatchSamples
	}
	if o.MaxExportLineBytes <= 0 {
		o.MaxExportLineBytes = DefaultMaxExportLine
	}
	if o.MaxSnappyBytes <= 0 {
		o.MaxSnappyBytes = DefaultMaxSnappyBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ParseSelectors == nil {
		p := parser.NewParser(parser.Options{})
		o.ParseSelectors = func(text string) ([][]*labels.Matcher, error) {
			return p.ParseMetricSelectors([]string{text})
		}
	}
	if o.WriteError == nil {
		o.WriteError = writeError
	}
	return o
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var coded interface {
		error
		StatusCode() int
	}
	if errors.As(err, &coded) {
		status = coded.StatusCode()
	}
	http.Error(w, err.Error(), status)
}
