package server

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/kubelet"
)

// An entry is one key with what is known of its probe.
type entry struct {
	key    string
	target *kubelet.Target
	hook   bool  // of a bad entry
	bad    error // why it is disabled

	preStop bool      // its hook is awaited when the pod ends
	calls   int       // open calls; guarded by the server's mu
	lastEnd time.Time // when the last call ended; guarded by the server's mu

	open     atomic.Int32 // calls
	verdicts [3]atomic.Uint64
	buckets  [len(bounds)]atomic.Uint64
	nanos    atomic.Uint64

	mu    sync.Mutex
	known bool // guarded by mu: there was a verdict
	ok    bool // guarded by mu: and the last was no failure
}

// bounds are the upper bounds of the histogram's buckets, in seconds.
var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5}

// enter admits a call where not too many are open.
func (e *entry) enter() bool {
	if e.open.Add(1) > maxCalls {
		e.open.Add(-1)
		return false
	}
	return true
}

func (e *entry) leave() { e.open.Add(-1) }

// disabled is the answer of an entry that cannot be used.
func (e *entry) disabled() *kubelet.Answer {
	e.verdicts[kubelet.Failure].Add(1)
	return &kubelet.Answer{
		Status: 500,
		Drop:   e.hook,
		Body:   fmt.Appendf(nil, "probe-proxy: this probe is disabled, its entry cannot be used: %v\n", e.bad),
	}
}

// record counts an answer, and logs it where the state of the probe changed.
func (e *entry) record(log *slog.Logger, a *kubelet.Answer, took time.Duration) {
	verdict := a.Verdict(e.target.Hook())
	e.verdicts[verdict].Add(1)
	e.nanos.Add(uint64(took))
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			e.buckets[i].Add(1)
			break
		}
	}
	ok := verdict != kubelet.Failure
	e.mu.Lock()
	changed := !e.known || e.ok != ok
	e.known, e.ok = true, ok
	e.mu.Unlock()
	switch {
	case changed && ok:
		log.Info("probe succeeds", "probe", e.key, "status", a.Status)
	case changed:
		log.Warn("probe fails", "probe", e.key, "status", a.Status, "reason", a.Reason)
	}
}

// metrics writes the text format of Prometheus.
func (s *Server) metrics() []byte {
	keys := make([]string, 0, len(s.entries))
	for key := range s.entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString("# HELP probe_proxy_probes_total Calls answered, by what the kubelet makes of the answer.\n# TYPE probe_proxy_probes_total counter\n")
	for _, key := range keys {
		for v := range s.entries[key].verdicts {
			fmt.Fprintf(&b, "probe_proxy_probes_total{probe=%q,verdict=%q} %d\n", key, kubelet.Verdict(v), s.entries[key].verdicts[v].Load())
		}
	}
	b.WriteString("# HELP probe_proxy_probe_duration_seconds Time from the caller's connection to the app's answer.\n# TYPE probe_proxy_probe_duration_seconds histogram\n")
	for _, key := range keys {
		s.entries[key].histogram(&b)
	}
	b.WriteString("# HELP probe_proxy_open_calls Calls that wait for the app.\n# TYPE probe_proxy_open_calls gauge\n")
	fmt.Fprintf(&b, "probe_proxy_open_calls %d\n", s.openCalls())
	return []byte(b.String())
}

func (e *entry) histogram(b *strings.Builder) {
	if e.bad != nil {
		return
	}
	var count, total uint64
	for v := range e.verdicts {
		total += e.verdicts[v].Load()
	}
	for i, bound := range bounds {
		count += e.buckets[i].Load()
		fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_bucket{probe=%q,le=%q} %d\n", e.key, strconv.FormatFloat(bound, 'g', -1, 64), count)
	}
	fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_bucket{probe=%q,le=\"+Inf\"} %d\n", e.key, total)
	fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_sum{probe=%q} %g\n", e.key, time.Duration(e.nanos.Load()).Seconds())
	fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_count{probe=%q} %d\n", e.key, total)
}
