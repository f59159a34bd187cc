package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A promise bounds a measured value. The zero promise bounds nothing: the
// value is shown for comparison.
type promise struct {
	bound  float64
	atMost bool // the bound is an upper one
}

func atLeast(bound float64) promise { return promise{bound: bound} }

func atMost(bound float64) promise { return promise{bound: bound, atMost: true} }

// A verdict compares a value with its promise.
type verdict int

const (
	noPromise verdict = iota
	kept
	broken
)

func (v verdict) String() string { return [...]string{"", "kept", "BROKEN"}[v] }

func (p promise) verdictOn(value float64) verdict {
	switch {
	case p.bound == 0:
		return noPromise
	case p.atMost && value <= p.bound, !p.atMost && value >= p.bound:
		return kept
	}
	return broken
}

// A row is one line of the result.
type row struct {
	name, input, measure string
	ours, peer, theirs   string
	numbers              [2]float64 // ours and theirs in base units, where there is a peer
	value                float64
	unit                 string // of value and promise
	promise              promise
}

func (r row) promised() string {
	if r.promise.bound == 0 {
		return ""
	}
	sign := ">="
	if r.promise.atMost {
		sign = "<="
	}
	return fmt.Sprintf("%s %.4g%s", sign, r.promise.bound, r.unit)
}

func print(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tINPUT\tMEASURE\tOURS\tPEER\tPEER'S\tRESULT\tPROMISED\tVERDICT")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%.3g%s\t%s\t%s\n", r.name, r.input, r.measure, r.ours, r.peer, r.theirs,
			r.value, r.unit, r.promised(), r.promise.verdictOn(r.value))
	}
	t.Flush()
}
