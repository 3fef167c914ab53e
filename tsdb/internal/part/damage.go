package part

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Damage is a block, or a group of them, that was found damaged.
type Damage struct {
	First, Last uint32 // series
	MinT, MaxT  int64
	Err         error // names file, offset and cause

	group, row int // row is -1 for all of the group
}

func (d *Damage) is(group, row int) bool { return d.group == group && (d.row == row || d.row == -1) }

// touches tells whether samples of the series inside [mint, maxt] may be among
// those that cannot be read.
func (d *Damage) touches(series uint32, mint, maxt int64) bool {
	return d.First <= series && d.Last >= series && d.MinT <= maxt && d.MaxT >= mint
}

// damages is what was found, by whoever reads. There is next to always nothing.
type damages struct {
	some atomic.Bool
	mu   struct {
		sync.RWMutex
		list []Damage
	}
}

// maxDamages bounds what is remembered of a part; what comes after fails those
// who read it.
const maxDamages = 1000

func (l *damages) note(d Damage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.list) >= maxDamages || slices.ContainsFunc(l.mu.list, func(x Damage) bool { return x.is(d.group, d.row) }) {
		return
	}
	l.mu.list = append(l.mu.list, d)
	l.some.Store(true)
}

// has tells whether a block is among them; row -1 asks for the whole group.
func (l *damages) has(group, row int) bool {
	if !l.some.Load() {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.ContainsFunc(l.mu.list, func(d Damage) bool { return d.is(group, row) })
}

// Damage returns what was found damaged so far that may hold samples of a series
// inside [mint, maxt]. Without damage it costs nothing.
func (p *Part) Damage(series uint32, mint, maxt int64) []Damage {
	if !p.damages.some.Load() {
		return nil
	}
	p.damages.mu.RLock()
	defer p.damages.mu.RUnlock()
	var out []Damage
	for _, d := range p.damages.mu.list {
		if d.touches(series, mint, maxt) {
			out = append(out, d)
		}
	}
	return out
}

// FirstDamage returns what was found damaged first, nil as long as nothing was.
func (p *Part) FirstDamage() error {
	if !p.damages.some.Load() {
		return nil
	}
	p.damages.mu.RLock()
	defer p.damages.mu.RUnlock()
	return p.damages.mu.list[0].Err
}

// noteGroup remembers a group whose headers do not read.
func (g *groups) noteGroup(group int, err error) {
	if errors.Is(err, block.ErrCorrupt) {
		g.p.damages.note(Damage{
			First: uint32(g.at(groupFirst, group)), Last: uint32(g.at(groupLast, group)), MinT: g.minT(group), MaxT: g.maxT(group),
			Err: err, group: group, row: -1,
		})
	}
}

// noteBlock remembers a block that does not read.
func (g *groups) noteBlock(group, row int, page *groupPage, err error) {
	if errors.Is(err, block.ErrCorrupt) {
		g.checked[group].remove(row)
		series := page.first + page.rows.Series(row) - 1
		mint, maxt := page.rows.Times(row)
		g.p.damages.note(Damage{First: series, Last: series, MinT: mint, MaxT: maxt, Err: err, group: group, row: row})
	}
}

// String says what is missing.
func (d Damage) String() string {
	return fmt.Sprintf("%v: samples of %d series from %s to %s are left out", d.Err, d.Last-d.First+1, stamp(d.MinT), stamp(d.MaxT))
}
