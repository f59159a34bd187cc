package testutil

import "flag"

// partial are the flags of `go test` that leave out some of a package's tests.
var partial = []string{"test.run", "test.skip", "test.bench", "test.fuzz", "test.list", "test.short"}

// Partly reports whether only some of a package's tests were requested, so that
// what all of them together must show cannot be demanded.
func Partly() bool {
	for _, name := range partial {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return true
		}
	}
	return false
}
