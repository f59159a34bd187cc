package main

import (
	"fmt"
	"io"
	"time"
)

// A progress shows how far a long walk has come, on a terminal only.
type progress struct {
	out   io.Writer // nil off a terminal
	total int
	next  time.Time
	shown bool
}

// quietFor is how long a run may take before progress is shown.
const quietFor = 500 * time.Millisecond

func newProgress(out io.Writer, total int) *progress {
	p := &progress{total: total, next: time.Now().Add(quietFor)}
	if isTerminal(out) {
		p.out = out
	}
	return p
}

func (p *progress) step(i int) {
	if p.out == nil || time.Now().Before(p.next) {
		return
	}
	fmt.Fprintf(p.out, "\rreading files: %d of %d", i, p.total)
	p.next, p.shown = time.Now().Add(100*time.Millisecond), true
}

func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
