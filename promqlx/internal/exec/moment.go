package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
)

// opened is what selectors that read the same found before the plan ran.
type opened struct {
	series     series
	matchers   string
	mint, maxt int64
	sels       []*plan.Selector // whose leaves are not done
}

// openTogether finds the series of all selectors of a plan in our own store as of one
// moment, if there are several; one alone does not need it. What an info call reads
// is not known before it runs: then the moment stays open until the query ends, and
// writers keep for it what they change.
func (q *query) openTogether(ctx context.Context, n plan.Node) error {
	own, ok := q.store.(ownStore)
	if !ok || plan.SelectorOf(n) != nil {
		return nil
	}
	sels, late := selectors(n)
	if sels < 2 && !late {
		return nil
	}
	m, err := own.db.Moment()
	if err != nil {
		return fmt.Errorf("expanding series: %w", err)
	}
	q.store = momentStore{m}
	if !late {
		defer q.closeMoment()
	}
	t := q.Trace.Start("select %d times of one moment", sels)
	defer t.Done()
	for _, r := range plan.Ranges(n, q.Grid.Start, q.Grid.End(), q.Lookback) {
		if sel := plan.SelectorOf(r.Of); sel != nil {
			if err := q.openAhead(ctx, sel, r.Min, r.Max); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectors counts them; late tells whether there are more, known when the plan runs.
func selectors(n plan.Node) (count int, late bool) {
	plan.Walk(n, func(n plan.Node) bool {
		if plan.SelectorOf(n) != nil {
			count++
		}
		_, info := n.(*plan.Info)
		late = late || info
		return true
	})
	return count, late
}

// openAhead finds the series of one selector, unless another one reads the same.
func (q *query) openAhead(ctx context.Context, sel *plan.Selector, mint, maxt int64) error {
	matchers := matchersText(sel.Matchers)
	for _, o := range q.ahead {
		if o.matchers == matchers && o.mint == mint && o.maxt == maxt {
			o.sels = append(o.sels, sel)
			return nil
		}
	}
	s, err := q.find(ctx, &storage.SelectHints{Start: mint, End: maxt}, sel.Matchers)
	if err == nil {
		q.ahead = append(q.ahead, &opened{series: s, matchers: matchers, mint: mint, maxt: maxt, sels: []*plan.Selector{sel}})
	}
	return err
}

func matchersText(ms []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteString(m.String())
		b.WriteByte(',')
	}
	return b.String()
}

// find opens the series that matchers select.
func (q *query) find(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (series, error) {
	s, err := q.store.open(ctx, hints, ms)
	if err == nil {
		return s, nil
	}
	if ended := budget.Alive(ctx); ended != nil {
		return nil, ended
	}
	return nil, fmt.Errorf("expanding series: %w", err)
}

// openedFor returns what a selector found before the plan ran, nil if nobody looked.
func (q *query) openedFor(sel *plan.Selector) *opened {
	for _, o := range q.ahead {
		if slices.Contains(o.sels, sel) {
			return o
		}
	}
	return nil
}

// done lets go of what a selector found, which does not read it again.
func (o *opened) done(sel *plan.Selector) error {
	if o.sels = slices.DeleteFunc(o.sels, func(x *plan.Selector) bool { return x == sel }); len(o.sels) > 0 {
		return nil
	}
	return o.series.close()
}

// closeAhead closes what no leaf came to.
func (q *query) closeAhead() {
	for _, o := range q.ahead {
		if len(o.sels) > 0 {
			_ = o.series.close() // a View's
		}
	}
	q.ahead = nil
	q.closeMoment()
}

// closeMoment lets go of the moment, if there is one.
func (q *query) closeMoment() {
	if s, ok := q.store.(momentStore); ok {
		s.moment.Close()
		q.store = storeOf(q.Queryable)
	}
}
