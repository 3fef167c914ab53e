package importer

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// pathLabels reads the labels in a Pushgateway path, still escaped:
// /metrics/job/NAME{/LABEL/VALUE}. A label that ends in @base64 has its value in
// base64url, where = stands for nothing. Other paths hold no labels.
func pathLabels(path string) ([]labels.Label, error) {
	path, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), "/metrics/")
	if !ok {
		return nil, nil
	}
	segments := strings.Split(path, "/")
	if len(segments)%2 != 0 {
		return nil, badRequest("path of labels %q: a label has no value", path)
	}
	var out []labels.Label
	for i := 0; i < len(segments); i += 2 {
		l, err := pathLabel(segments[i], segments[i+1])
		if err != nil {
			return nil, badRequest("path of labels %q: %w", path, err)
		}
		if i == 0 && l.Name != "job" {
			return nil, badRequest("path of labels %q: the first label must be job", path)
		}
		out = append(out, l)
	}
	return out, nil
}

func pathLabel(name, value string) (labels.Label, error) {
	name, err := url.PathUnescape(name)
	if err != nil {
		return labels.Label{}, err
	}
	if value, err = url.PathUnescape(value); err != nil {
		return labels.Label{}, err
	}
	if plain, ok := strings.CutSuffix(name, "@base64"); ok {
		name = plain
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(value, "="))
		if err != nil {
			return labels.Label{}, err
		}
		value = string(raw)
	}
	return labels.Label{Name: name, Value: value}, nil
}
