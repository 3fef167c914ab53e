package tsdb

// Column returns the values of one label over the series of the View as small
// numbers, for grouping without strings. Damage is told as by Labels.
func (v *View) Column(name string) Column {
	if v.alone != nil {
		return v.alone.column(name)
	}
	c := newColumn(v.Len())
	seen := map[string]uint32{"": 0}
	for i := range v.series {
		value := v.series[i].lset.Get(name)
		ord, ok := seen[value]
		if !ok {
			ord = c.add(value)
			seen[value] = ord
		}
		c.ordinals[i] = ord
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

// Value returns the value with a number below Len.
func (c Column) Value(ordinal uint32) string { return c.values[ordinal] }

// Len returns one more than the highest number.
func (c Column) Len() int { return len(c.values) }

func newColumn(series int) Column {
	return Column{ordinals: make([]uint32, series), values: []string{""}}
}

func (c *Column) add(value string) uint32 {
	c.values = append(c.values, value)
	return uint32(len(c.values) - 1)
}
