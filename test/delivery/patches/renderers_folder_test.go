package patches

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A drawnTree is a repository with a folder prod, whose kustomization has fields that are applied before the patches
// of an Application or a Kustomization of Flux, and fields that come after.
type drawnTree struct {
	*rand.Rand
	text strings.Builder // of the kustomization
}

func (d *drawnTree) maybe(lines string) {
	if d.IntN(2) == 0 {
		d.text.WriteString(lines)
	}
}

const replacePath = "- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/httpGet/path, value: /of-%s}\n"

// draw writes the repository, and returns what the resource adds to the kustomization.
func (d *drawnTree) draw(t *testing.T, repository string) (patches, components string) {
	deployment := func(name string) []byte {
		return fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {app: %[1]s}}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, sidecar.istio.io/inject: "true"}}
    spec:
      containers:
      - name: app
        image: shop/%[1]s
        ports: [{containerPort: 8080, name: http}]
        readinessProbe: {httpGet: {port: http, path: /ready}}
`, name)
	}
	write(t, filepath.Join(repository, "base", "web.yaml"), deployment("web"))
	write(t, filepath.Join(repository, "base", "kustomization.yaml"), []byte("resources: [web.yaml]\nlabels: [{pairs: {of: base}}]\n"))
	write(t, filepath.Join(repository, "prod", "api.yaml"), deployment("api"))
	write(t, filepath.Join(repository, "prod", "files", "a.txt"), []byte("a"))
	write(t, filepath.Join(repository, "prod", "inner", "job.yaml"), deployment("inner"))
	write(t, filepath.Join(repository, "prod", "inner", "kustomization.yaml"), []byte("resources: [job.yaml, ../../shared]\n"))
	write(t, filepath.Join(repository, "shared", "db.yaml"), deployment("db"))
	write(t, filepath.Join(repository, "shared", "kustomization.yaml"), []byte("resources: [db.yaml]\n"))
	write(t, filepath.Join(repository, "component", "kustomization.yaml"),
		[]byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"+fmt.Sprintf(replacePath, "component")))
	d.text.WriteString("resources: [../base, api.yaml, inner]\n")
	d.maybe("namespace: shop\n")
	d.maybe("namePrefix: prod-\n")
	d.maybe("nameSuffix: -a\n")
	d.maybe("labels: [{pairs: {team: shop}, includeSelectors: true, includeTemplates: true}]\n")
	d.maybe("commonAnnotations: {a: b}\n")
	d.maybe("images: [{name: shop/web, newTag: v2}]\n")
	d.maybe("replicas: [{name: api, count: 3}]\n")
	d.maybe("configMapGenerator: [{name: c, files: [files/a.txt]}]\n")
	d.maybe("components: [../component]\n")
	d.maybe("patches:\n" + fmt.Sprintf(replacePath, "folder"))
	write(t, filepath.Join(repository, "prod", "kustomization.yaml"), []byte(d.text.String()))
	if d.IntN(2) == 0 {
		patches = fmt.Sprintf(replacePath, "resource")
	}
	if d.IntN(2) == 0 && !strings.Contains(d.text.String(), "components") {
		components = "components: [../component]"
	}
	return patches, components
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

func application(patches, components string) string {
	text := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: other}\n  project: default\n" +
		"  source:\n    repoURL: file:///prod\n    path: prod\n    kustomize:\n      version: ''\n"
	if components != "" {
		text += indent(components, "      ")
	}
	if patches != "" {
		text += "      patches:\n" + indent(patches, "      ")
	}
	return text
}

func fluxKustomization(patches, components string) string {
	text := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec:\n  path: ./prod\n"
	if components != "" {
		text += indent(components, "  ")
	}
	if patches != "" {
		text += "  patches:\n" + indent(patches, "  ")
	}
	return text
}

// TestRenderers_folder gives the command the folder alone: what Argo CD and Flux build with the patches is what the
// function writes for what they build without. Afterwards the patches are there, and nothing is new.
func TestRenderers_folder(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(kustomize(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	resources := map[string]func(patches, components string) string{"Argo CD": application, "Flux": fluxKustomization}
	for seed := range uint64(16) {
		d := &drawnTree{Rand: rand.New(rand.NewPCG(seed, 59))}
		repository := t.TempDir()
		write(t, filepath.Join(repository, ".git", "HEAD"), nil)
		patches, components := d.draw(t, repository)
		without := d.IntN(4) == 0 // a folder without a kustomization, of which Flux makes one
		for _, r := range renderers {
			resource := resources[r.name]
			if resource == nil || without && r.name != "Flux" {
				continue
			}
			if without {
				if err := os.Remove(filepath.Join(repository, "prod", "kustomization.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			text := resource(patches, components)
			file := filepath.Join(repository, "resource.yaml")
			write(t, file, []byte(text))
			want := run(t, repository, r.build(t, repository, "prod", []byte(text)), program(t), "--config", "none", "-")
			run(t, repository, nil, program(t), "patches", "--config", "none", "--into", file, "prod")
			patched, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("%s (seed %d, without %t)\n%s%s", r.name, seed, without, &d.text, text), r.build(t, repository, "prod", patched), want)
			run(t, repository, nil, program(t), "patches", "--config", "none", "--into", file, "-l", "--exit-code", "prod")
			if !strings.Contains(string(patched), "probe-proxy") || t.Failed() {
				t.Fatalf("%s (seed %d) is patched as\n%s", r.name, seed, patched)
			}
		}
	}
}

// TestRenderers_chart has the patches for the chart of a repository in its HelmRelease. Helm renders the chart,
// and kustomize applies the post-renderers in their order, as helm-controller does.
func TestRenderers_chart(t *testing.T) {
	bin := filepath.Dir(kustomize(t))
	if _, err := os.Stat(filepath.Join(bin, "helm")); err != nil {
		run(t, root(t), nil, "make", "bin/helm")
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	repository := t.TempDir()
	write(t, filepath.Join(repository, ".git", "HEAD"), nil)
	write(t, filepath.Join(repository, "charts", "web", "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"))
	write(t, filepath.Join(repository, "charts", "web", "values.yaml"), []byte("path: /of-chart\nport: 8080\n"))
	write(t, filepath.Join(repository, "charts", "web", "prod.yaml"), []byte("path: /of-prod\n"))
	write(t, filepath.Join(repository, "charts", "web", "templates", "web.yaml"), []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, sidecar.istio.io/inject: "true"}}
    spec:
      containers:
      - name: app
        image: shop/web
        ports: [{containerPort: {{ .Values.port }}}]
        readinessProbe: {httpGet: {port: {{ .Values.port }}, path: {{ .Values.path }}}}
`))
	release := `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: flux-system}
spec:
  targetNamespace: shop
  chart: {spec: {chart: ./charts/web, valuesFiles: [prod.yaml], sourceRef: {kind: GitRepository, name: shop}}}
  values: {port: 9090}
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: Deployment}
        patch: |-
          - {op: add, path: /spec/template/spec/containers/0/ports/0/name, value: http}
          - {op: replace, path: /spec/template/spec/containers/0/readinessProbe/httpGet/port, value: http}
`
	file := filepath.Join(repository, "release.yaml")
	write(t, file, []byte(release))
	run(t, repository, nil, program(t), "patches", "--config", "none", "--into", file, "charts/web")
	run(t, repository, nil, program(t), "patches", "--config", "none", "--into", file, "-l", "--exit-code", "charts/web")

	text := run(t, repository, nil, filepath.Join(bin, "helm"), "template", "shop-web", "charts/web", "--namespace", "shop", "--values", "charts/web/prod.yaml", "--set", "port=9090")
	var patched struct {
		Spec struct {
			PostRenderers []struct {
				Kustomize map[string]any `json:"kustomize"`
			} `json:"postRenderers"`
		} `json:"spec"`
	}
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, all, &patched)
	var want []byte
	for i, r := range patched.Spec.PostRenderers {
		if i == len(patched.Spec.PostRenderers)-1 {
			want = run(t, repository, text, program(t), "--config", "none", "-")
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "all.yaml"), text)
		r.Kustomize["resources"] = []string{"all.yaml"}
		k, err := yaml.Marshal(r.Kustomize)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "kustomization.yaml"), k)
		text = run(t, dir, nil, kustomize(t), "build", dir)
	}
	if len(patched.Spec.PostRenderers) != 2 || !strings.Contains(string(want), `of-prod`) {
		t.Errorf("%s", want)
	}
	compare(t, "helm-controller", text, want)

	write(t, filepath.Join(repository, "charts", "web", "templates", "bad.yaml"), []byte("{{ fail \"no port\" }}\n"))
	cmd := exec.Command(program(t), "patches", "--config", "none", "--into", file, "charts/web")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "error: charts/web cannot be rendered: helm: ") {
		t.Errorf("%v: %s", err, out)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(all) {
		t.Errorf("a failed run writes %s", after)
	}
}
