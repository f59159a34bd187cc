package server

import (
	"fmt"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

func TestCallersGetOnlyTheBodiesThatAreWanted(t *testing.T) {
	ready := kubelet.Answer{Status: 200, Body: []byte("db=10.0.0.7 ok")}
	moved := kubelet.Answer{Status: 302, Body: []byte("elsewhere")}
	failed := kubelet.Answer{Status: 503, Body: []byte("db=10.0.0.7 down"), Reason: "app answered with status 503"}
	first := kubelet.Answer{Status: 400, Body: []byte("no"), Reason: "app answered with status 400"}
	refused := kubelet.Answer{Status: 502, Body: []byte("probe-proxy: app refused the connection\n"), Reason: "app refused the connection"}
	cut := kubelet.Answer{Status: 200, Body: []byte("db="), Cut: true, Reason: "app's body broke off: EOF"}
	for _, c := range []struct {
		bodies                             Bodies
		ready, moved, failed, refused, cut bool
	}{
		{NoBodies, false, false, false, true, false},
		{FailureBodies, false, false, true, true, false},
		{AllBodies, true, true, true, true, true},
		{"", true, true, true, true, true},
	} {
		for _, a := range []struct {
			answer kubelet.Answer
			want   bool
		}{{ready, c.ready}, {moved, c.moved}, {failed, c.failed}, {first, c.failed}, {refused, c.refused}, {cut, c.cut}} {
			want := ""
			if a.want {
				want = string(a.answer.Body)
			}
			if got := string(c.bodies.shown(&a.answer)); got != want {
				t.Errorf("%q: of status %d the caller gets %q, want %q", c.bodies, a.answer.Status, got, want)
			}
		}
	}
}

func TestBodiesAreNoneFailuresOrAll(t *testing.T) {
	for b, valid := range map[Bodies]bool{NoBodies: true, FailureBodies: true, AllBodies: true, "": false, "some": false} {
		want := "<nil>"
		if !valid {
			want = `"` + string(b) + `" must be one of none, failures, all`
		}
		if got := fmt.Sprint(b.Validate()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
