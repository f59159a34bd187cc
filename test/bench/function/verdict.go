package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A promise bounds a measured value. The zero promise bounds nothing: the
// value is shown for comparison.
type promise struct {
	bound   float64
	stretch float64 // where we would like to be
	atMost  bool    // the bound is an upper one
	held    float64 // where the bound is not met: what is, which the gate holds; 0 if it is met
}

func atLeast(bound, stretch float64) promise { return promise{bound: bound, stretch: stretch} }

func atMost(bound, stretch float64) promise {
	return promise{bound: bound, stretch: stretch, atMost: true}
}

// butHolds returns the promise for a case that does not keep it yet.
func (p promise) butHolds(held float64) promise {
	p.held = held
	return p
}

// A verdict compares a value with its promise, from good to bad.
type verdict int

const (
	noPromise verdict = iota
	stretched         // better than we promise
	kept
	missed // but what is held is held
	broken
)

func (v verdict) String() string {
	return [...]string{"", "kept, stretch reached", "kept", "MISSED, as known", "BROKEN"}[v]
}

func (p promise) verdictOn(value float64) verdict {
	switch {
	case p.bound == 0:
		return noPromise
	case p.stretch != 0 && p.holds(value, p.stretch):
		return stretched
	case p.holds(value, p.bound):
		return kept
	case p.held != 0 && p.holds(value, p.held):
		return missed
	}
	return broken
}

func (p promise) holds(value, bound float64) bool {
	if p.atMost {
		return value <= bound
	}
	return value >= bound
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
	s := fmt.Sprintf("%s %.4g%s", sign, r.promise.bound, r.unit)
	if r.promise.stretch != 0 {
		s += fmt.Sprintf(" (%.4g)", r.promise.stretch)
	}
	if r.promise.held != 0 {
		s += fmt.Sprintf(", held %.4g%s", r.promise.held, r.unit)
	}
	return s
}

func print(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tINPUT\tMEASURE\tOURS\tPEER\tPEER'S\tRESULT\tPROMISED (STRETCH)\tVERDICT")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%.3g%s\t%s\t%s\n", r.name, r.input, r.measure, r.ours, r.peer, r.theirs,
			r.value, r.unit, r.promised(), r.promise.verdictOn(r.value))
	}
	t.Flush()
}
