package sidecar

import (
	"fmt"
	"testing"
)

// The other tests name the limits; here they are those of docs/probe-proxy.md and docs/guides/security.md.
func TestTheLimitsAreTheDocumentedOnes(t *testing.T) {
	for _, limit := range []struct {
		what      string
		got, want any
	}{
		{"to send a head, to take an answer", fmt.Sprint(headTime, sendTime), "5s 5s"},
		{"calls between collections", collectEvery, 32},
		{"bytes of a small head, of any, and its lines", fmt.Sprint(smallHead, maxHead, maxLines), "4096 65536 128"},
		{"calls of probes, of hooks, of one at most and at least", fmt.Sprint(maxProbes, maxHooks, maxOfKey, minOfKey), "64 24 32 2"},
		{"connections, large heads, calls that wait, pages, answers", fmt.Sprint(maxHeads, maxLarge, maxWaiting, maxPages, maxUnread), "256 16 256 4 32"},
		{"part of the places for large heads", callPart, 4},
		{"buffers of callers' connections, the rest of a request, and the pause", fmt.Sprint(callerReceives, callerSends, maxRest, restPause), "4096 16384 65536 20ms"},
		{"what closed connections leave, and the least of one", fmt.Sprint(maxLeft, leftCost), "1048576 4096"},
		{"connections accepted at once, served of a line, in lines", fmt.Sprint(acceptAtOnce, ofLine, maxInLines), "256 4 256"},
		{"bytes of apps' heads, of one's at least, and the pause", fmt.Sprint(maxAppBytes, minKeyBytes, appPause), "3145728 524288 1ms"},
		{"what handshakes may take, of one key at least and at most", fmt.Sprint(maxTLSBytes, minKeyTLSBytes, maxKeyTLSBytes), "8388608 1048576 3145728"},
		{"before a caller is watched", watchAfter.String(), "20ms"},
		{"of probes after the signal", fmt.Sprint(probesWithin), "500ms"},
		{"lines of the log", fmt.Sprint(logBurst, logEvery), "50 1s"},
		{"bounds of the histogram", fmt.Sprint(bounds), "[0.001 0.005 0.025 0.1 0.5 1 5]"},
	} {
		if limit.got != limit.want {
			t.Errorf("%s: %v, want %v", limit.what, limit.got, limit.want)
		}
	}
}
