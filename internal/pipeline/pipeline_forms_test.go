package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiserver "go.yaml.in/yaml/v2" // by way of sigs.k8s.io/yaml

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestFormsOfYAMLComeBack has forms that readers of lines get wrong: each object is
// rewritten without a notice, and restored byte for byte.
func TestFormsOfYAMLComeBack(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: a\n    image: i\n    livenessProbe:\n      httpGet:\n        path: /x\n        port: 8080\n"
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(pod) }
	for name, in := range map[string]string{
		"JSON indented by tabs":     "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\n\t\t\"name\": \"p\"\n\t},\n\t\"spec\": {\n\t\t\"hostIPC\": false,\n\t\t\"containers\": [\n\t\t\t{\n\t\t\t\t\"name\": \"a\",\n\t\t\t\t\"livenessProbe\": {\n\t\t\t\t\t\"httpGet\": {\n\t\t\t\t\t\t\"port\": 80\n\t\t\t\t\t}\n\t\t\t\t}\n\t\t\t}\n\t\t]\n\t}\n}\n",
		"tabs behind keys":          with("metadata:\n", "metadata:\t# c\n", "spec:\n", "spec:\t\n", "name: p", "name:\tp\t# d"),
		"spaces before colons":      with("metadata:", "metadata  :", "kind: Pod", "kind : Pod", "containers:", "\"containers\" :"),
		"a number with a point":     with("8080", "8080.0"),
		"a number with an exponent": with("httpGet:", "grpc:", "path: /x\n        port: 8080", "port: 1e3 # c"),
		"no metadata":               with("metadata:\n  name: p\n", ""),
		"values below their keys":   with("path: /x", "path: # c\n          /x # d", "port: 8080", "port:\n        # e\n          8080 # f"),
		"a tag at the marker":       "--- !!map\n" + pod + "--- &doc\n" + pod,
		"tags":                      with("kind: Pod", "kind: !!str Pod", "spec:\n", "spec: !!map # c\n", "8080", "!!int \"8080\""),
		"kind in a block scalar":    with("kind: Pod", "kind: >-\n  Pod", "apiVersion: v1", "apiVersion: |-\n  v1"),
		"kind on two lines":         with("kind: Pod", "kind:\n  Pod"),
		"explicit keys":             with("metadata:\n  name: p", "metadata:\n  ? name\n  : p\n  ? labels\n  : a: b\n    c: d"),
		"an anchor for the spec":    with("spec:\n", "spec: &spec # c\n"),
		"an anchor for a handler":   with("httpGet:\n", "httpGet: &h # c\n"),
		"LF in CRLF":                strings.ReplaceAll(strings.ReplaceAll(with("httpGet:", "grpc:", "path: /x\n        port: 8080", "port: 8080\n        service: s"), "\n", "\r\n"), "service: s\r", "service: s"),
		"CRLF in LF":                with("httpGet:", "grpc:", "path: /x\n        port: 8080", "port: 8080\n        service: s # c\r"),
		"LF below a line of CRLF":   with("v1\n", "v1\r\n", "httpGet:", "grpc:", "path: /x\n        port: 8080", "port: 8080\n        service: s"),
		"items of a list":           "kind: List\nitems  :\n- " + strings.ReplaceAll(strings.TrimSuffix(pod, "\n"), "\n", "\n  ") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, r := run(t, "in", []byte(in), pipeline.Rewrite)
			if want := strings.Count(in, "livenessProbe"); report.Count(r.Messages, transformer.Error) > 0 || r.Changed != want {
				t.Fatalf("%d changed, want %d: %v", r.Changed, want, r.Messages)
			}
			for _, m := range r.Messages {
				if m.Reason.String() == "written-anew" {
					t.Errorf("a notice: %s", m.Text)
				}
			}
			once := written(t, s)
			if s, _ = run(t, "in", once, pipeline.Rewrite); string(written(t, s)) != string(once) {
				t.Errorf("a second run makes of\n%s\n%s", once, written(t, s))
			}
			s, _ = run(t, "in", once, pipeline.Restore)
			if back := string(written(t, s)); back != in {
				t.Errorf("restored it is\n%s\nit was\n%s\nrewritten\n%s", back, in, once)
			}
		})
	}
}

// TestRestore_writtenOut has probes whose aliases and merge keys a run writes out: restore brings them back.
func TestRestore_writtenOut(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: web:1\n"
	for name, probes := range map[string]string{
		"a merge key in braces":         "    readinessProbe: &probe\n      httpGet: {port: 8080}\n    livenessProbe: {<<: *probe, failureThreshold: 6}\n",
		"an anchor in what is merged":   "    readinessProbe: &r {httpGet: {port: &p 8080}}\n    livenessProbe:\n      <<: *r\n",
		"a merge key with comments":     "    readinessProbe: &r # one\n      httpGet:\n        port: 8080 # two\n    livenessProbe: # three\n      # four\n      <<: *r # five\n      periodSeconds: 3 # six\n",
		"two sources of a merge key":    "    readinessProbe: &r {httpGet: &h {port: 8080}, periodSeconds: 3}\n    livenessProbe: {<<: [{timeoutSeconds: 2}, *r]} # c\n",
		"a merge key in a handler":      "    readinessProbe:\n      httpGet: &h {port: 8080, path: /a}\n    livenessProbe:\n      httpGet:\n        <<: *h\n        path: /b\n",
		"a merge key beside a handler":  "    livenessProbe: &r\n      httpGet: {port: 8080, path: /a}\n      periodSeconds: 3\n    readinessProbe: # one\n      <<: *r # two\n      httpGet: {port: 8080, path: /b} # three\n",
		"the same in braces":            "    livenessProbe: &r {httpGet: {port: 8080, path: /a}}\n    readinessProbe: {<<: *r, httpGet: {path: /b, port: 8080}, timeoutSeconds: 2} # c\n",
		"merge keys in the metadata":    "    readinessProbe: {httpGet: {port: 8080}}\n",
		"an alias of a probe":           "    readinessProbe: &r\n      grpc: {port: 8080}\n    livenessProbe: *r # c\n",
		"an alias in a probe in braces": "    readinessProbe: {grpc: {port: &p 8080}}\n    livenessProbe: {httpGet: {port: *p}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			in := head + probes
			if strings.Contains(name, "metadata") {
				in = strings.Replace(in, "metadata: {name: web}\n", "metadata: # one\n  # two\n  name: web\n  <<: {labels: {app: web}} # three\n", 1)
			}
			s, r := run(t, "in", []byte(in), pipeline.Rewrite)
			once := written(t, s)
			if report.Count(r.Messages, transformer.Error) > 0 || r.Changed != 1 {
				t.Fatalf("%d changed: %v", r.Changed, r.Messages)
			}
			if s, _ = run(t, "in", once, pipeline.Rewrite); string(written(t, s)) != string(once) {
				t.Errorf("a second run makes of\n%s\n%s", once, written(t, s))
			}
			if s, _ = run(t, "in", once, pipeline.Restore); string(written(t, s)) != in {
				t.Errorf("restored it is\n%s\nit was\n%s\nrewritten\n%s", written(t, s), in, once)
			}
		})
	}
}

// TestRestore_changedAnchor changes an anchor in the output: the alias would mean another value, and the other texts
// come back.
func TestRestore_changedAnchor(t *testing.T) {
	const in = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata:
      annotations:
        path: &p /healthz
    spec:
      containers:
      - name: web
        ports:
        - {name: http, containerPort: 8080}
        livenessProbe:
          httpGet:
            path: *p
            port: "http"   # the app's own port
        readinessProbe:
          grpc:
            port: 9090
            service: 'ready' # which service
        startupProbe:
          httpGet:
            path: '/start'
            port: "http"
`
	s, _ := run(t, "in", []byte(in), pipeline.Rewrite)
	edited := strings.Replace(string(written(t, s)), "&p /healthz", "&p /other", 1)
	s, _ = run(t, "in", []byte(edited), pipeline.Restore)
	want := strings.NewReplacer("&p /healthz", "&p /other", "path: *p", "path: /healthz").Replace(in)
	if back := string(written(t, s)); back != want {
		t.Errorf("restored it is\n%s\nwant\n%s", back, want)
	}
}

// An alias that is edited, such as that of the annotations, is written out with a notice.
func TestAnEditedAliasIsNoticed(t *testing.T) {
	const in = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n  annotations: &a\n    x: y\nspec:\n  template:\n    metadata:\n      annotations: *a\n    spec:\n      containers:\n      - name: a\n        livenessProbe:\n          httpGet:\n            port: http\n        ports: [{name: http, containerPort: 80}]\n"
	s, r := run(t, "in", []byte(in), pipeline.Rewrite)
	found := 0
	for _, m := range r.Messages {
		if m.Reason.String() == "written-anew" && m.Text.What == "Line 10: the alias *a was written out, because its value is edited" {
			found++
		}
	}
	if text := string(written(t, s)); found != 1 || !strings.Contains(text, "      annotations:\n        x: y\n") {
		t.Errorf("%d notices: %v\n%s", found, r.Messages, text)
	}
}

// TestEveryCharacterComesBack has each kind of character in what is written anew.
func TestEveryCharacterComesBack(t *testing.T) {
	for r := range rune(0x10000) {
		if r > 0xff && r != 0x2028 && r != 0x2029 && r != 0xd7ff && r != 0xfeff && r < 0xfffd {
			continue
		}
		for _, form := range []string{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","livenessProbe":{"httpGet":{"path":"/%s","port":80}}}]}}` + "\n",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    livenessProbe: {httpGet: {path: \"/%s\", port: 80}}\n",
			"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: a\n    livenessProbe:\n      httpGet:\n        path: \"/%s\"\n        port: 80\n",
		} {
			in := fmt.Sprintf(form, fmt.Sprintf(`\u%04x`, r))
			s, rep := run(t, "in", []byte(in), pipeline.Rewrite)
			if rep.Changed != 1 {
				t.Fatalf("%U: %v\n%s", r, rep.Messages, in)
			}
			s, _ = run(t, "in", written(t, s), pipeline.Restore)
			if back := string(written(t, s)); back != in {
				t.Errorf("%U: restored it is\n%s\nit was\n%s", r, back, in)
			}
		}
	}
}

// Line breaks of all kinds, at drawn places of a manifest, are read as the API server's parser reads them, and come back.
func TestEveryLineBreakComesBack(t *testing.T) {
	const form = `apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations:
    a: "note"
spec:
  containers:
  - name: a
    livenessProbe:
      httpGet:
        path: "/live"
        port: 8080
        httpHeaders:
        - {name: X, value: 'head'}
      periodSeconds: 5
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 5}
    startupProbe:
      httpGet:
        # comment
        path: |-
          /start
          up
        port: 8080
      initialDelaySeconds: 2 # last
    lifecycle:
      preStop: {httpGet: {path: /stop, port: 8080}}
`
	kinds := []string{"\u2028", "\u2029", "\u0085", "\r", "\u2028 ", "\u2028\u2029", "\u2028        ", "\u2028          "}
	places := regexp.MustCompile(`\n|[a-z]{2}["']|(/live|/start|/ready|/stop)`).FindAllStringIndex(form, -1)
	lost := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2028))
		in := form
		for range 1 + r.IntN(3) {
			at := places[r.IntN(len(places))]
			if in[:at[1]] != form[:at[1]] {
				continue // behind another one
			}
			end := kinds[r.IntN(len(kinds))]
			if form[at[0]] != '\n' {
				end = form[at[0]:at[0]+2] + end + strings.Repeat(" ", r.IntN(11)) + form[at[0]+2:at[1]]
			}
			in = form[:at[0]] + end + in[at[1]:]
		}
		var want any
		if apiserver.Unmarshal([]byte(in), &want) != nil {
			continue
		}
		s, rep := run(t, "in", []byte(in), pipeline.Rewrite)
		if rep.Changed != 1 {
			if !rep.Failed() {
				continue
			}
			t.Fatalf("%q: %v", in, rep.Messages)
		}
		out := written(t, s)
		s, _ = run(t, "in", out, pipeline.Restore)
		back := string(written(t, s))
		var got any
		if err := apiserver.Unmarshal([]byte(back), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\nis restored as\n%q\n%v\nby\n%q", in, back, err, out)
		}
		if back != in {
			if lost++; lost < 5 {
				t.Logf("%s", cmp.Diff(strings.SplitAfter(in, "\n"), strings.SplitAfter(back, "\n")))
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d texts are other bytes", lost)
	}
}
