package tsdb

import (
	"cmp"
	"slices"
	"time"
)

// retire drops the parts that are past the retention, by age and then by size.
func (db *DB) retire(now time.Time) error {
	if err := db.beginJob(); err != nil {
		return err
	}
	defer db.jobs.Unlock()
	s := db.acquire()
	defer s.refs.release()
	oldest := db.oldest(now)
	byAge, rest := []partView{}, []partView{}
	for _, p := range s.parts {
		if p.info.MaxT < oldest {
			byAge = append(byAge, p)
		} else {
			rest = append(rest, p)
		}
	}
	if err := db.drop(byAge, "age"); err != nil {
		return err
	}
	return db.drop(tooMuch(rest, db.opts.RetentionBytes), "size")
}

// tooMuch returns the oldest days' parts that have to go so that the rest fits
// into limit. The newest day always stays.
func tooMuch(parts []partView, limit int64) []partView {
	if limit <= 0 || len(parts) == 0 {
		return nil
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b partView) int { return cmp.Compare(a.info.MinT, b.info.MinT) })
	var total uint64
	for _, p := range parts {
		total += p.info.Bytes
	}
	newest := dayOf(parts[len(parts)-1].info.MinT)
	n := 0
	for day := dayOf(parts[0].info.MinT); total > uint64(limit) && day < newest; day = dayOf(parts[n].info.MinT) {
		for n < len(parts) && dayOf(parts[n].info.MinT) == day {
			total -= parts[n].info.Bytes
			n++
		}
	}
	return parts[:n]
}

func (db *DB) drop(parts []partView, reason string) error {
	if len(parts) == 0 {
		return nil
	}
	for _, p := range parts {
		defer db.changing(p.info.MinT, p.info.MaxT)()
	}
	if err := db.replaceParts(parts, nil); err != nil {
		return err
	}
	info := RetireInfo{Parts: len(parts), Reason: reason}
	for _, p := range parts {
		info.Bytes += p.info.Bytes
	}
	db.opts.Events.retired(info)
	return nil
}
