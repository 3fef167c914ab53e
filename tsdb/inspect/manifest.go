package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/manifest"
)

// ShowManifest prints what the manifest lists, and with metadata set the
// metadata of every family too.
func (s *Store) ShowManifest(out io.Writer, metadata bool) error {
	r := &report{out: out}
	state, ok, err := s.manifest(r)
	if err != nil {
		return err
	}
	if ok {
		showManifest(r, state, metadata)
	}
	return r.result()
}

func showManifest(r *report, state manifest.State, metadata bool) {
	sets := 0
	for _, list := range state.Metadata {
		sets += len(list)
	}
	r.printf("log flushed up to sequence number %d\nnext part %d\nlabel hash key %x\n", state.FlushedSeq, state.NextPartID, state.LabelHashKey)
	r.printf("%d parts\n", len(state.Parts))
	for _, id := range slices.Sorted(maps.Keys(state.Parts)) {
		p := state.Parts[id]
		r.printf("  %s/%012d: %s to %s, sequence %d-%d, deleted %d, %d series, %d samples, %d bytes, format %d\n",
			p.Month, p.ID, stamp(p.MinT), stamp(p.MaxT), p.SeqMin, p.SeqMax, p.DeletedSeq, p.Series, p.Samples, p.Bytes, p.Format)
	}
	r.printf("%d tombstones\n", len(state.Tombstones))
	for _, t := range state.Tombstones {
		r.printf("  %d: %s to %s %s\n", t.Seq, stamp(t.MinT), stamp(t.MaxT), matcherText(t.Matchers))
	}
	r.printf("%d parts set aside\n", len(state.Quarantined))
	for _, id := range slices.Sorted(maps.Keys(state.Quarantined)) {
		r.printf("  %012d: %s\n", id, state.Quarantined[id])
	}
	r.printf("metadata of %d families, %d sets\n", len(state.Metadata), sets)
	if !metadata {
		return
	}
	for _, family := range slices.Sorted(maps.Keys(state.Metadata)) {
		for _, m := range state.Metadata[family] {
			r.printf("  %s: type %q, unit %q, help %q\n", family, m.Type, m.Unit, m.Help)
		}
	}
}

// matcherText writes matchers as a selector.
func matcherText(list []manifest.Matcher) string {
	var texts []string
	for _, m := range list {
		texts = append(texts, fmt.Sprintf("%s%s%q", m.Name, operator(m.Type), m.Value))
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// operator returns what stands between name and value in a matcher.
func operator(kind uint8) string {
	if t := labels.MatchType(kind); t >= labels.MatchEqual && t <= labels.MatchNotRegexp {
		return t.String()
	}
	return fmt.Sprintf("?%d?", kind)
}
