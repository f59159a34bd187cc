package main

import "runtime/debug"

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. At most input, output and 32 MB are promised, of which the program
// itself takes a part: as far as that allows, less CPU time is worth more than
// less memory. As long as objects are edited, there is no output, which takes
// about as much as the input.
func tuneMemory(input int) {
	debug.SetGCPercent(150)
	debug.SetMemoryLimit(int64(input) + 30<<20)
}
