package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// printTable prints the cases, the worst for promqlx first, and geometric means.
// A ratio is how many times more the rival took.
func printTable(title string, rows []row, took time.Duration) {
	worst := func(r row) float64 {
		return min(ratio(r, 1, nanosOf), ratio(r, 2, nanosOf))
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch x, y := worst(a), worst(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	fmt.Printf("\n%s: %d cases in %s. Processor time and bytes of one query, the result's own excluded; x: how many times as much\n", title, len(rows), took.Round(time.Second))
	fmt.Printf("%-76s | %8s %8s | %-26s | %-26s\n", "", "promqlx", "", "upstream on varve", "upstream on its own")
	fmt.Printf("%-76s | %8s %8s | %8s %6s %8s %6s | %8s %6s %8s %6s\n", "case", "time", "bytes", "time", "x", "bytes", "x", "time", "x", "bytes", "x")
	slower, different := 0, 0
	for _, r := range rows {
		name := r.name
		if len(name) > 76 {
			name = name[:40] + "..." + name[len(name)-33:]
		}
		fmt.Printf("%-76s | %8s %8s", name, duration(r.figures[0].nanos), bytesText(r.figures[0].bytes))
		for i := 1; i < len(r.figures); i++ {
			fmt.Printf(" | %8s %6.2f %8s %6.2f", duration(r.figures[i].nanos), ratio(r, i, nanosOf), bytesText(r.figures[i].bytes), ratio(r, i, bytesOf))
		}
		if r.differs != nil {
			different++
			fmt.Printf(" DIFFERS: %s", r.differs.Kind)
		}
		fmt.Println()
		if worst(r) < 1 {
			slower++
		}
	}
	fmt.Printf("%-76s | %8s %8s | %8s %6.2f %8s %6.2f | %8s %6.2f %8s %6.2f\n", "geometric mean", "", "",
		"", mean(rows, 1, nanosOf), "", mean(rows, 1, bytesOf), "", mean(rows, 2, nanosOf), "", mean(rows, 2, bytesOf))
	fmt.Printf("%d cases are slower than a rival; %d answers differ from the oracle's\n", slower, different)
}

func nanosOf(f figure) float64 { return f.nanos }
func bytesOf(f figure) float64 { return f.bytes }

func ratio(r row, rival int, of func(figure) float64) float64 {
	return of(r.figures[rival]) / of(r.figures[0])
}

func mean(rows []row, rival int, of func(figure) float64) float64 {
	sum := 0.0
	for _, r := range rows {
		sum += math.Log(ratio(r, rival, of))
	}
	return math.Exp(sum / float64(len(rows)))
}

func duration(nanos float64) string {
	switch {
	case nanos < 1e3:
		return fmt.Sprintf("%.0fns", nanos)
	case nanos < 1e6:
		return fmt.Sprintf("%.1fus", nanos/1e3)
	case nanos < 1e9:
		return fmt.Sprintf("%.2fms", nanos/1e6)
	}
	return fmt.Sprintf("%.2fs", nanos/1e9)
}

func bytesText(b float64) string {
	switch {
	case b < 1<<20:
		return fmt.Sprintf("%.1fK", b/(1<<10))
	case b < 1<<30:
		return fmt.Sprintf("%.2fM", b/(1<<20))
	}
	return fmt.Sprintf("%.2fG", b/(1<<30))
}
