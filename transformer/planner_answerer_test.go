package transformer_test

import (
	"strings"
	"testing"
)

// TestAListThatLosesItsLastItemAndGetsAnotherStays: to remove the list and to add to
// it are edits that exclude each other.
func TestAListThatLosesItsLastItemAndGetsAnotherStays(t *testing.T) {
	t.Run("containers", func(t *testing.T) {
		original := podOf("", app(httpProbe))
		declared := plan(t, original, answeredBy("istio-proxy")).text
		head, containers, _ := strings.Cut(declared, "      containers:\n")
		first, proxy, ok := strings.Cut(containers, "      - name: istio-proxy\n")
		if !ok {
			t.Fatalf("no istio-proxy is declared:\n%s", declared)
		}
		moved := head + "      initContainers:\n      - name: istio-proxy\n" + proxy + "      containers:\n" + first
		r := plan(t, moved, answeredBy("probe-proxy"))
		wantText(t, r, plan(t, original, answeredBy("probe-proxy")).text)
		wantText(t, restore(t, r.text), original)
	})
}
