package worlds

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
)

// A sidecar is one of Istio's configurations of that name. It says where the app listens, and may have Envoy
// itself listen on the pod's IP.
type sidecar struct {
	name, namespace string
	selector        map[string]string
	listeners       []listener
	revised         bool
}

type listener struct {
	port        int
	host        string // of the endpoint, which has the same port; "" if there is none
	captureMode string
	protocol    string
}

const loopback = "127.0.0.1"

// sidecars draws Sidecars, from a source of their own: the other parts of a case stay.
func (g *source) sidecars(k *knowledge, w *generator.Workload) {
	if w.Namespace == "" || !g.one(6) {
		return
	}
	add := func(once int, namespace string, selector map[string]string) {
		if !g.one(once) {
			return
		}
		c := sidecar{name: fmt.Sprintf("c%d", len(k.sidecars)), namespace: namespace, selector: selector}
		for _, port := range []int{8080, 8081, 8090, 7000} {
			if g.one(2) {
				c.listeners = append(c.listeners, listener{port, pick(g, loopback, loopback, "0.0.0.0", ""), pick(g, "", "", "NONE", "IPTABLES"), "HTTP"})
			}
		}
		k.sidecars = append(k.sidecars, c)
	}
	add(3, k.root(), nil)
	add(2, w.Namespace, nil)
	add(2, w.Namespace, map[string]string{"app": w.Name})
	add(4, w.Namespace, map[string]string{"app": "another"})
	add(4, "elsewhere", nil)
}

func (c sidecar) spec() map[string]any {
	var ingress []any
	for _, l := range c.listeners {
		entry := map[string]any{"port": map[string]any{"number": l.port, "protocol": l.protocol, "name": fmt.Sprintf("http-%d", l.port)}}
		if l.host != "" {
			entry["defaultEndpoint"] = fmt.Sprintf("%s:%d", l.host, l.port)
		}
		if l.captureMode != "" {
			entry["captureMode"] = l.captureMode
		}
		ingress = append(ingress, entry)
	}
	spec := map[string]any{"egress": []any{map[string]any{"hosts": []string{"*/*"}}}}
	if ingress != nil {
		spec["ingress"] = ingress
	}
	if c.selector != nil {
		spec["workloadSelector"] = map[string]any{"labels": c.selector}
	}
	return spec
}

// sidecar returns the one that is about the pods: one with a selector wins over that of the namespace, and
// that over the one of the root namespace; of two of a rank the older. One without ingress has nothing to say of where apps listen.
func (k *knowledge) sidecar(w world) sidecar {
	all := slices.DeleteFunc(slices.Clone(k.sidecars), func(c sidecar) bool { return c.revised && !w.canary })
	if w.swapped {
		slices.Reverse(all)
	}
	for _, rank := range []struct {
		words string
		isOf  func(sidecar) bool
	}{
		{"a Sidecar with a selector", func(c sidecar) bool {
			return c.namespace == k.owner.Namespace && c.selector != nil && k.selects(c.selector, w)
		}},
		{"a Sidecar of the namespace", func(c sidecar) bool { return c.namespace == k.owner.Namespace && c.selector == nil }},
		{"a Sidecar of the root namespace", func(c sidecar) bool { return c.namespace == k.root() && c.selector == nil }},
	} {
		if i := slices.IndexFunc(all, rank.isOf); i >= 0 {
			k.rule(rank.words)
			return all[i]
		}
	}
	return sidecar{}
}

// mayListenLocally reports whether the app may listen on an address of the loopback interface alone.
func (k *knowledge) mayListenLocally() bool {
	isLocal := func(l listener) bool { return l.host == loopback }
	for _, w := range k.around(new(corev1.Pod), world{}) {
		if slices.ContainsFunc(k.sidecar(w).listeners, isLocal) {
			return true
		}
	}
	return false
}

// local returns where the app listens on a port and nowhere else.
func (k *knowledge) local(w world) func(int) string {
	mine := k.sidecar(w)
	return func(port int) string {
		isLocal := func(l listener) bool { return l.port == port && l.host == loopback }
		if w.local && slices.ContainsFunc(mine.listeners, isLocal) {
			return loopback
		}
		return ""
	}
}

// bound reports whether Envoy itself listens on a port.
func (k *knowledge) bound(w world) func(port int, redirects bool) bool {
	mine := k.sidecar(w)
	return func(port int, redirects bool) bool {
		return slices.ContainsFunc(mine.listeners, func(l listener) bool {
			return l.port == port && (l.captureMode == "NONE" || l.captureMode == "" && !redirects)
		})
	}
}
