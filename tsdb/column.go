package tsdb

// Column returns the values of one label over the series of the View as small
// numbers, for grouping without strings. Damage is told as by Labels.
func (v *View) Column(name string) Column {
	numbers := make([][]uint32, len(v.places))
	for p, of := range v.places {
		numbers[p] = make([]uint32, of.count())
	}
	texts, err := valueNumbers(v.places, name, numbers)
	switch {
	case err != nil || len(v.places) == 0:
		return Column{ordinals: make([]uint32, v.Len()), values: []string{""}}
	case v.joined == nil:
		return Column{ordinals: numbers[0], values: texts}
	}
	c := Column{ordinals: make([]uint32, v.Len()), values: texts}
	for i := range c.ordinals {
		ref := v.joined.of(i)[0]
		c.ordinals[i] = numbers[ref.place][ref.k]
	}
	return c
}

// Column is one label's values over the series of a View.
type Column struct {
	ordinals []uint32
	values   []string
}

// Ordinal returns the number of the value that series i has, 0 if it has none.
func (c Column) Ordinal(i int) uint32 { return c.ordinals[i] }

// Value returns the value with a number below Len. There may be some that no series
// has. Who keeps it for long makes a copy: it may be a part of something large.
func (c Column) Value(ordinal uint32) string { return c.values[ordinal] }

// Len returns one more than the highest number.
func (c Column) Len() int { return len(c.values) }
