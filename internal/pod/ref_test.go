package pod

import "testing"

// Of two containers one starts after the other, and none starts after itself.
func TestContainersStartInOneOrder(t *testing.T) {
	order := []Ref{{true, 0}, {true, 1}, {true, 2}, {false, 0}, {false, 1}, {false, 2}}
	for i, a := range order {
		for j, b := range order {
			if got := a.StartsAfter(b); got != (i > j) {
				t.Errorf("%v starts after %v: %t", a, b, got)
			}
		}
	}
}
