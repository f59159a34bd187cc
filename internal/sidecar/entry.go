package sidecar

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An entry is one key, its probe, and what its calls have come to.
type entry struct {
	key       string
	probeType prober.ProbeType
	target    *kubelet.Target // nil if the entry is bad
	bad       error           // why it is disabled
	address   string          // of an httpGet at the app

	share share

	verdicts [3]atomic.Uint64
	buckets  [len(bounds) + 1]atomic.Uint64 // the last one is beyond the bounds
	nanos    atomic.Uint64

	state atomic.Int32 // after the last verdict
}

// States of an entry. The zero value is that there has been no verdict. A failure has the status too: an app that
// refuses at its start and is too slow later has two causes, and the log is read for the last.
const (
	succeeds = 1 + iota
	fails    // and the status
)

// bounds are the upper bounds of the histogram's buckets, in seconds.
var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5}

// disabled returns the answer of an entry that cannot be used.
func (e *entry) disabled() *kubelet.Answer {
	e.verdicts[kubelet.Failure].Add(1)
	a := kubelet.Says(500, fmt.Sprintf("this probe is disabled, its entry cannot be used: %v", e.bad))
	a.Drop = e.probeType.IsHook()
	return a
}

// record counts an answer, and logs it if the state of the probe or its status changed: with the beginning of what the app said, if
// callers get its body too.
func (e *entry) record(log *slog.Logger, a *kubelet.Answer, took time.Duration, bodiesFrom int) {
	verdict := a.Verdict(e.target.Hook)
	e.verdicts[verdict].Add(1)
	e.nanos.Add(uint64(took))
	bucket, _ := slices.BinarySearch(bounds[:], took.Seconds())
	e.buckets[bucket].Add(1)
	if verdict == kubelet.Failure {
		if state := fails + int32(a.Status); e.state.Swap(state) != state {
			failure := []any{"probe", e.key, "status", a.Status, "reason", a.Reason}
			if !a.Ours && a.Status >= bodiesFrom && len(a.Body) > 0 {
				failure = append(failure, "app", kubelet.OneLine(string(a.Body)))
			}
			log.Warn("probe fails", failure...)
		}
	} else if e.state.Swap(succeeds) != succeeds {
		log.Info("probe succeeds", "probe", e.key, "status", a.Status)
	}
}
