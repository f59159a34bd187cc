package injector

import (
	"fmt"
	"strconv"

	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
)

// A mistake is something that Istio's rewriting does and rewrite-probes must
// not. It is written as a repair: what the outcome would be without it. The
// numbers are those of the list in the proof; 0 is what Istio means to do.
type mistake struct {
	number int
	what   string
	least  int    // how often at least it explains a difference, in 2000 random workloads
	by     string // the only one to answer for which least counts; "" if either
	repair func(c *comparison, at place, original, istio outcome) outcome
}

func (m *mistake) String() string {
	if m.number == 0 {
		return m.no() + ": " + m.what
	}
	return fmt.Sprintf("mistake %d: %s", m.number, m.what)
}

// no returns the number of a mistake as the results page has it.
func (m *mistake) no() string {
	if m.number == 0 {
		return "by design"
	}
	return strconv.Itoa(m.number)
}

// mistakes is the whole list of differences that are explained. The order
// matters only for which of two explains what either would: the first.
var mistakes = []*mistake{
	{
		1, "a port name that the container does not have: the probe is rewritten, no entry is written, and every probe is answered 400", 200, "",
		func(c *comparison, at place, original, istio outcome) outcome {
			port, _, dials := original.target()
			if _, ok := c.resolve(at, port); dials && !ok {
				return original
			}
			return istio
		},
	},
	{
		2, "`host` stays in the rewritten probe, so that the kubelet dials that host's port 15020, and is lost from a tcpSocket", 200, "",
		func(_ *comparison, _ place, original, istio outcome) outcome {
			if _, host, _ := original.target(); host != "" {
				return original
			}
			return istio
		},
	},
	{
		4, "tcpSocket hooks, which always fail in the kubelet, begin to succeed", 150, "",
		func(_ *comparison, at place, original, istio outcome) outcome {
			if original.Hook != nil && original.Hook.TCPSocket != nil {
				return original
			}
			return istio
		},
	},
	{
		9, "a user's own probe of the status port is rewritten, without an entry or with one that points at itself", 10, istio.ProxyName,
		func(c *comparison, at place, original, istio outcome) outcome {
			port, _, dials := original.target()
			if n, _ := c.resolve(at, port); dials && n == c.port {
				return original
			}
			return istio
		},
	},
	{
		11, "a port that the mesh does not capture is rewritten although its probe works", 200, "",
		func(c *comparison, at place, original, istio outcome) outcome {
			port, _, dials := original.target()
			if n, ok := c.resolve(at, port); dials && ok && !c.captured(n) {
				return original
			}
			return istio
		},
	},
	{
		10, "probes of a native sidecar that starts before istio-proxy are rewritten, and the pod hangs in Init", 40, istio.ProxyName,
		func(c *comparison, at place, original, istio outcome) outcome {
			// Init waits neither for a container to be ready nor for the end of another.
			waits := at.probeType != "readyz" && at.probeType != "prestopz"
			if _, _, dials := original.target(); dials && waits && c.byIstio && !c.proxyStartsFirst(at) {
				return original
			}
			return istio
		},
	},
	{
		14, "its agent knows neither gRPC over TLS nor HTTP/2 without TLS; such a probe is rewritten, and what the rewritten one asks for is left in it", 60, "",
		func(c *comparison, at place, original, theirs outcome) outcome {
			if original.Probe != nil && c.byIstio {
				grpc, http := original.Probe.GRPC, original.Probe.HTTPGet
				if grpc != nil && grpc.Mode != nil && *grpc.Mode == corev1.GRPCProbeModeTLS || http != nil && http.Protocol != nil && *http.Protocol == corev1.HTTPProtocolHTTP2 {
					return original
				}
			}
			if theirs.Entry == nil {
				return theirs // not rewritten
			}
			// The sidecar answers with HTTP/1, which the API fills in, whatever the
			// app speaks.
			http1 := corev1.HTTPProtocolHTTP1
			theirs.Probe, theirs.Hook = theirs.Probe.DeepCopy(), theirs.Hook.DeepCopy()
			if theirs.Probe != nil && theirs.Probe.HTTPGet != nil {
				theirs.Probe.HTTPGet.Protocol = &http1
			}
			if theirs.Hook != nil && theirs.Hook.HTTPGet != nil {
				theirs.Hook.HTTPGet.Protocol = &http1
			}
			return theirs
		},
	},
	{
		0, "probe-proxy answers on a port of its own", 700, proxyName,
		func(c *comparison, _ place, _, theirs outcome) outcome {
			if c.byIstio || theirs.Entry == nil {
				return theirs
			}
			theirs.Probe, theirs.Hook = theirs.Probe.DeepCopy(), theirs.Hook.DeepCopy()
			if theirs.Probe != nil && theirs.Probe.HTTPGet != nil {
				theirs.Probe.HTTPGet.Port = intstr.FromInt(c.port)
			}
			if theirs.Hook != nil && theirs.Hook.HTTPGet != nil {
				theirs.Hook.HTTPGet.Port = intstr.FromInt(c.port)
			}
			return theirs
		},
	},
	{
		5, "`$` is not escaped in the env value, and the kubelet expands $(NAME) and $$", 200, "",
		func(c *comparison, at place, _, theirs outcome) outcome {
			meant, err := istio.Probers(c.theirEnv)
			if err == nil && theirs.Entry != nil {
				theirs.Entry = withoutDefault(meant[at.key()])
			}
			return theirs
		},
	},
	{
		6, "headers, secrets among them, are copied into the env value although the kubelet sends them itself", 700, "",
		func(_ *comparison, _ place, _, theirs outcome) outcome {
			if theirs.Entry == nil || theirs.Entry.HTTPGet == nil || len(theirs.Entry.HTTPGet.HTTPHeaders) == 0 {
				return theirs
			}
			theirs.Entry = clone(theirs.Entry)
			theirs.Entry.HTTPGet.HTTPHeaders = nil
			return theirs
		},
	},
}

func clone(p *inject.Prober) *inject.Prober {
	c := *p
	c.HTTPGet = c.HTTPGet.DeepCopy()
	return &c
}
