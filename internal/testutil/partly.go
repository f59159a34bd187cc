package testutil

import "flag"

// Partly reports whether only some of a package's tests were requested, so that
// what all of them together must show cannot be demanded.
func Partly() bool {
	for _, name := range []string{"test.run", "test.skip", "test.bench", "test.fuzz", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	short := flag.Lookup("test.short")
	return short != nil && short.Value.String() == "true"
}
