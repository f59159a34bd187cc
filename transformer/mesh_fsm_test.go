package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var inFSM = inMesh("fsm")

func TestWhatFlomeshDoesNotCaptureIsLeftAlone(t *testing.T) {
	if r := plan(t, podOf("annotations: {flomesh.io/inbound-port-exclusion-list: \"80\"}", app("livenessProbe: {httpGet: {port: 80}}")), inFSM); r.Probes[0].Reason.String() != "port-not-captured" {
		t.Errorf("%+v", r.Probes)
	}
}

// A pod that Flomesh's injector gets to see is left to it.
func TestTheInjectorOfFlomeshIsLeftItsPods(t *testing.T) {
	before := podOf("annotations: {flomesh.io/sidecar-injection: enabled}", app(httpProbe+"readinessProbe: {grpc: {port: 9000}}"))
	for _, opts := range [][]option{nil, {inFSM}} {
		r := plan(t, before, opts...)
		wantReason(t, r, "fsm-injector")
		wantText(t, r, before)
		if r.Probes[1].StrictTLS != world.Unaffected || r.Probes[0].StrictTLS != world.Fails {
			t.Errorf("%+v", r.Probes)
		}
	}
	wantReason(t, plan(t, podOf("annotations: {flomesh.io/sidecar-injection: \"no\"}", app(httpProbe)), inFSM), "injection-off")
	// Its proxy is known by its image, since its name is common.
	r := plan(t, podOf("", app(httpProbe)+"- name: sidecar\n  image: flomesh/pipy:1.5\n  livenessProbe: {httpGet: {port: 80}}\n- name: other\n  image: o\n"), inFSM)
	if r.Probes[1].Reason.String() != "proxy-container" {
		t.Errorf("%+v", r.Probes)
	}
	r = plan(t, podOf("", app("")+"- name: sidecar\n  image: o\n  livenessProbe: {httpGet: {port: 80}}\n"), inFSM)
	if r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("%+v", r.Probes)
	}
}

// A probe is Flomesh's only by its path and its headers together.
func TestAPathOrAHeaderOfFlomeshsAloneIsTheUsers(t *testing.T) {
	for _, probe := range []string{
		"{path: /fsm-healthcheck, port: 80}", "{path: /fsm-healthcheck, port: 80, httpHeaders: [{name: X, value: y}]}",
		"{path: /x, port: 80, httpHeaders: [{name: Original-Http-Port, value: \"81\"}]}",
	} {
		if r := plan(t, podOf("", app("livenessProbe: {httpGet: "+probe+"}")), inFSM); r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s: %+v", probe, r.Probes[0])
		}
	}
}

func TestEveryValueOfTheSwitchOfOSMAndFlomeshIsRead(t *testing.T) {
	for _, mesh := range []string{"openservicemesh.io", "flomesh.io"} {
		for value, reason := range map[string]string{
			"enabled": "-injector", "yes": "-injector", "True": "-injector", "disabled": "injection-off", "no": "injection-off", "FALSE": "injection-off",
		} {
			r := plan(t, podOf("annotations: {"+mesh+"/sidecar-injection: \""+value+"\"}", app(httpProbe)))
			if !strings.HasSuffix(r.Probes[0].Reason.String(), reason) {
				t.Errorf("%s: %s is left alone for %q", mesh, value, r.Probes[0].Reason.String())
			}
		}
	}
}
