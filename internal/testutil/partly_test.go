package testutil

import (
	"flag"
	"testing"
)

func TestOnlySomeTestsAreRequestedByTheirFlags(t *testing.T) {
	given := make(map[string]string)
	for _, name := range partial {
		given[name] = flag.Lookup(name).Value.String()
	}
	t.Cleanup(func() {
		for name, value := range given {
			set(t, name, value)
		}
	})
	for _, name := range []string{"test.run", "test.skip", "test.bench", "test.fuzz", "test.list", "test.short"} {
		for _, other := range partial {
			set(t, other, flag.Lookup(other).DefValue)
		}
		if Partly() {
			t.Error("without any flag it is all of them")
		}
		set(t, name, "true")
		if !Partly() {
			t.Errorf("with -%s it is not all of them", name)
		}
	}
}

func set(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}
