package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A tree has the texts of files by path.
type tree map[string]string

// randomTree returns a workload below a/, what its own branch says, and what another branch says.
func randomTree(rnd *rand.Rand) (own, other tree) {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	namespace := func() string { return pick("shop", "shop", "shop", "", "other", "istio-system") }
	meta := func(namespace string) string {
		if namespace == "" {
			return "metadata: {name: " + pick("a", "b") + "}\n"
		}
		return "metadata: {name: " + pick("a", "b") + ", namespace: " + namespace + "}\n"
	}
	selector := func() string {
		return pick("", "selector: {matchLabels: {app: web}}, ", "selector: {matchLabels: {app: other}}, ", "selector: {matchLabels: {service.istio.io/canonical-name: web}}, ")
	}
	rule := func() string {
		return pick("{}", "{to: [{operation: {paths: [/ready]}}]}", "{to: [{operation: {ports: ['8080']}}]}", "{from: [{source: {principals: ['*']}}]}", "{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}")
	}
	object := func() string {
		switch rnd.IntN(9) {
		case 0, 1:
			labels := pick("istio-injection: enabled", "istio-injection: disabled", "istio.io/rev: x", "a: b", "istio.io/dataplane-mode: ambient")
			return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + pick("shop", "shop", "other", "'${NS}'") + ", labels: {" + labels + "}}\n"
		case 2:
			return "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n" + meta(namespace()) + "spec: {" + selector() + "mtls: {mode: " + pick("STRICT", "PERMISSIVE", "DISABLE") + "}}\n"
		case 3, 4:
			return "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\n" + meta(namespace()) + "spec: {" + selector() + "action: " + pick("ALLOW", "DENY", "CUSTOM") + ", rules: [" + rule() + "]}\n"
		case 5:
			return "apiVersion: v1\nkind: Service\n" + meta(namespace()) + "spec: {selector: {app: web}, ports: [{name: " + pick("http", "tcp", "web", "grpc") + ", port: 80, targetPort: 8080}]}\n"
		case 6:
			return "apiVersion: v1\nkind: LimitRange\n" + meta(namespace()) + "spec: {limits: [{type: Container, " + pick("min: {cpu: 500m}", "default: {cpu: 1}", "max: {memory: 8Mi}") + "}]}\n"
		case 7:
			return "apiVersion: v1\nkind: ResourceQuota\n" + meta(namespace()) + "spec: {hard: {limits.cpu: 1}}\n"
		}
		return "apiVersion: route.openshift.io/v1\nkind: Route\n" + meta(namespace()) + "spec: {to: {kind: Service, name: web}}\n"
	}
	fill := func(folders ...string) tree {
		files := make(tree)
		for i := range rnd.IntN(4) {
			files[fmt.Sprintf("%so%d.yaml", pick(folders...), i)] = object()
		}
		return files
	}
	own, other = fill("", "a/", "a/app/"), fill("b/", "a/other/", "a/app/below/", "a/app2/")
	labels := pick("app: web", "app: web", "app: web, sidecar.istio.io/inject: 'true'", "app: web, istio.io/rev: x")
	probe := pick("httpGet: {path: /ready, port: 8080}", "httpGet: {path: /ready, port: 8080, scheme: HTTPS}", "tcpSocket: {port: 8080}", "grpc: {port: 8080}")
	own["a/app/web.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web" + pick("", ", namespace: shop") + "}\n" +
		"spec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {" + labels + "}}\n    spec:\n      containers:\n" +
		"      - name: web\n        image: w\n        resources: {requests: {cpu: 1, memory: 1G}, limits: {cpu: 1, memory: 1G}}\n        readinessProbe: {" + probe + "}\n"
	return own, other
}

// A look is what a run makes of the workload of a tree.
type look struct {
	text     string              // after rewriting
	messages []string            // of the rewriting
	verdict  transformer.Verdict // on its probe
}

// severity returns that of what check says of the probe.
func (l look) severity() reason.Severity {
	switch v := l.verdict; {
	case v.StrictTLS == world.Unaffected:
		return ""
	case v.If != "":
		return reason.Warning
	}
	return reason.Error
}

func lookAt(t *testing.T, c *config.RewriteProbes, trees ...tree) (l look) {
	t.Helper()
	for _, mode := range []pipeline.Mode{pipeline.Inspect, pipeline.Rewrite} {
		var streams []*manifest.Stream
		var web *manifest.Stream
		for _, files := range trees {
			for _, path := range slices.Sorted(maps.Keys(files)) {
				s, err := manifest.Read(path, []byte(files[path]))
				if err != nil {
					t.Fatalf("%v in\n%s", err, files[path])
				}
				streams = append(streams, s)
				if path == "a/app/web.yaml" {
					web = s
				}
			}
		}
		r := pipeline.Run(streams, c, mode)
		if mode == pipeline.Inspect {
			l.verdict = r.Templates[0].Probes[0]
			continue
		}
		for _, m := range r.Messages {
			if m.Reason != reason.PortExposedElsewhere {
				l.messages = append(l.messages, words(m))
			}
		}
		out, err := web.Text()
		if err != nil {
			t.Fatal(err)
		}
		l.text = string(out)
	}
	return l
}

// What another branch of the folders says may be about another cluster: it changes nothing of
// what is written, and turns at most an error of check into a warning, which names its file.
func TestAnotherBranchOnlyMakesAnErrorAWarning(t *testing.T) {
	changed, seen := 0, make(map[reason.Severity]int)
	for seed := range uint64(800) {
		rnd := rand.New(rand.NewPCG(seed, 43))
		own, other := randomTree(rnd)
		by := []string{"auto", "auto", "probe-proxy", "app"}[rnd.IntN(4)]
		c := config.Default()
		c.Spec.AnsweredBy = by
		alone, both := lookAt(t, c, own), lookAt(t, c, own, other)
		seen[alone.severity()]++
		if both.text != alone.text || !slices.Equal(both.messages, alone.messages) {
			t.Errorf("seed %d: another branch changes what is written:\n%s\n%q\n%s\n%q\nfor\n%v\nbeside\n%v", seed, alone.text, alone.messages, both.text, both.messages, own, other)
		}
		if both.severity() == alone.severity() {
			continue
		}
		changed++
		names := slices.ContainsFunc(slices.Collect(maps.Keys(other)), func(path string) bool { return strings.Contains(both.verdict.If, path) })
		if alone.severity() != reason.Error || both.severity() != reason.Warning || !names {
			t.Errorf("seed %d: %q becomes %q (%+v) for\n%v\nbeside\n%v", seed, alone.severity(), both.severity(), both.verdict, own, other)
		}
	}
	if changed < 5 || seen[""] < 20 || seen[reason.Warning] < 100 || seen[reason.Error] < 100 {
		t.Errorf("%d verdicts changed, of %v", changed, seen)
	}
}
