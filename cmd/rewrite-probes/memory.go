package main

import "runtime/debug"

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. The promise is to need no more than input, output and 48 MB, which `make
// bench-function` measures; within it, less CPU time is worth more than less
// memory. While objects are edited there is no output yet, so the heap may take
// its place.
func tuneMemory(input int) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(int64(input) + 40<<20)
}
