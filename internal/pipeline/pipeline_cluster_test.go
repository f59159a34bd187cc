package pipeline

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: app, image: a, readinessProbe: {httpGet: {port: 80}}}\n"

// rewritten returns what becomes of manifests, each a stream of its own.
func rewritten(t *testing.T, texts ...string) (out string, reasons map[string]string) {
	t.Helper()
	var streams []*manifest.Stream
	for _, text := range texts {
		s, err := manifest.Read("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	r := Run(streams, config.Default(), Rewrite)
	reasons = make(map[string]string)
	for _, m := range r.Messages {
		reasons[m.Reason.String()] = m.Text.String()
	}
	for _, s := range streams {
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		out += string(text)
	}
	return out, reasons
}

func TestAnObjectOfOpenShiftAmongTheManifestsDecides(t *testing.T) {
	for kind, openShift := range map[string]bool{
		"route.openshift.io/v1 Route": true, "security.openshift.io/v1 SecurityContextConstraints": true, "apps.openshift.io/v1 DeploymentConfig": true,
		"image.openshift.io/v1 ImageStream": true, "build.openshift.io/v1 BuildConfig": true, "project.openshift.io/v1 Project": true, "project.openshift.io/v1 ProjectRequest": true,
		"route.openshift.io/v1 Router": false, "example.com/v1 Route": false, "v1 Service": false,
	} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		out, _ := rewritten(t, deployment, "apiVersion: "+apiVersion+"\nkind: "+kind+"\nmetadata: {name: x}\n")
		if got := !strings.Contains(out, "runAsUser: 65532"); got != openShift {
			t.Errorf("%s %s: OpenShift is %t, want %t", apiVersion, kind, got, openShift)
		}
	}
}

func TestTheLimitsOfTheObjectsNamespaceCount(t *testing.T) {
	limits := func(namespace string) string {
		return "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small, namespace: " + namespace + "}\nspec: {limits: [{type: Container, default: {cpu: 500m, memory: 1Gi}, max: {memory: 2Gi}}, {type: Pod, max: {memory: 1Gi}}]}\n"
	}
	quota := "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: total, namespace: shop}\nspec: {hard: {limits.cpu: 1}}\n"
	out, reasons := rewritten(t, deployment, limits("shop")+"---\n"+quota)
	if want := `LimitRange "small": the most memory of a pod is 1024Mi`; !strings.Contains(reasons["namespace-limits"], want) || !strings.Contains(out, "cpu: 100m") {
		t.Errorf("%q, want %q; a Guaranteed pod by defaults:\n%s", reasons["namespace-limits"], want, out)
	}
	if out, reasons := rewritten(t, deployment, limits("other")); reasons["namespace-limits"] != "" || strings.Contains(out, "cpu: 100m") {
		t.Errorf("%q: another namespace does not count:\n%s", reasons["namespace-limits"], out)
	}
}
