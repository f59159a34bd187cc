package manifest

import "runtime/debug"

// spent counts bytes of what is not needed any more. Each time that there are
// enough of them, they are returned to the system: as the output grows, what
// it is made from must not stay.
type spent int

func (s *spent) add(n int) {
	const enough = 6 << 20
	if *s += spent(n); *s >= enough {
		*s = 0
		debug.FreeOSMemory()
	}
}
