package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A history is what happens to a manifest over time: runs with different
// configs, and edits by its owner in between.
type history struct {
	*rand.Rand
	text     string   // as it is
	user     string   // as it would be if it had never been rewritten
	next     int      // the number of the next container
	log      []string // what has happened
	refused  int      // how often restore refused
	restored int
}

func (h *history) pick(of ...string) string { return of[h.IntN(len(of))] }

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// both applies an edit of the owner to both texts.
func (h *history) both(edit func(text string) string) { h.text, h.user = edit(h.text), edit(h.user) }

// setLine removes the lines that match a pattern, and puts another below the one
// above.
func (h *history) setLine(pattern, above, line string) {
	old := regexp.MustCompile(`(?m)^` + pattern)
	h.both(func(text string) string {
		return strings.Replace(old.ReplaceAllString(text, ""), above, above+line, 1)
	})
}

// toggleLine removes a line or, if it is not there, puts it below the one above.
func (h *history) toggleLine(above, line string) {
	h.both(func(text string) string {
		if strings.Contains(text, line) {
			return strings.Replace(text, line, "", 1)
		}
		return strings.Replace(text, above, above+line, 1)
	})
}

const historyHead = `# The owner's comment.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata:
      labels:
        app: web
      annotations:
        a: b # kept
    spec:
`

func (h *history) handler(indent string) string {
	port := h.pick("8080", "http", "9000", `"http"`, "'http'", "0x2328", `!!int "8080"`, "8080.0", "9e3")
	switch h.IntN(5) {
	case 0:
		return indent + "tcpSocket:\n" + indent + "  port: " + port + h.pick("", "\n"+indent+"  # above\n"+indent+"  host: ''   # none") + "\n"
	case 1:
		return indent + "grpc:\n" + indent + "  port: " + h.pick("9000", "9000", "9e3", "9000.0 # a float") + "\n" +
			h.pick("", indent+"  service: a.B\n", indent+"  mode: TLS\n", indent+"  # above\n"+indent+"  service:  \"a.B\" # behind\n"+indent+"  'mode': 'TLS'\n")
	case 2:
		return indent + "httpGet: {port: " + port + h.pick("", ", path: /x", ", scheme: HTTPS", ", path: ~", ", protocol: 'HTTP2', path: ''") + "} # why\n"
	}
	return indent + "httpGet:\n" + h.pick("", indent+"  path: \"/healthz\" # quoted\n", indent+"  path: /a?b=$(C)\n", indent+"  path:\n", indent+"  path: >-\n"+indent+"    /a\n") +
		indent + "  port: " + port + " # named or not\n" +
		h.pick("", indent+"  protocol: HTTP2\n", indent+"  protocol: \"HTTP1\" # behind\n", indent+"  scheme: HTTPS\n", indent+"  httpHeaders: []\n", indent+"  httpHeaders: ~ # none\n",
			indent+"  httpHeaders:\n"+indent+"  - name: A\n"+indent+"    value: secret\n")
}

func (h *history) container(name string) string {
	c := "      - name: " + name + "\n        image: app # of " + name + "\n        ports:\n        - name: http\n          containerPort: 8080\n"
	for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if h.IntN(2) == 0 {
			c += "        " + probe + ":\n" + h.handler("          ") + h.pick("", "          timeoutSeconds: 3\n")
		}
	}
	if h.IntN(4) == 0 {
		c += "        lifecycle:\n          preStop:\n            httpGet:\n              path: /stop\n              port: " + h.pick("http", "8080") + "\n"
	}
	return c
}

func (h *history) name() string {
	h.next++
	// In another mesh a container of this name is the proxy.
	if proxy := h.pick("istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane"); h.IntN(8) == 0 && !strings.Contains(h.text+h.user, "- name: "+proxy+"\n") {
		return proxy
	}
	return h.pick("c", "istio-proxy", "envoy", "c", "c", "c") + fmt.Sprint(h.next)
}

// randomConfig returns a config that a run may have.
func (h *history) randomConfig() *config.RewriteProbes {
	c := config.Default()
	switch h.IntN(5) {
	case 0:
		c.Spec.Mesh, c.Spec.AnsweredBy = "osm", h.pick("auto", "probe-proxy")
	case 1:
		if h.IntN(3) == 0 {
			c.Spec.Mesh = "fsm"
			break
		}
		c.Spec.Mesh = h.pick("linkerd", "kuma", "consul", "auto")
		c.Spec.Port = []int{15020, 15031, 15099}[h.IntN(3)]
	default:
		c.Spec.AnsweredBy = h.pick("auto", "probe-proxy", "istio-proxy")
		c.Spec.Port = []int{15020, 15031, 15099}[h.IntN(3)]
	}
	c.Spec.ProbeProxy.Placement = h.pick("native", "container")
	c.Spec.ProbeProxy.Name = h.pick("probe-proxy", "probe-proxy", "answers")
	return c
}

// do runs the pipeline. If it refuses, the text stays.
func (h *history) do(t testing.TB, text string, c *config.RewriteProbes, mode pipeline.Wants) (out string, refused bool) {
	t.Helper()
	s, r := runWith(t, c, "web.yaml", []byte(text), mode)
	out = string(written(t, s))
	refused = report.Count(r.Messages, transformer.Error) > 0
	if refused && out != text {
		t.Fatalf("refused and changed: %v\n%s", r.Messages, cmp.Diff(text, out))
	}
	return out, refused
}

var rewrittenPort = regexp.MustCompile(`(path: /app-(?:health|lifecycle)/([^/\n]*)/([a-z]*)\n *port: )[0-9]+\n`)

// probeFields are the fields of probes and hooks, by the end of their rewritten paths.
var probeFields = map[string]string{"readyz": "readinessProbe", "livez": "livenessProbe", "startupz": "startupProbe", "prestopz": "preStop"}

// editPort edits the port of a rewritten probe. A name is one of the app, and so the owner's.
func (h *history) editPort(probe, port string) string {
	m := rewrittenPort.FindStringSubmatch(probe)
	if port == "http" {
		container, field := regexp.QuoteMeta(m[2]), probeFields[m[3]]
		own := regexp.MustCompile(`(?m)(^      - name: ` + container + `\n(?:        .*\n)*?  +` + field + `:\n(?:          .*\n)*?(?: *port: ))(.*)`)
		h.user = own.ReplaceAllStringFunc(h.user, func(text string) string {
			old := own.FindStringSubmatch(text)
			if strings.Trim(old[2], "\"'") == port {
				return text // it is that name already
			}
			return old[1] + port
		})
	}
	return m[1] + port + "\n"
}

// run lets a run happen, with any config. A second run changes nothing.
func (h *history) run(t testing.TB) {
	t.Helper()
	c := h.randomConfig()
	text, refused := h.do(t, h.text, c, pipeline.Rewrite)
	h.note("run with %s, %s, %d, %s: refused %t", c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.Port, c.Spec.ProbeProxy.Placement, refused)
	if refused {
		return
	}
	if again, _ := h.do(t, text, c, pipeline.Rewrite); again != text {
		t.Fatalf("a second run changes\n%s", cmp.Diff(text, again))
	}
	h.text = text
}

// live plays n steps of a history. After each of them, restore with any config
// returns the owner's text byte for byte, or refuses.
func (h *history) live(t testing.TB, n int, step func(testing.TB)) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(h.log, "\n"))
		}
	}()
	for range n {
		step(t)
		back, refused := h.do(t, h.text, h.randomConfig(), pipeline.Restore)
		if refused {
			h.refused++
			continue
		}
		h.restored++
		if back != h.user {
			t.Fatalf("restore gives something else of\n%s\n-want +got\n%s", h.text, cmp.Diff(h.user, back))
		}
	}
}

// podStep makes one random change or run.
func (h *history) podStep(t testing.TB) {
	t.Helper()
	switch h.IntN(11) {
	case 10: // the pod joins a mesh or leaves it
		to := h.pick("", "        linkerd.io/inject: enabled\n", "        linkerd.io/inject: disabled\n", "        consul.hashicorp.com/connect-inject: \"true\"\n")
		h.setLine(`        (?:linkerd.io/inject|consul.hashicorp.com/connect-inject): .*\n`, "        a: b # kept\n", to)
		h.note("mesh %q", to)
	case 0: // a container is added
		name := h.name()
		block := h.container(name)
		h.both(func(text string) string { return text + block })
		h.note("container %s is added", name)
	case 1: // a container is removed
		blocks := regexp.MustCompile(`(?m)^      - name: (?:c[0-9]|envoy|istio-proxy|linkerd-proxy|kuma-s|consul-d).*\n(?:        .*\n)*`).FindAllString(h.user, -1)
		if len(blocks) < 2 {
			return
		}
		name, _, _ := strings.Cut(blocks[h.IntN(len(blocks))], "\n")
		block := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `\n(?:        .*\n)*`)
		if strings.Contains(block.FindString(h.text), "APP_PROBERS") {
			return // the originals would go with it
		}
		h.both(func(text string) string { return block.ReplaceAllString(text, "") })
		h.note("removed: %s", name)
	case 2: // opted out or in
		h.toggleLine("  name: web\n", "  annotations: {rewrite-probes.io/rewrite: \"false\"}\n")
		h.note("opted out or in")
	case 3: // the status port is moved
		to := h.pick("", "        status.sidecar.istio.io/port: \"15031\"\n", "        status.sidecar.istio.io/port: \"15032\"\n")
		h.setLine(`        status.sidecar.istio.io/port: .*\n`, "        a: b # kept\n", to)
		h.note("status port %q", to)
	case 4: // injection is requested or not
		to := h.pick("", "        sidecar.istio.io/inject: \"true\"\n", "        sidecar.istio.io/inject: \"false\"\n")
		h.setLine(`        sidecar.istio.io/inject: .*\n`, "        app: web\n", to)
		h.note("injection %q", to)
	case 5: // the port of rewritten probes is edited
		port := h.pick("15020", "http")
		h.text = rewrittenPort.ReplaceAllStringFunc(h.text, func(probe string) string { return h.editPort(probe, port) })
		h.note("probe port %s", port)
	default:
		h.run(t)
	}
}

// liveAsPods plays a history of n steps of a Deployment.
func liveAsPods(t testing.TB, seed uint64, n int) *history {
	t.Helper()
	h := &history{Rand: rand.New(rand.NewPCG(seed, 3))}
	h.note("seed %d", seed)
	// The owner may have annotations that a run writes too.
	notes := h.pick("", "", "        config.linkerd.io/skip-inbound-ports: \"3306, 4000-4010\"\n", "        traffic.kuma.io/exclude-inbound-ports: \"15020\" # ours?\n",
		"        kuma.io/application-probe-proxy-port: \"9005\"\n", "        consul.hashicorp.com/transparent-proxy-overwrite-probes: \"f\"\n        consul.hashicorp.com/transparent-proxy-exclude-inbound-ports: \"\"\n")
	h.text = strings.Replace(historyHead, "        a: b # kept\n", "        a: b # kept\n"+notes, 1) + h.pick("", "      initContainers: []\n", "      restartPolicy: Always\n") + "      containers:\n"
	for range 1 + h.IntN(2) {
		h.text += h.container(h.name())
	}
	h.user = h.text
	h.live(t, n, h.podStep)
	return h
}

func TestTheOriginalsSurviveAnyHistory(t *testing.T) {
	refused, restored := 0, 0
	for seed := range uint64(250) {
		h := liveAsPods(t, seed, 10)
		refused, restored = refused+h.refused, restored+h.restored
	}
	t.Logf("%d times restored, %d refused", restored, refused)
	if restored < 2000 || refused*20 > restored {
		t.Errorf("%d times restored and %d refused", restored, refused)
	}
}

func FuzzHistories(f *testing.F) {
	f.Add(uint64(0), uint8(7))
	// Many short histories find more than few long ones.
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) { liveAsPods(t, seed, int(n)%8) })
}
