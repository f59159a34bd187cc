package main

import (
	"math"
	"runtime/debug"
)

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. The promise is to need no more than input, output and 48 MB for up to 30,000
// objects, which `make bench-function` measures; within it, less CPU time is worth more than less
// memory. While objects are edited there is no output yet, so the heap may take
// its place.
func tuneMemory(input int) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(int64(input) + 40<<20)
}

// spendMemory takes the limit back. What explain and -d keep of thousands of objects is above it, and a run that cannot keep its limit collects garbage all the time.
func spendMemory() {
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
}
