package main

import "runtime/debug"

// tuneMemory sets how often garbage is collected for an input of so many
// bytes. At most input, output and 32 MB are promised: as far as that
// allows, less CPU time is worth more than less memory.
func tuneMemory(input int) {
	switch {
	case input < 4<<20:
		debug.SetGCPercent(150)
	case input > 32<<20:
		debug.SetGCPercent(50)
	}
}
