package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

func TestOnlyTheProbesOfTheContainersOfATemplateAreSeen(t *testing.T) {
	const probe = "{tcpSocket: {port: 1}}"
	customs := []workload.Custom{
		{Group: "x.io", Kind: "Bare", Pattern: pattern(t, "spec.pod")},
		{Group: "x.io", Kind: "Odd", Pattern: pattern(t, "spec.livenessProbe")},
	}
	for _, c := range []struct{ in, want string }{
		{"{apiVersion: v1, kind: Pod, spec: {containers: [{livenessProbe: P, readinessProbe: P, startupProbe: P, lifecycle: {preStop: P, postStart: P}}]}}", ""},
		{"{apiVersion: v1, kind: Pod, spec: {initContainers: [{name: a}, {livenessProbe: P, lifecycle: {preStop: P}}]}}", ""},
		{"{apiVersion: v1, kind: Pod, spec: {ephemeralContainers: [{livenessProbe: P}]}}", "spec.ephemeralContainers[0].livenessProbe"},
		{"{apiVersion: v1, kind: Pod, spec: {containers: [{liveness: P}]}}", "spec.containers[0].liveness"},
		{"{apiVersion: v1, kind: Pod, spec: {containers: [{lifecycle: {stop: P, livenessProbe: P}}]}}", "spec.containers[0].lifecycle.stop"},
		{"{apiVersion: v1, kind: Pod, spec: {containers: [{x: {livenessProbe: P}, lifecycle: {x: {preStop: P}}}]}}", "spec.containers[0].x.livenessProbe spec.containers[0].lifecycle.x.preStop"},
		{"{apiVersion: v1, kind: Pod, spec: {containers: {a: {livenessProbe: P}}}}", "spec.containers.a.livenessProbe"},
		{"{apiVersion: v1, kind: Pod, spec: {livenessProbe: P}}", "spec.livenessProbe"},
		{"{apiVersion: v1, kind: Pod, metadata: {containers: [{livenessProbe: P}]}, spec: {}}", "metadata.containers[0].livenessProbe"},
		{"{apiVersion: v1, kind: Pod, containers: [{livenessProbe: P}]}", "containers[0].livenessProbe"},
		{"{apiVersion: v1, kind: Pod, x: {spec: {containers: [{livenessProbe: P}]}}}", "x.spec.containers[0].livenessProbe"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{livenessProbe: P}]}}, canary: {spec: {containers: [{livenessProbe: P}]}}}}", "spec.canary.spec.containers[0].livenessProbe"},
		{"{apiVersion: x.io/v1, kind: Bare, spec: {pod: {containers: [{livenessProbe: P}]}}}", ""},
		{"{apiVersion: x.io/v1, kind: Bare, spec: {pod: {containers: [{livenessProbe: P}], spec: {}}}}", "spec.pod.containers[0].livenessProbe"},
		{"{apiVersion: x.io/v1, kind: Bare, spec: {pod: {containers: [], spec: [], more: {containers: [{livenessProbe: P}]}}}}", "spec.pod.more.containers[0].livenessProbe"},
		{"{apiVersion: x.io/v1, kind: Odd, spec: {livenessProbe: {spec: {}, tcpSocket: {port: 1}}}}", "spec.livenessProbe"},
	} {
		o := object(t, strings.NewReplacer(": P,", ": "+probe+",", ": P}", ": "+probe+"}").Replace(c.in))
		templates, err := workload.Templates(o, customs)
		if err != nil {
			t.Fatal(err)
		}
		holders := workload.Unseen(o, templates)
		var got []string
		for _, h := range holders {
			for _, p := range h.Probes {
				got = append(got, p.String())
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: unseen are %q, want %q", c.in, got, c.want)
		}
	}
}

// What a holder is named by decides the message about it and the entry of podTemplates that it proposes.
func TestAHolderIsATemplateASpecOrAContainer(t *testing.T) {
	const probe = "{tcpSocket: {port: 1}}"
	for _, c := range []struct{ in, want string }{
		{"{a: {spec: {containers: [{livenessProbe: P}, {livenessProbe: P}]}}}", "path a, spec a.spec, 2 probes, pattern a"},
		{"{spec: {containers: [{livenessProbe: P}], initContainers: [{livenessProbe: P}]}}", "path spec, spec spec, 2 probes, pattern spec"},
		{"{containers: [{lifecycle: {preStop: P}}]}", "path , spec , 1 probes, pattern ."},
		{"{jobs: [{x: 1}, {spec: {initContainers: [{lifecycle: {preStop: P}}]}}]}", "path jobs[1], spec jobs[1].spec, 1 probes, pattern jobs[]"},
		{"{container: {livenessProbe: P, lifecycle: {preStop: P}}}", "path container, spec container, 2 probes, no pattern"},
		{"{ephemeralContainers: [{livenessProbe: P}, {readinessProbe: P}]}", "path ephemeralContainers[0], spec ephemeralContainers[0], 1 probes, no pattern; path ephemeralContainers[1], spec ephemeralContainers[1], 1 probes, no pattern"},
		{"{containers: {a: {livenessProbe: P}}}", "path containers.a, spec containers.a, 1 probes, no pattern"},
		{"{lists: [{livenessProbe: P}]}", "path lists[0], spec lists[0], 1 probes, no pattern"},
		{"{livenessProbe: P}", "path , spec , 1 probes, no pattern"},
		{"{values: {a: {x: P}, b: {x: P}}, more: {x: P}}", "path values, spec , 2 probes, no pattern; path more.x, spec , 1 probes, no pattern"},
		{"{values: {a: {x: P}, b: {livenessProbe: P}}}", "path values.a.x, spec , 1 probes, no pattern; path values.b, spec values.b, 1 probes, no pattern"},
		{"{\"a.b\": {containers: [{livenessProbe: P}]}}", "path [a.b], spec [a.b], 1 probes, no pattern"},
	} {
		holders := workload.Unseen(object(t, strings.NewReplacer(": P,", ": "+probe+",", ": P}", ": "+probe+"}").Replace(c.in)), nil)
		var got []string
		for _, h := range holders {
			pattern := "no pattern"
			if h.Nameable {
				pattern = "pattern " + h.Pattern.String()
				if len(h.Pattern) == 0 {
					pattern = "pattern ."
				}
			}
			got = append(got, fmt.Sprintf("path %s, spec %s, %d probes, %s", h.Path, h.Spec, len(h.Probes), pattern))
		}
		if want := strings.Split(c.want, "; "); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", c.in, got, want)
		}
	}
}

func TestWhichTimingMakesAGrpcHandlerAProbe(t *testing.T) {
	for key, want := range map[string]int{
		"initialDelaySeconds": 1, "periodSeconds": 1, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 1, "terminationGracePeriodSeconds": 0, "seconds": 0,
	} {
		holders := workload.Unseen(object(t, "{x: {grpc: {port: 1}, "+key+": 1}}"), nil)
		if len(holders) != want {
			t.Errorf("%s: %v", key, holders)
		}
	}
}
