package head

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// postings finds series by label. Lists only grow at their end or are replaced,
// so a slice taken under the lock stays valid after it.
type postings struct {
	mu struct {
		sync.RWMutex
		all    []*Series
		values map[string]map[string][]*Series
	}
}

func (p *postings) init() {
	p.mu.values = map[string]map[string][]*Series{}
}

func (p *postings) add(s *Series) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.all = append(p.mu.all, s)
	s.lset.Range(func(l labels.Label) {
		byValue := p.mu.values[l.Name]
		if byValue == nil {
			byValue = map[string][]*Series{}
			p.mu.values[l.Name] = byValue
		}
		byValue[l.Value] = append(byValue[l.Value], s)
	})
}

func (p *postings) remove(dropped map[*Series]struct{}) {
	if len(dropped) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.all = without(p.mu.all, dropped)
	touched := map[labels.Label]struct{}{}
	for s := range dropped {
		s.lset.Range(func(l labels.Label) { touched[l] = struct{}{} })
	}
	for l := range touched {
		byValue := p.mu.values[l.Name]
		if kept := without(byValue[l.Value], dropped); len(kept) > 0 {
			byValue[l.Value] = kept
		} else {
			delete(byValue, l.Value)
		}
		if len(byValue) == 0 {
			delete(p.mu.values, l.Name)
		}
	}
}

func without(list []*Series, dropped map[*Series]struct{}) []*Series {
	kept := make([]*Series, 0, len(list))
	for _, s := range list {
		if _, gone := dropped[s]; !gone {
			kept = append(kept, s)
		}
	}
	return kept
}

// match returns the series that all matchers match, in no order. A missing
// label is an empty one.
func (p *postings) match(ms []*labels.Matcher) []*Series {
	list, rest := p.candidates(ms)
	if len(rest) == 0 {
		return list
	}
	var out []*Series
	for _, s := range list {
		if matches(s.lset, rest) {
			out = append(out, s)
		}
	}
	return out
}

func matches(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// candidates returns the shortest list that one matcher gives and the matchers
// that it does not answer.
func (p *postings) candidates(ms []*labels.Matcher) (list []*Series, rest []*labels.Matcher) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	best := -1
	list = p.mu.all
	for i, m := range ms {
		found, ok := p.narrow(m)
		if ok && (best < 0 || len(found) < len(list)) {
			best, list = i, found
		}
	}
	list = list[:len(list):len(list)]
	for i, m := range ms {
		if i != best {
			rest = append(rest, m)
		}
	}
	return list, rest
}

// narrow returns the series that m matches if a look-up can tell: it must not
// match the empty value, and name a value or a short set of them.
func (p *postings) narrow(m *labels.Matcher) ([]*Series, bool) {
	if m.Matches("") {
		return nil, false
	}
	byValue := p.mu.values[m.Name]
	switch m.Type {
	case labels.MatchEqual:
		return byValue[m.Value], true
	case labels.MatchRegexp:
		if set := m.SetMatches(); len(set) > 0 {
			return p.union(byValue, set), true
		}
	}
	return nil, false
}

func (p *postings) union(byValue map[string][]*Series, set []string) []*Series {
	var out []*Series
	seen := map[string]struct{}{}
	for _, v := range set {
		if _, twice := seen[v]; !twice {
			seen[v] = struct{}{}
			out = append(out, byValue[v]...)
		}
	}
	return out
}
