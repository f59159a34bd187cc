package testutil

import (
	"flag"
	"fmt"
	"os"
)

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

// RunAndCheck runs the tests of a package and returns the exit code of TestMain. If all tests
// pass and none was left out, it calls check, whose error fails the run.
func RunAndCheck(m interface{ Run() int }, check func() error) int {
	return runAnd(m, check, func() bool { return !Partly() })
}

// runAnd runs the tests and then the check, if that is wanted, which the flags say once they are read.
func runAnd(m interface{ Run() int }, check func() error, wanted func() bool) int {
	code := m.Run()
	if code != 0 || !wanted() {
		return code
	}
	if err := check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
