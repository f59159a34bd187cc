package sidecar

import (
	"errors"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// The kubelet itself ends a call whose time is over, so the probe with the most time answers for all.
func TestTheLongestTimeoutAnswersASharedRoute(t *testing.T) {
	entries := []*entry{
		{target: &kubelet.Target{Timeout: time.Second}},
		{target: &kubelet.Target{Timeout: 5 * time.Second}},
		{bad: errors.New("cannot be probed")},
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		v := &view{osm: make(map[prober.OSMRoute]*entry)}
		for _, i := range order {
			v.add(prober.OSMRoute{}, entries[i])
		}
		if v.osm[prober.OSMRoute{}] != entries[1] {
			t.Errorf("in the order %v another answers", order)
		}
	}
}
