package probe

import (
	"context"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// Run probes until ctx is done, as Istio's agent does: after the initial delay, at once,
// then in every period. It calls report with the first state of the app and with every
// change, on which as many probes in a row as the threshold demands agree: nil if the app
// is healthy, or else the reason why it is not.
func Run(ctx context.Context, p *vmconfig.Probe, probe func(context.Context) error, report func(unhealthy error)) {
	select {
	case <-time.After(time.Duration(p.InitialDelaySeconds) * time.Second):
	case <-ctx.Done():
		return
	}
	var last, healthy, known bool // the last result, and the state, if it is known
	inRow := 0                    // results that are the last one
	ticks := time.Tick(time.Duration(p.PeriodSeconds) * time.Second)
	for {
		err := probe(ctx)
		if ctx.Err() != nil {
			return // the probe was cut off: its result says nothing
		}
		ok, threshold := err == nil, p.FailureThreshold
		if ok {
			threshold = p.SuccessThreshold
		}
		if ok != last {
			last = ok
			inRow = 0
		}
		inRow++
		if inRow >= threshold && (!known || healthy != ok) {
			healthy = ok
			known = true
			report(err)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}
