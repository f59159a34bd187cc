package sidecar_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestGarbageIsCollectedEveryFewProbes switches the runtime's own collections
// off: they would come too late for the promised memory.
func TestGarbageIsCollectedEveryFewProbes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	addr, _, _ := start(t, ok)
	before := collections()
	const want = 3
	for range 200 {
		get(t, addr+live)
	}
	for end := time.Now().Add(patience); collections() < before+want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d collections in 200 probes, want %d or more", collections()-before, want)
		}
	}
}

func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
