package info

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Join returns the rows of base with the labels of the info rows that belong to
// them at each step, in the order of base. The values of info rows are the times
// of their samples, in milliseconds: of two that belong to a row the newer one
// counts. The rows are the function's own. (combineWithInfoSeries.)
func (c *Call) Join(env *row.Env, base, infos []*row.Row) ([]*row.Row, error) {
	j := &joiner{Call: c, env: env, infos: infos, names: map[string]bool{}, out: map[uint64][]*row.Row{}}
	for _, m := range c.Data {
		j.names[m.Name] = true
		j.needed = j.needed || !m.Matches("")
	}
	if err := j.elect(base); err != nil {
		return nil, err
	}
	for i, r := range base {
		if err := env.Alive(i); err != nil {
			return nil, err
		}
		if err := j.row(r); err != nil {
			return nil, err
		}
	}
	return j.rows, nil
}

type joiner struct {
	*Call
	env    *row.Env
	infos  []*row.Row
	names  map[string]bool // labels to join; none means all
	needed bool            // a row without info series is left out

	metrics []string           // names of info metrics, sorted
	winners map[sig][]*row.Row // by step, nil where there is none
	rows    []*row.Row
	out     map[uint64][]*row.Row
}

// sig says which rows an info series belongs to, and under which name.
type sig struct{ name, instance, job string }

func sigOf(name string, lset labels.Labels) sig {
	return sig{name, lset.Get("instance"), lset.Get("job")}
}

// elect finds the info row that counts for each signature at each step.
func (j *joiner) elect(base []*row.Row) error {
	j.winners = map[sig][]*row.Row{}
	asked := row.NewBits(j.env.Grid.N) // steps with anything to join to
	for _, r := range base {
		for i := range r.F {
			if r.At(i) {
				asked.Set(i)
			}
		}
	}
	first, conflict := j.env.Grid.N, error(nil)
	for _, r := range j.infos {
		name := r.Labels.Get(labels.MetricName)
		s := sigOf(name, r.Labels)
		won := j.winners[s]
		if won == nil {
			won = make([]*row.Row, j.env.Grid.N)
			j.winners[s] = won
			if !slices.Contains(j.metrics, name) {
				j.metrics = append(j.metrics, name)
			}
		}
		for i := asked.Next(0); i >= 0; i = asked.Next(i + 1) {
			if !r.Has.Get(i) {
				continue
			}
			old := won[i]
			if old == nil || old.F[i] < r.F[i] {
				won[i] = r
			} else if old.F[i] == r.F[i] && i < first {
				first = i
				conflict = fmt.Errorf("found duplicate series for info metric: existing %s @ %d, new %s @ %d",
					old.Labels.String(), int64(old.F[i]), r.Labels.String(), int64(r.F[i]))
			}
		}
	}
	slices.Sort(j.metrics)
	return conflict
}

// row joins to one row of base. The info rows that belong to it seldom change
// from step to step.
func (j *joiner) row(r *row.Row) error {
	if j.plain(r.Labels) {
		return j.add(r.Labels, r, 0, len(r.F))
	}
	var with [][]*row.Row // by info metric, by step
	for _, name := range j.metrics {
		if won := j.winners[sigOf(name, r.Labels)]; won != nil {
			with = append(with, won)
		}
	}
	for from := 0; from < len(r.F); {
		to := from + 1
		for to < len(r.F) && alike(with, from, to) {
			to++
		}
		lset, ok, err := j.joined(r, with, from)
		if err != nil {
			return err
		}
		if ok {
			if err := j.add(lset, r, from, to); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

func alike(with [][]*row.Row, a, b int) bool {
	for _, won := range with {
		if won[a] != won[b] {
			return false
		}
	}
	return true
}

// joined returns the labels of r with those of the info rows at step i; ok is
// false if r is left out there.
func (j *joiner) joined(r *row.Row, with [][]*row.Row, i int) (_ labels.Labels, ok bool, _ error) {
	found := false
	extra := labels.NewBuilder(labels.EmptyLabels())
	for _, won := range with {
		if won[i] == nil {
			continue
		}
		found = true
		if err := j.take(extra, r, won[i].Labels); err != nil {
			if !anyAt(r, i, with) {
				continue
			}
			return labels.EmptyLabels(), false, err
		}
	}
	if !found && j.needed {
		return labels.EmptyLabels(), false, nil
	}
	b := labels.NewBuilder(r.Labels)
	extra.Labels().Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
	return b.Labels(), true, nil
}

// anyAt tells whether r has a sample at one of the steps from i on at which the
// same info rows count.
func anyAt(r *row.Row, i int, with [][]*row.Row) bool {
	for k := i; k < len(r.F) && alike(with, i, k); k++ {
		if r.At(k) {
			return true
		}
	}
	return false
}

// take collects the labels of an info series that r lacks.
func (j *joiner) take(extra *labels.Builder, r *row.Row, info labels.Labels) error {
	return info.Validate(func(l labels.Label) error {
		if schema.IsMetadataLabel(l.Name) || len(j.names) > 0 && !j.names[l.Name] {
			return nil
		}
		if v := extra.Get(l.Name); v != "" && v != l.Value {
			return fmt.Errorf("conflicting label: %s", l.Name)
		}
		if !r.Labels.Has(l.Name) {
			extra.Set(l.Name, l.Value)
		}
		return nil
	})
}

// add gives the samples of r in [from, to) to the row of the answer with the
// labels lset.
func (j *joiner) add(lset labels.Labels, r *row.Row, from, to int) error {
	var out *row.Row
	for i := from; i < to; i++ {
		if !r.At(i) {
			continue
		}
		if out == nil {
			var err error
			if out, err = j.rowOf(lset, r); err != nil {
				return err
			}
		}
		if out.At(i) {
			return row.ErrSameLabels
		}
		out.SetAt(i, r.F[i], r.HAt(i))
	}
	return nil
}

// rowOf returns the row of the answer with the labels lset. There may be one for
// each step.
func (j *joiner) rowOf(lset labels.Labels, r *row.Row) (*row.Row, error) {
	h := lset.Hash()
	for _, have := range j.out[h] {
		if labels.Equal(have.Labels, lset) {
			return have, nil
		}
	}
	if err := j.env.Hold(lset.ByteSize() + 9*uint64(len(r.F))); err != nil {
		return nil, err
	}
	out := row.New(len(r.F))
	out.Labels, out.DropName = lset, r.DropName
	j.out[h] = append(j.out[h], out)
	j.rows = append(j.rows, out)
	return out, nil
}
