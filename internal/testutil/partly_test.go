package testutil

import (
	"flag"
	"testing"
)

func TestOnlySomeTestsAreAskedForByTheirNames(t *testing.T) {
	for _, name := range []string{"test.run", "test.skip", "test.bench", "test.fuzz", "test.list", "test.short"} {
		old := map[string]string{}
		for _, other := range []string{"test.run", "test.skip", "test.bench", "test.fuzz", "test.list", "test.short"} {
			old[other] = flag.Lookup(other).Value.String()
			set(t, other, "")
		}
		if Partly() {
			t.Error("without any flag it is all of them")
		}
		set(t, name, "true")
		if !Partly() {
			t.Errorf("with -%s it is not all of them", name)
		}
		for other, value := range old {
			set(t, other, value)
		}
	}
}

// set sets a flag; "" is false for test.short.
func set(t *testing.T, name, value string) {
	t.Helper()
	if name == "test.short" && value == "" {
		value = "false"
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}
