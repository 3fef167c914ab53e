package plan

// Stats marks rollups whose values can be had from what a store knows of whole
// blocks: how many samples, the sum, the least and the greatest, the first and
// the last, and the resets of a counter. The window must be as long as
// Config.StatsWindow at least, since shorter ones cover few blocks.
//
// Whether a block's statistic is exact is the store's to say, block by block.
func Stats(root Node, c Config) Node {
	Walk(root, func(n Node) bool {
		if r, ok := n.(*Rollup); ok {
			r.Stats = r.Selector != nil && r.Range >= c.StatsWindow &&
				!r.Selector.Anchored && !r.Selector.Smoothed && fromStats(r.Func)
		}
		return true
	})
	return root
}

func fromStats(name string) bool {
	switch name {
	case "absent_over_time", "avg_over_time", "count_over_time", "delta", "first_over_time",
		"increase", "last_over_time", "max_over_time", "min_over_time", "present_over_time",
		"rate", "sum_over_time", "ts_of_first_over_time", "ts_of_last_over_time":
		return true
	}
	return false
}
