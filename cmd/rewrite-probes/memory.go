package main

import "runtime/debug"

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. Input, output and 32 MB are promised, which `make bench-function`
// measures: as far as that allows, less CPU time is worth more than less
// memory. While objects are edited, there is no output: the heap may have its
// place.
func tuneMemory(input int) {
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(int64(input) + 38<<20)
}
