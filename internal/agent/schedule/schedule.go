// Package schedule runs a probe as Istio's agent does: after the initial
// delay, at once, then in every period. It reports a new state when as many probes
// in a row as the threshold demands agree on it.
//
// It knows nothing of how a probe is made or who is told.
package schedule

import (
	"context"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// A State is what the probes say about the app.
type State struct {
	Healthy bool
	Reason  string // why it is not healthy; "" if it is
}

// Run probes until ctx is done. It calls report with the first state and with
// every change.
func Run(ctx context.Context, p *vmconfig.Probe, probe func(context.Context) error, report func(State)) {
	if !sleep(ctx, time.Duration(p.InitialDelaySeconds)*time.Second) {
		return
	}
	c := counter{success: p.SuccessThreshold, failure: p.FailureThreshold}
	ticker := time.NewTicker(time.Duration(p.PeriodSeconds) * time.Second)
	defer ticker.Stop()
	for {
		err := probe(ctx)
		if ctx.Err() != nil {
			return // the probe was cut off: its result says nothing
		}
		if state, changed := c.add(err); changed {
			report(state)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// A counter counts results in a row.
type counter struct {
	success, failure int // the thresholds

	inRow   int
	last    bool // the last result
	known   bool // there is a state
	healthy bool // the state
}

// add counts one result. It returns the new state if the result changes it.
func (c *counter) add(err error) (state State, changed bool) {
	ok := err == nil
	if ok != c.last {
		c.inRow = 0
	}
	c.last = ok
	threshold := c.failure
	if ok {
		threshold = c.success
	}
	if c.inRow++; c.inRow < threshold || c.known && c.healthy == ok {
		c.inRow = min(c.inRow, threshold)
		return State{}, false
	}
	c.known, c.healthy = true, ok
	state.Healthy = ok
	if !ok {
		state.Reason = err.Error()
	}
	return state, true
}
