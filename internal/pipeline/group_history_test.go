package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// groupHead returns a WorkloadGroup up to its probe.
func (h *history) groupHead() string {
	annotations := h.pick("", "  annotations: {}\n", "  annotations:\n    a: b # kept\n",
		"  annotations:\n    proxy.istio.io/config: |\n      # agent\n      proxyMetadata:\n        A: b # why\n\n    a: b # kept\n",
		"  annotations:\n    a: b # kept\n    proxy.istio.io/config: |-\n      # agent\n      concurrency: 2\n",
		"  annotations:\n    a: b # kept\n    proxy.istio.io/config: |\n       # agent\n       proxyMetadata: {}\n",
		"  annotations:\n    a: b # kept\n    proxy.istio.io/config: '{\"proxyMetadata\": {\"A\": \"b\"}}'\n",
		"  annotations:\n    a: b # kept\n    proxy.istio.io/config: \"\"\n", "  annotations:\n    a: b # kept\n    proxy.istio.io/config: ''\n",
		"  annotations: ~ # none\n", "  annotations:\n    a: b # kept\n    proxy.istio.io/config: |+\n      concurrency: 2\n\n",
	)
	return "# The owner's comment.\napiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: reviews\n" + annotations +
		"spec:\n  metadata:\n    labels: {app: reviews} # of the entries\n  template:\n    serviceAccount: reviews\n"
}

// groupProbe returns the probe of a WorkloadGroup.
func (h *history) groupProbe() string {
	timing := []string{"    failureThreshold: 3\n", h.pick("", "    periodSeconds: 5 # c\n"), h.pick("", "    timeoutSeconds: 3\n", "    timeoutSeconds: 1 # t\n", "    timeoutSeconds: ~ # t\n")}
	handler := h.pick(
		"    httpGet:\n      path: /healthz # p\n      port: 8443 # q\n      scheme: HTTPS # s\n"+h.pick("", "      httpHeaders:\n      - name: A\n        value: secret # v\n"),
		"    httpGet:\n      scheme: \"HTTPS\"\n      port: 8443\n",
		"    httpGet: {port: 8443, scheme: HTTPS} # flow\n",
		"    grpc:\n      port: 9000\n", "    grpc:\n      port: 9e3 # a float\n", "    httpGet: {port: 8443.0, scheme: HTTPS}\n", "    grpc:\n      port: 9000\n      service:  'a.B' # s\n", "    grpc:\n      service: a.B\n      port: 9000\n", "    grpc: {service: \"\", port: 9000} # flow\n",
		"    httpGet:\n      port: 8080\n", "    tcpSocket:\n      port: 8080\n")
	at := h.IntN(len(timing) + 1)
	return "  probe:\n" + strings.Join(timing[:at], "") + handler + strings.Join(timing[at:], "")
}

var (
	nameLine    = regexp.MustCompile(`(?m)^  name: .*\n`)
	periodLine  = regexp.MustCompile(`(?m)^    periodSeconds: \d+`)
	timeoutLine = regexp.MustCompile(`(?m)^    timeoutSeconds: \d+`)
	statusLine  = regexp.MustCompile(`(?m)^ +statusPort: \d+\n`)
	agentLine   = regexp.MustCompile(`(?m)^( +)# agent\n`)
)

// groupStep makes one random change to a group, or a run.
func (h *history) groupStep(t testing.TB) {
	t.Helper()
	switch h.IntN(9) {
	case 0: // the probe is replaced
		probe := h.groupProbe()
		h.both(func(text string) string {
			before, _, _ := strings.Cut(text, "  probe:\n")
			return before + probe
		})
		h.note("another probe:\n%s", probe)
	case 1:
		period := fmt.Sprintf("    periodSeconds: %d", 1+h.IntN(20))
		h.both(func(text string) string { return periodLine.ReplaceAllString(text, period) })
		h.note("%s", period)
	case 2: // the timeout of the rewritten probe is one second longer
		if user := timeoutLine.FindString(h.user); user != "" {
			longer, n := 0, 2+h.IntN(9)
			if timeoutLine.FindString(h.text) != user {
				longer = 1
			}
			h.user = timeoutLine.ReplaceAllString(h.user, fmt.Sprintf("    timeoutSeconds: %d", n))
			h.text = timeoutLine.ReplaceAllString(h.text, fmt.Sprintf("    timeoutSeconds: %d", n+longer))
			h.note("timeout %d, longer %d", n, longer)
		}
	case 3: // opted out or in
		h.toggleLine("    a: b # kept\n", "    rewrite-probes.io/rewrite: \"false\"\n")
		h.note("opted out or in")
	case 4: // the status server moves
		port := h.pick("", "15031", "15020")
		h.both(func(text string) string {
			text = statusLine.ReplaceAllString(text, "")
			if port == "" {
				return text
			}
			return agentLine.ReplaceAllString(text, "${1}# agent\n${1}statusPort: "+port+"\n")
		})
		h.note("status port %q", port)
	case 5: // renamed, between two runs: without them, a probe that is replaced too leaves an original that nobody can place
		h.run(t)
		name := "  name: " + h.pick("reviews", "ratings", "a.b") + "\n"
		h.both(func(text string) string { return nameLine.ReplaceAllString(text, name) })
		h.note("renamed: %s", name)
		h.run(t)
	default:
		h.run(t)
	}
}

// liveAsGroup plays a history of n steps of a WorkloadGroup.
func liveAsGroup(t testing.TB, seed uint64, n int) *history {
	t.Helper()
	h := &history{Rand: rand.New(rand.NewPCG(seed, 5))}
	h.note("seed %d", seed)
	h.text = h.groupHead() + h.groupProbe()
	h.user = h.text
	h.live(t, n, h.groupStep)
	return h
}

func TestTheOriginalOfAGroupSurvivesAnyHistory(t *testing.T) {
	refused, restored, rewritten := 0, 0, 0
	for seed := range uint64(300) {
		h := liveAsGroup(t, seed, 10)
		refused, restored = refused+h.refused, restored+h.restored
		if strings.Contains(h.text, "/readyz") {
			rewritten++
		}
	}
	t.Logf("%d times restored, %d refused, %d rewritten at the end", restored, refused, rewritten)
	if restored < 2900 || rewritten < 100 {
		t.Errorf("%d times restored, %d refused, %d rewritten at the end", restored, refused, rewritten)
	}
}

func FuzzGroupHistories(f *testing.F) {
	f.Add(uint64(0), uint8(7))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) { liveAsGroup(t, seed, int(n)%8) })
}
