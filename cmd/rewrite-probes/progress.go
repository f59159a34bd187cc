package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a run says nothing of itself.
const patience = 2 * time.Second

// eraseLine takes the cursor to the start of the line, and deletes what is there.
const eraseLine = "\r\x1b[K"

// progress says on a terminal what long work is being done, and erases that when it is done.
// Other streams get nothing.
func (t *tool) progress(doing string) (done func()) {
	if !isTerminal(t.err) {
		return func() {}
	}
	return sayLater(t.err, doing, max(0, patience-time.Since(t.started)))
}

func sayLater(out io.Writer, doing string, after time.Duration) (done func()) {
	var mu sync.Mutex
	var said, over bool
	timer := time.AfterFunc(after, func() {
		mu.Lock()
		defer mu.Unlock()
		if said = !over; said {
			fmt.Fprint(out, "rewrite-probes: "+doing+" ...")
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if over = true; said {
			fmt.Fprint(out, eraseLine)
		}
	}
}
