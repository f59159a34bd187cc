package transformer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// sortedLines returns the lines of a manifest without order, so that two that
// differ by the place of a key are equal.
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A generator makes pod templates, most of which can be rewritten.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) port() string {
	return g.pick("80", "8080", "web", "grpc", `"80"`, "0", "70000", "15020", "15099", "9000")
}

func (g generator) http() string {
	var fields []string
	if g.IntN(4) > 0 {
		fields = append(fields, "path: "+g.pick("/", "/healthz", "'/a?b=$(c)&d=<e>'", "/app-health/x/livez2", "''", "healthz", "/app-health/c0/livez", "null"))
	}
	if g.IntN(6) == 0 {
		fields = append(fields, "protocol: "+g.pick("HTTP1", "HTTP2"))
	}
	fields = append(fields, "port: "+g.port())
	if g.IntN(3) == 0 {
		fields = append(fields, "scheme: "+g.pick("HTTP", "HTTPS"))
	}
	if g.IntN(4) == 0 {
		fields = append(fields, "httpHeaders: [{name: X-A, value: secret}]")
	}
	if g.IntN(8) == 0 {
		fields = append(fields, "host: example.com")
	}
	return "{httpGet: {" + strings.Join(fields, ", ") + "}"
}

func (g generator) probe() string {
	var p string
	switch g.IntN(5) {
	case 0:
		p = "{tcpSocket: {port: " + g.port() + "}"
	case 1:
		p = "{grpc: {port: " + g.pick("80", "9000") + g.pick("", ", service: a.B", ", service: ''", ", service: null, mode: TLS", ", mode: Plaintext, service: x") + "}"
	case 2:
		p = "{exec: {command: [x]}"
	default:
		p = g.http()
	}
	return p + g.pick("", ", timeoutSeconds: 5", ", periodSeconds: 3") + "}"
}

func (g generator) container(name string, init bool) string {
	lines := []string{"- name: " + name, "  image: " + name}
	if init {
		if g.IntN(2) == 0 {
			lines = append(lines, "  restartPolicy: Always")
		}
	}
	if g.IntN(2) == 0 {
		lines = append(lines, "  ports: [{name: web, containerPort: 8080}]")
	}
	for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if g.IntN(2) == 0 {
			lines = append(lines, "  "+key+": "+g.probe())
		}
	}
	if g.IntN(4) == 0 {
		lines = append(lines, "  lifecycle: {"+g.pick("preStop", "postStart")+": "+g.http()+"}}")
	}
	if g.IntN(3) > 0 {
		lines = append(lines, "  "+strings.TrimSpace(g.pick(dropAll, fullContext)))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (g generator) template() string {
	var metadata, spec string
	if g.IntN(3) == 0 {
		metadata += "labels:\n  " + g.pick("a: b", `sidecar.istio.io/inject: "true"`, `sidecar.istio.io/inject: "false"`) + "\n"
	}
	if g.IntN(3) == 0 {
		metadata += "annotations:\n  " + g.pick("a: b",
			`traffic.sidecar.istio.io/excludeInboundPorts: "80"`, `traffic.sidecar.istio.io/includeInboundPorts: "80,8080"`,
			`status.sidecar.istio.io/port: "15031"`, `sidecar.istio.io/rewriteAppHTTPProbers: "true"`, `traffic.sidecar.istio.io/excludeInboundPorts: ""`,
			`traffic.sidecar.istio.io/excludeInboundPorts: "15099, 80"`, `traffic.sidecar.istio.io/excludeInboundPorts: "15098"`, `openservicemesh.io/sidecar-injection: disabled`, `openservicemesh.io/inbound-port-exclusion-list: "80"`, `rewrite-probes.io/skip-containers: c0`, `sidecar.istio.io/rewriteAppHTTPProbers: "false"`) + "\n"
	} else if g.IntN(3) == 0 {
		metadata += g.pick("annotations: {}\n", "annotations: null\n")
	}
	if n := g.IntN(3); n > 0 && g.IntN(2) == 0 {
		spec += "initContainers:\n"
		for i := range n {
			spec += g.container(fmt.Sprintf("i%d", i), true)
		}
	} else if g.IntN(2) == 0 {
		spec += g.pick("initContainers: []\n", "initContainers: null\n")
	}
	spec = g.pick("", podContext) + spec + "containers:\n"
	for i := range 1 + g.IntN(3) {
		spec += g.container(fmt.Sprintf("c%d", i), false)
	}
	if g.IntN(6) == 0 {
		spec += "- name: istio-proxy\n  image: auto\n" + g.pick("", "  env: [{name: A, value: b}]\n", "  env: []\n", "  resources: {}\n")
	}
	return podOf(metadata, spec)
}

// TestAnyTemplateSurvivesAnyConfiguration: whatever the template and the
// configurations it goes through, a second run changes nothing, and restore
// brings the template back.
func TestAnyTemplateSurvivesAnyConfiguration(t *testing.T) {
	names := slices.Sorted(maps.Keys(configurations))
	for seed := range uint64(600) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		before := g.template()
		text := before
		for range 2 {
			name := g.pick(names...)
			r := plan(t, text, configurations[name]...)
			again := plan(t, r.text, configurations[name]...)
			if len(again.Edits) != 0 {
				t.Fatalf("seed %d: %s: a second run edits %v of\n%s", seed, name, again.Edits, r.text)
			}
			for i, v := range again.Probes {
				if was := r.Probes[i].State; was == transformer.WouldRewrite && v.State != transformer.Rewritten {
					t.Fatalf("seed %d: %s: %+v was to be rewritten in\n%s", seed, name, v, r.text)
				}
			}
			text = r.text
		}
		back := restore(t, text)
		if again := restore(t, back.text); len(again.Edits) != 0 {
			t.Fatalf("seed %d: restoring twice edits %v", seed, again.Edits)
		}
		if want := plainFlow(before); plainFlow(back.text) != want {
			t.Fatalf("seed %d: restored of\n%s\n-want +got\n%s", seed, text, cmp.Diff(before, back.text))
		}
	}
}

var (
	rewrittenPath = regexp.MustCompile(`path: ['"]?(/(?:app-health|app-lifecycle)[^,}'"]*)['"]?`)
	rewrittenPort = regexp.MustCompile(`(path: /(?:app-health|app-lifecycle)[^,}]*, (?:protocol: [^,]*, )?port: )[0-9]+`)
	probeLine     = regexp.MustCompile(`^ *(- )?(readinessProbe|livenessProbe|startupProbe|lifecycle): `)
	withMistakes  = func(g generator, path string, n int) string {
		for range n {
			i := g.IntN(len(path))
			path = path[:i] + g.pick("x", "/", "z?", "") + path[i+g.IntN(2):]
		}
		return path
	}
)

// edited returns a template with one of its rewritten probes edited by hand, and the
// line of the probe; "" if it has none. new is set if the edit leaves nothing of the
// rewritten probe.
func (g generator) edited(text string) (out, line string, isNew bool) {
	lines := strings.Split(text, "\n")
	var at []int
	for i, l := range lines {
		if probeLine.MatchString(l) && rewrittenPath.MatchString(l) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return text, "", false
	}
	i := at[g.IntN(len(at))]
	was := lines[i]
	mistype := func(n int) {
		lines[i] = rewrittenPath.ReplaceAllStringFunc(lines[i], func(path string) string {
			return `path: "` + withMistakes(g, strings.Trim(path[len("path: "):], `'"`), n) + `"`
		})
	}
	switch g.IntN(6) {
	case 0:
		lines[i] = withHandler(lines[i], "exec: {command: [y]}")
		isNew = true
	case 1:
		lines[i] = withHandler(lines[i], "httpGet: {path: /new, port: 8099}")
		isNew = true
	case 2:
		lines[i] = rewrittenPort.ReplaceAllString(lines[i], "${1}"+g.pick("8080", "15096", "web"))
	case 3:
		lines[i] = rewrittenPort.ReplaceAllString(lines[i], "${1}15096")
		mistype(1)
	default:
		mistype(1 + g.IntN(3))
	}
	return strings.Join(lines, "\n"), was, isNew
}

// withHandler returns the line of a probe with another handler than its httpGet.
func withHandler(line, handler string) string {
	begin := strings.Index(line, "httpGet: {")
	end, depth := begin, 0
	for ; end < len(line); end++ {
		switch line[end] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 && line[end] == '}' {
			break
		}
	}
	return line[:begin] + handler + line[end+1:]
}

// TestNoHandEditLosesAnOriginal: whatever becomes of one rewritten probe, a run or a
// restore refuses the template, or the originals of all probes can be restored
// afterwards. Only of a probe that somebody has replaced may the new handler be.
func TestNoHandEditLosesAnOriginal(t *testing.T) {
	refused, done := 0, 0
	inMeshes := map[string][]option{"osm": {inOSM}, "fsm": {inMesh("fsm")}, "linkerd": {inMesh("linkerd")}}
	maps.Copy(inMeshes, configurations)
	names := slices.Sorted(maps.Keys(inMeshes))
	for seed := range uint64(800) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 2))}
		before := strings.ReplaceAll(g.template(), "/app-health/", "/health/")
		text, line, isNew := g.edited(plan(t, before, inMeshes[g.pick(names...)]...).text)
		if line == "" {
			continue
		}
		do := plan
		if g.IntN(2) == 0 {
			do = restore
		}
		r := do(t, text, inMeshes[g.pick(names...)]...)
		if slices.ContainsFunc(r.Findings, func(f transformer.Finding) bool { return f.Severity == transformer.Error }) {
			if strings.Contains(strings.Join(r.reasons(), " "), "original") {
				refused++
			}
			continue // a plan with an error has no edits
		}
		done++
		back := restore(t, r.text).text
		want := probeLines(before)
		for _, l := range probeLines(back) {
			if i := slices.Index(want, l); i >= 0 {
				want = slices.Delete(want, i, i+1)
			}
		}
		if _, isEdited := r.has("probe-edited"); isEdited && len(want) == 1 {
			want = withoutEdited(want, probeLines(back)) // the edited port is the app's
		}
		if len(want) > 1 || len(want) == 1 && !isNew {
			t.Fatalf("seed %d: lost: %q\nedited %s\n%s\nbecame\n%s", seed, want, line, text, r.text)
		}
	}
	t.Logf("%d refused, %d done", refused, done)
	if refused < 100 || done < 50 {
		t.Errorf("%d refused and %d done: the edits are too plain", refused, done)
	}
}

var originalPort = regexp.MustCompile(`port: [^,}]+`)

// withoutEdited returns the only line of want, unless another has it with another port.
func withoutEdited(want, lines []string) []string {
	plain := func(line string) string { return originalPort.ReplaceAllString(line, "port: x") }
	isIt := func(line string) bool { return line != want[0] && plain(line) == plain(want[0]) }
	if slices.ContainsFunc(lines, isIt) {
		return nil
	}
	return want
}

// probeLines returns the lines of a manifest that have a probe or a hook.
func probeLines(text string) []string {
	var lines []string
	for l := range strings.Lines(plainFlow(text)) {
		if probeLine.MatchString(l) {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return lines
}

// plainFlow returns the text without quotes, which an edited value may have.
func plainFlow(text string) string {
	return strings.NewReplacer(`'`, "", `"`, "").Replace(text)
}
