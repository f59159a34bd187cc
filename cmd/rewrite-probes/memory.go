package main

import "runtime/debug"

// largeInput is the size of input from which memory counts more than time.
const largeInput = 4 << 20

// ballast is memory that is never touched, so that it takes none of the
// machine's, and counts for the garbage collector: a share of it and the rest
// may be garbage.
var ballast []byte

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. At most input, output and 32 MB are promised: as far as that
// allows, less CPU time is worth more than less memory.
func tuneMemory(input int) {
	if input < largeInput {
		debug.SetGCPercent(150)
		return
	}
	if ballast == nil {
		ballast = make([]byte, 32<<20)
	}
	debug.SetGCPercent(8)
}
