package inbound

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A Listener is the inbound listener in pods, without its mode of mutual TLS, which must let plain text in.
type Listener struct {
	Around        *surroundings.Surroundings
	RootNamespace string // Istio's
	Pods          *surroundings.Pods
}

// A Reply is one that a call may get.
type Reply struct {
	Why string // completes "fails, since ..."; "" if the call reaches the app
	// If is on what it depends that the call fails, if it does so only sometimes; completes "if ...".
	If  string
	Fix string // how to find that out; several ways are joined by FixSeparator
	// Elsewhere names a policy that is far and lets the call in, if it is about the same cluster; ""
	// if there is none.
	Elsewhere string
}

// Passes is the answer of the app.
var Passes = []Reply{{}}

// FixSeparator joins ways to find something out.
const FixSeparator = "; "

// isAbout is on what it depends whether a policy refuses a call.
const isAbout = "the policy and its rule are about it"

// How to find out what no manifest says.
const (
	inTheCluster = "look in the cluster"
	inTheApp     = "look at the app"
)

// Answers returns all answers that a call may get.
func (l *Listener) Answers(c *Call) []Reply {
	chains := l.Around.Chains(l.RootNamespace, l.Pods, c.Port)
	through := make([][]Reply, len(chains))
	for i := range chains {
		through[i] = l.through(&chains[i], c)
	}
	var all []Reply
	for i := range chains {
		for _, a := range through[i] {
			isMissing := func(answers []Reply) bool { return !slices.Contains(answers, a) }
			if a.Why != "" && slices.ContainsFunc(through, isMissing) {
				a = a.ifCounts(&chains[i])
			}
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// ifCounts returns the answer of a chain that has it, if that is the one of the port.
func (a Reply) ifCounts(chain *surroundings.Chain) Reply {
	if a.If == "" {
		a.If, a.Fix = counts(chain), inTheCluster
		return a
	}
	a.If = counts(chain) + " and " + a.If
	if a.Fix != inTheCluster {
		a.Fix = inTheCluster + FixSeparator + a.Fix
	}
	return a
}

// counts says that a chain is the one of the port.
func counts(c *surroundings.Chain) string {
	if by := c.By(); by != "" {
		return by + " decides the protocol of its port"
	}
	return "nothing declares the protocol of its port"
}

// through returns the answers of one chain. The first certain failure is the last answer but for what is
// elsewhere.
func (l *Listener) through(chain *surroundings.Chain, c *Call) (all []Reply) {
	q := c.Request
	isHTTP := chain.Protocol == surroundings.HTTP1 || chain.Protocol == surroundings.HTTP2
	if isHTTP && q.TCP {
		return []Reply{{Why: "a " + chain.Kind() + " declares its port as HTTP, which istio-proxy then expects instead of TLS"}}
	}
	q.TCP = q.TCP || chain.Protocol == surroundings.TCP
	if !q.TCP {
		t := l.token(c)
		if t.is != certain.Never {
			q.HasToken = !t.not
			all = append(all, t.answer())
		}
		if t.is == certain.Always {
			return all
		}
	}
	refusal := l.Around.Refuses(l.RootNamespace, l.Pods, &q)
	if refusal.Is != certain.Never {
		a := Reply{Why: c.refusedBy(refusal.By)}
		if refusal.Is == certain.Maybe {
			a.If, a.Fix = isAbout, inTheCluster
		}
		all = append(all, a)
	}
	if refusal.Is == certain.Always && refusal.Unless == "" {
		return all
	}
	if !q.TCP {
		if a := c.upstream(chain); a.Why != "" {
			all = append(all, a)
			if a.If == "" {
				return all
			}
		}
	}
	return append(all, Reply{Elsewhere: refusal.Unless})
}

// refusedBy returns why the call fails that a policy refuses.
func (c *Call) refusedBy(policy string) string {
	if c.words == "" {
		return policy + " refuses the kubelet, which has no identity"
	}
	return policy + " refuses the kubelet's " + c.words + ", which has no identity"
}

// upstream returns the answer if Envoy asks the app in another version of HTTP than the kubelet
// (setUpstreamProtocol in Istio's pilot/pkg/networking/core/cluster_builder.go). An app may speak both.
func (c *Call) upstream(chain *surroundings.Chain) Reply {
	declares := "a " + chain.Kind() + " declares its port as "
	switch {
	case chain.Protocol == surroundings.HTTP1 && c.isGRPC:
		return Reply{Why: declares + "HTTP/1, so that istio-proxy asks the app in HTTP/1.1, which is not gRPC; the port's name must begin with grpc"}
	case chain.Protocol == surroundings.HTTP1 && c.isHTTP2:
		return Reply{Why: declares + "HTTP/1, so that istio-proxy asks the app in HTTP/1.1", If: "the app does not speak HTTP/1.1 there", Fix: inTheApp}
	case chain.Protocol == surroundings.HTTP2 && !c.isHTTP2:
		return Reply{Why: declares + "gRPC or HTTP/2, so that istio-proxy asks the app in HTTP/2", If: "the app does not speak HTTP/2 there", Fix: inTheApp}
	}
	return Reply{}
}
