package sidecar

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

// metrics returns the metrics in the text format of Prometheus.
func (s *Server) metrics() []byte {
	keys := slices.Sorted(maps.Keys(s.entries))
	var b strings.Builder
	b.WriteString("# HELP probe_proxy_probes_total Calls answered, by what the kubelet makes of the answer.\n# TYPE probe_proxy_probes_total counter\n")
	for _, key := range keys {
		for v := range s.entries[key].verdicts {
			fmt.Fprintf(
				&b,
				"probe_proxy_probes_total{probe=%q,verdict=%q} %d\n",
				key,
				kubelet.Verdict(v),
				s.entries[key].verdicts[v].Load(),
			)
		}
	}
	b.WriteString("# HELP probe_proxy_probe_duration_seconds Time from the caller's connection to the app's answer.\n# TYPE probe_proxy_probe_duration_seconds histogram\n")
	for _, key := range keys {
		s.entries[key].histogram(&b)
	}
	b.WriteString("# HELP probe_proxy_open_calls Calls that wait for the app.\n# TYPE probe_proxy_open_calls gauge\n")
	calls, _ := s.openCalls()
	fmt.Fprintf(&b, "probe_proxy_open_calls %d\n", calls)
	return []byte(b.String())
}

func (e *entry) histogram(b *strings.Builder) {
	if e.bad != nil {
		return
	}
	var count uint64
	for i := range e.buckets {
		le := "+Inf"
		if i < len(bounds) {
			le = fmt.Sprint(bounds[i])
		}
		count += e.buckets[i].Load()
		fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_bucket{probe=%q,le=%q} %d\n", e.key, le, count)
	}
	fmt.Fprintf(
		b,
		"probe_proxy_probe_duration_seconds_sum{probe=%q} %g\n",
		e.key,
		time.Duration(e.nanos.Load()).Seconds(),
	)
	fmt.Fprintf(b, "probe_proxy_probe_duration_seconds_count{probe=%q} %d\n", e.key, count)
}
