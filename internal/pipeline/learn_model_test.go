package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// Over random installations of several revisions: what all have alike is one field, what they have different is one of each revision that shows
// it, and the rest is named as open. The root namespace is written only if each revision shows the same.
func TestLearnTellsWhatEachRevisionShows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 101))
	seen := map[string]int{}
	for range 1500 {
		text, names := "", []string{"default", "canary", "old"}[:1+rnd.IntN(3)]
		rewrites, roots, versions := map[string]string{}, map[string]bool{}, map[string]bool{}
		for _, name := range names {
			suffix := "-" + name
			if name == "default" {
				suffix = ""
			}
			rewrites[name] = []string{"true", "false", "'${X}'"}[rnd.IntN(3)]
			root := []string{"", "mesh", "mesh", "other"}[rnd.IntN(4)]
			roots[root] = true
			const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: istio-system, labels: {app.kubernetes.io/version: %q}}\ndata:\n  %s: |\n    %s\n---\n"
			version := []string{"", "1.23.5", "1.24.0", "1.24.6", "1.24.6", "1.25.0", "1.31.0", "1.0-dev"}[rnd.IntN(8)]
			versions[version] = true
			text += fmt.Sprintf(object, "istio-sidecar-injector"+suffix, version, "values", "sidecarInjectorWebhook: {rewriteAppHTTPProbe: "+rewrites[name]+"}")
			mesh := "accessLogFile: /dev/stdout"
			if root != "" {
				mesh = "rootNamespace: " + root
			}
			text += fmt.Sprintf(object, "istio"+suffix, version, "mesh", mesh)
		}
		s, err := manifest.Read("mesh.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		facts, open := Learn([]*manifest.Stream{s}, "istio-system")
		got, want := map[string]string{}, map[string]string{}
		for _, f := range facts {
			got[strings.TrimSpace(f.Path.String()+" "+f.Item+" "+f.Key)] = fmt.Sprint(f.Value)
		}
		if len(roots) == 1 && !roots[""] {
			for root := range roots {
				want["istio.rootNamespace"] = root
			}
		}
		old, isAlike := "", true // the version before 1.25, without its patch
		for v := range versions {
			if strings.HasPrefix(v, "1.23.") || strings.HasPrefix(v, "1.24.") {
				old = v[:4]
			}
		}
		for v := range versions {
			isAlike = isAlike && strings.HasPrefix(v, old)
		}
		if old != "" && isAlike {
			want["istio.version"] = old
		}
		if isOpen := slices.Contains(open, "version: the revisions differ"); isOpen != (old != "" && !isAlike) {
			t.Fatalf("%s\nopen: %q", text, open)
		}
		values, isUnknown := map[string]bool{}, false
		for _, v := range rewrites {
			isUnknown = isUnknown || v == "'${X}'"
			values[v] = true
		}
		switch {
		case len(values) == 1 && !isUnknown:
			want["istio.injectorRewrites"] = rewrites["default"]
		case len(values) > 1:
			want["istio.injectorRewrites"] = "auto"
			for name, v := range rewrites {
				if v != "'${X}'" {
					want["istio.revisions "+name+" injectorRewrites"] = v
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s\n%v, want %v", text, got, want)
		}
		isOpen := strings.Contains(strings.Join(open, "; "), "injectorRewrites")
		if isOpen != isUnknown {
			t.Fatalf("%s\nopen: %q", text, open)
		}
		seen[fmt.Sprint(len(values) > 1, want["istio.rootNamespace"] != "")]++
	}
	for _, is := range []string{"true true", "true false", "false true", "false false"} {
		if seen[is] < 50 {
			t.Errorf("%v", seen)
		}
	}
}
