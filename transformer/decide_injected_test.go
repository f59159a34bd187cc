package transformer_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// What Istio's injector rewrote, and somebody edited by hand, comes back byte for byte however often it was rewritten since: we undo
// what we did, and nothing else.
func TestRestore_injectedAndEdited(t *testing.T) {
	native := []string{"httpGet: {path: /mine, port: 8080}", "tcpSocket: {port: http}", "grpc: {port: 9000}", "exec: {command: [a]}"}
	rewritten, kept := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 23))
		one := func(of []string) string { return of[r.IntN(len(of))] }
		var entries, probes, others []string
		for _, of := range [][2]string{{"livenessProbe", "livez"}, {"readinessProbe", "readyz"}, {"startupProbe", "startupz"}} {
			key := "/app-health/app/" + of[1]
			by := r.IntN(5) // injected and as it was, injected and replaced, injected and deleted, new, none
			if by < 3 {
				entries = append(entries, `"`+key+`":`+one([]string{`{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}`, `{"tcpSocket":{"port":8081}}`, `{"grpc":{"port":8003,"service":null}}`}))
			}
			switch by {
			case 0:
				probes = append(probes, "  "+of[0]+": {httpGet: {path: "+key+", port: 15020}}\n")
			case 1, 3:
				probes = append(probes, "  "+of[0]+": {"+one(native)+"}\n")
			}
			others = append(others, of[0]+": {"+one(native)+"}")
		}
		in := podOf("annotations:\n  sidecar.istio.io/status: '{}'\n", `containers:
- name: app
  image: app
  ports: [{name: http, containerPort: 80}]
`+strings.Join(probes, "")+`- name: istio-proxy
  image: istio/proxyv2:1.27
  env:
  - {name: A, value: b}
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{`+strings.Join(entries, ",")+`}'
`)
		if r.IntN(2) == 0 {
			in = strings.TrimSuffix(in, "\n") + "\n      - name: other\n        image: other\n        ports: [{name: http, containerPort: 80}]\n        " + others[r.IntN(3)] + "\n"
		}
		text := in
		ok := true
		for _, by := range [][]string{{"istio-proxy"}, {"probe-proxy"}, {"istio-proxy", "probe-proxy"}, {"probe-proxy", "istio-proxy", "probe-proxy"}}[r.IntN(4)] {
			p := plan(t, text, answeredBy(by))
			ok = ok && transformer.FirstError(p.Findings) == nil
			text = p.text
			wantNoEdits(t, plan(t, text, answeredBy(by)))
		}
		if !ok {
			continue
		}
		back := restore(t, text)
		if text != in {
			rewritten++
		}
		if strings.Contains(in, "/app-health/app/") && strings.Contains(in, "port: 15020}}") && text != in {
			kept++
		}
		if back.text != in && strings.Contains(in, "port: 15020}}") {
			t.Fatalf("seed %d:\n%s\nis rewritten as\n%s\nand restored as\n%s", seed, in, text, back.text)
		}
		if out := plan(t, strings.Replace(text, "      annotations:\n", "      annotations:\n        rewrite-probes.io/rewrite: 'false'\n", 1)); strings.Contains(in, "port: 15020}}") && out.text != strings.Replace(in, "      annotations:\n", "      annotations:\n        rewrite-probes.io/rewrite: 'false'\n", 1) {
			t.Fatalf("seed %d, opted out:\n%s\nis rewritten as\n%s\nand restored as\n%s", seed, in, text, out.text)
		}
	}
	if rewritten < 100 || kept < 50 {
		t.Errorf("only %d were rewritten, %d of them with a probe of the injector", rewritten, kept)
	}
}
