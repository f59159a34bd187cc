package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// about returns the messages that have a reason.
func about(r *report.Report, key reason.Key) (found []report.Message) {
	for _, m := range r.Messages {
		if m.Reason == key {
			found = append(found, m)
		}
	}
	return found
}

func TestAMessageNamesTwentyReleasesAndCountsTheRest(t *testing.T) {
	for n, more := range map[int]string{1: "", 2: "", 19: "", 20: "", 21: ", 1 more", 45: ", 25 more"} {
		var text, names strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "---\napiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: r%d}\nspec: {chart: c}\n", i)
			if i < 20 {
				fmt.Fprintf(&names, ", HelmChart r%d", i)
			}
		}
		_, r := run(t, "in", []byte(text.String()), pipeline.Gate)
		found := about(r, reason.Release)
		releases := "releases"
		if n == 1 {
			releases = "release"
		}
		if want := fmt.Sprintf("Not checked: %d unrendered %s: %s%s", n, releases, names.String()[2:], more); len(found) != 1 || found[0].Text.What != want {
			t.Errorf("got %v, want %s", found, want)
		}
	}
}

// The repository is the one that the release names, wherever it is in the input.
func TestTheCommandHasTheRepositoryOfTheRelease(t *testing.T) {
	const release = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: %s}}}}\n"
	const repository = "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {url: '%s'}\n"
	const flux = "source.toolkit.fluxcd.io/v1"
	all := fmt.Sprintf(repository, flux, "HelmRepository", "first", "https://example.com/first") + fmt.Sprintf(repository, flux, "GitRepository", "second", "https://example.com/git") +
		fmt.Sprintf(repository, "example.com/v1", "HelmRepository", "second", "https://example.com/other") + fmt.Sprintf(repository, flux, "HelmRepository", "second", "https://example.com/second") +
		fmt.Sprintf(repository, flux, "HelmRepository", "slash", "oci://example.com/charts/") + fmt.Sprintf(repository, flux, "HelmRepository", "oci", "oci://example.com/charts")
	for name, want := range map[string]string{
		"first": "helm template web web --repo https://example.com/first |", "second": "helm template web web --repo https://example.com/second |", "third": "helm template web web --repo URL |",
		"slash": "helm template web oci://example.com/charts/web |", "oci": "helm template web oci://example.com/charts/web |",
	} {
		own := fmt.Sprintf(release, name)
		for _, text := range []string{own + all, all + own} {
			_, r := run(t, "in", []byte(text), pipeline.Gate)
			if found := about(r, reason.Release); len(found) != 1 || !strings.Contains(found[0].Text.Fix, "`"+want) {
				t.Errorf("%s: %v, want %s", name, found, want)
			}
		}
	}
}

const readyPod = "{spec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {port: 80}}}]}}"

// Whichever of the templates has a probe: the checksum is over the whole object.
func TestAnEncryptedObjectOfSeveralTemplatesStays(t *testing.T) {
	const bare = "{spec: {containers: [{name: web}]}}"
	for _, templates := range [][2]string{{readyPod, bare}, {bare, readyPod}, {readyPod, readyPod}, {bare, bare}} {
		in := "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {leaderTemplate: " +
			templates[0] + ", workerTemplate: " + templates[1] + "}}\nsops: {mac: x}\n"
		s, r := run(t, "in", []byte(in), pipeline.Rewrite)
		probes := strings.Count(in, "readinessProbe")
		if out := string(written(t, s)); out != in || len(about(r, reason.Encrypted)) != probes || r.Changed != 0 {
			t.Errorf("%v\n%s", r.Messages, out)
		}
	}
}

func TestAPathIsIdleIfItFindsNothingInAnyObject(t *testing.T) {
	c := configOf(t, "podTemplates: [{group: example.com, kind: App, path: spec.pod}, {group: example.com, kind: None, path: spec.pod}]")
	const with = "---\napiVersion: example.com/v1\nkind: App\nmetadata: {name: with}\nspec: {pod: " + readyPod + "}\n"
	const without = "---\napiVersion: example.com/v1\nkind: App\nmetadata: {name: without}\nspec: {}\n"
	for text, want := range map[string]int{with: 0, without: 1, with + without: 0, without + with: 0, without + without: 1, without + with + without: 0} {
		_, r := runWith(t, c, "in", []byte(text), pipeline.Rewrite)
		if found := about(r, reason.PathFindsNothing); len(found) != want {
			t.Errorf("%v, want %d\n%s", found, want, text)
		}
	}
}

// The one warning about a path names the first object of its kind, wherever that is.
func TestAnIdlePathIsSaidOfTheFirstObject(t *testing.T) {
	c := configOf(t, "podTemplates: [{group: example.com, kind: App, path: spec.pod}, {group: example.com, kind: Job, path: spec.pod}]")
	firsts := map[string]string{}
	for seed := range uint64(20) {
		clear(firsts)
		var text strings.Builder
		for i, n := range rand.New(rand.NewPCG(seed, 2)).Perm(9) {
			kind := []string{"App", "Job", "Other"}[n%3]
			fmt.Fprintf(&text, "---\napiVersion: example.com/v1\nkind: %s\nmetadata: {name: n%d}\nspec: {}\n", kind, n)
			if kind != "Other" && firsts[kind] == "" {
				firsts[kind] = fmt.Sprintf("n%d of line %d is item %d", n, 5*i+2, i)
			}
		}
		_, r := runWith(t, c, "in", []byte(text.String()), pipeline.Rewrite)
		got := map[string]string{}
		for _, m := range about(r, reason.PathFindsNothing) {
			got[m.Object.Kind] += fmt.Sprintf("%s of line %d is item %d", m.Object.Name, m.Line, m.Object.Index)
		}
		if !maps.Equal(got, firsts) {
			t.Errorf("got %v, want %v\n%s", got, firsts, &text)
		}
	}
}

// A Pod belongs to its controller, in its namespace; other owners do not make it.
func TestOnlyAControllerInTheInputOwnsAPod(t *testing.T) {
	const owner = "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: %s}\nspec: {template: " + readyPod + "}\n"
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-0, namespace: shop, ownerReferences: [%s]}\nspec: {containers: [{name: web, readinessProbe: {httpGet: {port: 80}}}]}\n"
	for _, c := range []struct {
		namespace, refs string
		owned           bool
	}{
		{"shop", "{kind: StatefulSet, name: db, controller: true}", true}, {"bank", "{kind: StatefulSet, name: db, controller: true}", false},
		{"shop", "{kind: StatefulSet, name: db, controller: false}", false}, {"shop", "{kind: StatefulSet, name: db}", false},
		{"shop", "{kind: StatefulSet, name: other, controller: true}", false}, {"shop", "{kind: Deployment, name: db, controller: true}", false},
		{"''", "{kind: StatefulSet, name: db, controller: true}", false},
		{"shop", "{kind: Foo, name: db}, {kind: StatefulSet, name: db, controller: true}", true}, {"shop", "", false},
	} {
		text := fmt.Sprintf(owner, c.namespace) + fmt.Sprintf(pod, c.refs)
		for _, mode := range []pipeline.Wants{pipeline.Rewrite, pipeline.Gate} {
			if _, r := run(t, "in", []byte(text), mode); (r.Subjects() == 1) != c.owned {
				t.Errorf("%d pod templates, want the pod owned: %t\n%s", r.Subjects(), c.owned, text)
			}
		}
	}
}

// A port has 16 bits; what is none is called PORT.
func TestAnObsoleteEntryNamesItsPort(t *testing.T) {
	for port, want := range map[string]string{"8080": "8080", "65535": "65535", "65536": "PORT", "http": "PORT", "-1": "PORT", "": "PORT"} {
		_, r := run(t, "in", []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {auth.istio.io/"+port+": NONE}}\nspec: {}\n"), pipeline.Gate)
		if found := about(r, reason.ObsoleteIstio); len(found) != 1 || !strings.Contains(found[0].Text.Fix, "{"+want+": {mode: PERMISSIVE}}") {
			t.Errorf("%q: %v", port, found)
		}
	}
}

// A group takes its probe from one workload: several of a name are none.
func TestAGroupsWorkloadMustBeOne(t *testing.T) {
	const group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: vm, namespace: shop, annotations: {rewrite-probes.io/probe-from: Deployment/web}}\nspec: {template: {}}\n"
	const web = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: " + readyPod + "}\n"
	for n, want := range []string{"and has 0", "", "and has 2", "and has 3"} {
		s, err := manifest.Read("in", []byte(group+strings.Repeat(web, n)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := pipeline.AgentConfig([]*manifest.Stream{s}, config.Default(), "vm")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && c.Probe.HTTPGet == nil {
			t.Errorf("%d workloads: %v, %+v", n, err, c)
		}
	}
}

func TestAnEnvoysWorkloadIsChosenByName(t *testing.T) {
	const web = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: %s}\nspec: {template: {spec: {containers: [{name: %s, livenessProbe: {httpGet: {path: /, port: 80}}}]}}}\n"
	text := fmt.Sprintf(web, "z", "shop", "one") + fmt.Sprintf(web, "a", "shop", "two") + fmt.Sprintf(web, "a", "bank", "three")
	for _, c := range []struct{ name, config, want string }{
		{"", "", "several workloads have such probes: bank/a, shop/a, shop/z. Choose one with --workload"},
		{"a", "", "several workloads have such probes: bank/a, shop/a. Choose one with --workload"},
		{"z", "", "/osm-liveness-probe/one}"}, {"shop/z", "", "/osm-liveness-probe/one}"}, {"shop/a", "", "/osm-liveness-probe/two}"}, {"bank/a", "", "/osm-liveness-probe/three}"},
		{"bank/z", "", `no workload "bank/z" in the input has an httpGet probe`},
		{"shop/z", "rewrite: [tcpSocket]", `no workload "shop/z" in the input has an httpGet probe`},
	} {
		s, err := manifest.Read("in", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := pipeline.EnvoyConfig([]*manifest.Stream{s}, configOf(t, c.config), c.name)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q, %q: %s, want %s", c.name, c.config, got, c.want)
		}
	}
}

// A kind of the functionConfig makes pods too.
func TestAKindOfTheConfigOwnsItsPods(t *testing.T) {
	text := []byte("apiVersion: example.com/v1\nkind: App\nmetadata: {name: db}\nspec: {pod: " + readyPod + "}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: db-0, ownerReferences: [{kind: App, name: db, controller: true}]}\nspec: {containers: [{name: web, readinessProbe: {httpGet: {port: 80}}}]}\n")
	for spec, want := range map[string]int{"": 1, "podTemplates: [{group: example.com, kind: App, path: spec.pod}]": 1, "podTemplates: [{group: example.com, kind: Other, path: spec.pod}]": 1} {
		_, r := runWith(t, configOf(t, spec), "in", text, pipeline.Inspect)
		isApp := r.Subjects() == 1 && r.Templates[0].Object.Kind == "App"
		if r.Subjects() != want || isApp != strings.Contains(spec, "kind: App") {
			t.Errorf("%s: %d pod templates, of the App: %t", spec, r.Subjects(), isApp)
		}
	}
}

// Why an Envoy needs no configuration, and what is wrong, is said of the first object that it is about.
func TestAnErrorAboutEnvoyNamesItsObject(t *testing.T) {
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop}\nspec: {containers: [{name: a, %s}]}\n"
	refused, variable := fmt.Sprintf(pod, "refused", "livenessProbe: {httpGet: {port: nowhere}}, readinessProbe: {httpGet: {port: 80, host: example.com}}"), fmt.Sprintf(pod, "host", "livenessProbe: {httpGet: {port: 80, host: example.com}}")
	unreadable := fmt.Sprintf(pod, "unreadable", "env: [{name: ISTIO_KUBE_APP_PROBERS, value: x}], livenessProbe: {httpGet: {path: /app-health/a/livez, port: 15020}}")
	const llm = "---\napiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: llm}\nspec: {leaderWorkerTemplate: {leaderTemplate: " + readyPod + ", workerTemplate: " + readyPod + "}}\n"
	const app = "---\napiVersion: example.com/v1\nkind: App\nmetadata: {name: app}\nspec: {pod: " + readyPod + "}\n"
	for _, c := range []struct{ name, spec, text, want string }{
		{"two are refused", "", refused + variable, `no workload in the input has an httpGet probe that an Envoy can answer. Pod shop/refused: `},
		{"two are refused, in another order", "", variable + refused, `no workload in the input has an httpGet probe that an Envoy can answer. Pod shop/host: `},
		{"an error", "", variable + unreadable, "Pod shop/unreadable: "},
		{"a wrong type", "", fmt.Sprintf(pod, "wrong", "livenessProbe: []"), "Pod shop/wrong: in:5: "},
		{"two templates of one object", "", llm, "several workloads have such probes: llm. Choose one with --workload"},
		{"a kind of the config", "podTemplates: [{group: example.com, kind: App, path: spec.pod}]", app, "readiness_cluster"},
		{"a kind of another config", "", app, "no workload in the input has an httpGet probe that an Envoy can answer"},
	} {
		s, err := manifest.Read("in", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := pipeline.EnvoyConfig([]*manifest.Stream{s}, configOf(t, c.spec), "")
		if isError := c.want != "readiness_cluster"; (err != nil) != isError {
			t.Errorf("%s: %v", c.name, err)
		} else if isError {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) && c.want != "readiness_cluster" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Check has a report of its own: nothing of a plan, and no template if nobody looks at them.
func TestWhatAReportKeepsOfATemplate(t *testing.T) {
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {sidecar.istio.io/inject: \"true\"}}\nspec: {containers: [{name: a, livenessProbe: {httpGet: {port: nowhere}}, readinessProbe: {httpGet: {port: 80}}}]}\n"
	for mode, want := range map[pipeline.Wants]string{
		pipeline.Rewrite: "0 templates", pipeline.Restore: "0 templates", pipeline.Gate: "0 templates",
		pipeline.Inspect: "1 templates, with edits: true, findings: true, lines [4 4]", pipeline.Judge: "1 templates, with edits: false, findings: false, lines [4 4]",
	} {
		_, r := run(t, "in", []byte(text), mode)
		got := fmt.Sprintf("%d templates", len(r.Templates))
		for _, t := range r.Templates {
			got += fmt.Sprintf(", with edits: %t, findings: %t, lines %v", len(t.Edits) > 0, len(t.Findings) > 0, t.Lines)
		}
		if got != want {
			t.Errorf("mode %+v: %s, want %s", mode, got, want)
		}
	}
	// An encrypted object becomes nothing.
	_, r := run(t, "in", []byte(text+"sops: {mac: x}\n"), pipeline.Inspect)
	for _, p := range r.Templates[0].Probes {
		if p.After != "" {
			t.Errorf("%+v", p)
		}
	}
	if a := r.Templates[0].Answer; a.By != "" || a.AddsContainer != "" || !a.Injected {
		t.Errorf("%+v", a)
	}
}

// In a ResourceList a line is that of no file. The place of any other message is that of its field.
func TestALineIsThatOfAFile(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  hostNetwork: 1\n  containers: []\n"
	_, r := run(t, "in", []byte(pod), pipeline.Rewrite)
	if m := r.Messages[0]; m.Line != 6 || m.Object.Line != 1 || m.Object.File != "in" {
		t.Errorf("%+v of %+v", m, m.Object)
	}
	_, r = run(t, "in", []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- "+strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ")+"\n"), pipeline.Rewrite)
	if m := r.Messages[0]; m.Line != 0 || m.Object.Line != 0 || m.Object.File != "" {
		t.Errorf("%+v of %+v", m, m.Object)
	}
}

// A release that has patches of ours was rendered for them.
func TestAPatchedReleaseCountsAsRendered(t *testing.T) {
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  chart: {spec: {chart: web}}\n"
	set, _ := pipeline.Patches([]*manifest.Stream{}, config.Default(), func(*manifest.Object) bool { return true }, patches.Destination{})
	s, err := manifest.Read("in", []byte(release))
	if err != nil {
		t.Fatal(err)
	}
	o := s.Objects()[0]
	edits, _, err := set.Into(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Apply(edits); err != nil {
		t.Fatal(err)
	}
	patched := string(written(t, s))
	for text, want := range map[string]int{release: 0, patched: 1, patched + "---\n" + patched: 2} {
		_, r := run(t, "in", []byte(text), pipeline.Gate)
		if r.Patched != want || (len(about(r, reason.Release)) == 0) != (want > 0) {
			t.Errorf("%d are patched, want %d: %v", r.Patched, want, r.Messages)
		}
	}
	restored, r := run(t, "in", []byte(patched), pipeline.Restore)
	if got := string(written(t, restored)); got != release || r.Changed != 1 {
		t.Errorf("%d changed, to\n%s", r.Changed, got)
	}
}

// A path of the functionConfig is one of its group; another group may have a kind of that name.
func TestAnIdlePathIsOneOfItsGroup(t *testing.T) {
	c := configOf(t, "podTemplates: [{group: example.com, kind: App, path: spec.pod}]")
	const app = "---\napiVersion: %s/v1\nkind: App\nmetadata: {name: a}\nspec: {%s: " + readyPod + "}\n"
	for text, want := range map[string]int{
		fmt.Sprintf(app, "example.com", "other"): 1, fmt.Sprintf(app, "other.com", "other"): 0, fmt.Sprintf(app, "other.com", "pod"): 0,
		fmt.Sprintf(app, "other.com", "pod") + fmt.Sprintf(app, "example.com", "other"): 1,
	} {
		_, r := runWith(t, c, "in", []byte(text), pipeline.Inspect)
		found := about(r, reason.PathFindsNothing)
		if len(found) != want || want > 0 && found[0].Object.APIVersion != "example.com/v1" {
			t.Errorf("%v, want %d\n%s", found, want, text)
		}
	}
}

// The line of a comment in a ResourceList is that of no file.
func TestATemplateInAListHasNoLine(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  #@ x\n  containers: []\n"
	for text, want := range map[string]int{
		pod: 5,
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n": 0,
	} {
		_, r := run(t, "in", []byte(text), pipeline.Inspect)
		if found := about(r, reason.HelmTemplate); len(found) != 1 || found[0].Line != want {
			t.Errorf("%+v, want line %d\n%s", found, want, text)
		}
	}
}

// The metadata that the functionConfig names must be a mapping, as that of a pod.
func TestMetadataOfAWrongTypeIsAnError(t *testing.T) {
	c := configOf(t, "podTemplates: [{group: example.com, kind: App, path: spec.pod, metadata: spec.meta}]")
	const app = "apiVersion: example.com/v1\nkind: App\nmetadata: {name: a}\nspec: {meta: %s, pod: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}}]}}\n"
	for meta, want := range map[string]int{"{}": 0, "null": 0, "{labels: {a: b}}": 0, "[]": 1, "{labels: []}": 1, "{x: {a: 1, a: 2}}": 1} {
		_, r := runWith(t, c, "in", []byte(fmt.Sprintf(app, meta)), pipeline.Inspect)
		if found := about(r, reason.InvalidManifest); len(found) != want || r.Subjects() != 1-want {
			t.Errorf("%s: %v", meta, r.Messages)
		}
	}
}

// Any value of an old entry is ignored.
func TestAnObsoleteEntryIsOneByItsKey(t *testing.T) {
	for _, value := range []string{"NONE", "MUTUAL_TLS", "x"} {
		_, r := run(t, "in", []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {auth.istio.io/80: "+value+"}}\nspec: {}\n"), pipeline.Gate)
		if found := about(r, reason.ObsoleteIstio); len(found) != 1 || found[0].Current != value {
			t.Errorf("%s: %v", value, found)
		}
	}
}
