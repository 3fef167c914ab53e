package write

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// Metadata comes again with each request of 2.0 and each minute in 1.0. What
// was handed to the store is remembered, so that it is handed over again once in
// a period only.
const (
	metadataPeriod  = 600 // seconds
	maxMetadataSeen = 128 << 10

	handedOver tsdb.Series = 1 // what the cache of metadata holds, which names no series there
)

// metadataV1 brings a prometheus.MetricMetadata into the batch.
func (r *request) metadataV1(msg []byte) error {
	var m wire.V1MetricMetadata
	if err := m.Decode(msg); err != nil {
		return err
	}
	k := &r.h.keyer
	id := k.join(k.join(k.joined(), r.period), key{a: uint64(m.Type), b: 1})
	id = k.done(k.join(k.join(k.join(id, k.of(m.Family)), k.of(m.Help)), k.of(m.Unit)))
	if r.h.metadata.get(id) != 0 {
		r.done.metadata++
		return nil
	}
	return r.addMetadata(id, string(m.Family), m.Type, m.Help, m.Unit)
}

// metadataV2 brings the metadata of a series into the batch. When it points
// outside the symbol table the series is refused with its n items.
func (r *request) metadataV2(m wire.V2Metadata, nameRef uint32, n int) (refused bool, err error) {
	size := uint64(len(r.sums))
	if uint64(m.HelpRef) >= size || uint64(m.UnitRef) >= size {
		return true, r.report.add(&tsdb.InputError{
			Culprit: r.seriesText(),
			Reason:  fmt.Sprintf("metadata references %d and %d are not both in the table of %d symbols", m.HelpRef, m.UnitRef, size),
		}, n)
	}
	help, unit := r.table.Symbols[m.HelpRef], r.table.Symbols[m.UnitRef]
	if m.Type.Model() == model.MetricTypeUnknown && len(help) == 0 && len(unit) == 0 {
		return false, nil
	}
	k := &r.h.keyer
	id := k.join(k.join(k.joined(), r.period), key{a: uint64(m.Type), b: 2})
	id = k.done(k.join(k.join(k.join(id, r.sums[nameRef]), r.sums[m.HelpRef]), r.sums[m.UnitRef]))
	if r.h.metadata.get(id) != 0 {
		return false, nil
	}
	return false, r.addMetadata(id, familyName(r.table.Symbols[nameRef], m.Type), m.Type, help, unit)
}

// addMetadata hands metadata to the store, in strings of its own, and remembers
// that it did.
func (r *request) addMetadata(id key, family string, typ wire.MetricType, help, unit []byte) error {
	bad := func(reason, limit string) error {
		return r.report.add(&tsdb.InputError{
			Culprit: fmt.Sprintf("metadata of %q", clipText(family, 200)), Reason: reason, Limit: limit,
		}, 1)
	}
	most := r.h.o.MaxLabelValueBytes
	switch {
	case family == "":
		return bad("the metric family name is empty", "")
	case !utf8.ValidString(family):
		return bad("the metric family name is not valid UTF-8", "")
	case !utf8.Valid(help):
		return bad("the help text is not valid UTF-8", "")
	case !utf8.Valid(unit):
		return bad("the unit is not valid UTF-8", "")
	case len(family) > most || len(help) > most || len(unit) > most:
		return bad(fmt.Sprintf("a text has %d bytes", max(len(family), len(help), len(unit))), fmt.Sprintf("%d bytes", most))
	}
	err := r.b.Metadata(family, metadata.Metadata{Type: typ.Model(), Help: string(help), Unit: string(unit)})
	if err != nil {
		return r.report.add(err, 1)
	}
	r.h.metadata.put(id, handedOver)
	r.noted = true
	r.done.metadata++
	return nil
}

// familyName returns the metric family of a series, whose name has a suffix in
// families of several series.
func familyName(metric []byte, typ wire.MetricType) string {
	name := string(metric)
	var suffixes []string
	switch typ.Model() {
	case model.MetricTypeHistogram:
		suffixes = []string{"_bucket", "_sum", "_count"}
	case model.MetricTypeGaugeHistogram:
		suffixes = []string{"_bucket", "_gsum", "_gcount"}
	case model.MetricTypeSummary:
		suffixes = []string{"_sum", "_count"}
	}
	for _, suffix := range suffixes {
		if family, ok := strings.CutSuffix(name, suffix); ok && family != "" {
			return family
		}
	}
	return name
}
