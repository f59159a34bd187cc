package transformer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// istioProxyImage is the annotation with the image of istio-proxy.
const istioProxyImage = "sidecar.istio.io/proxyImage"

// istioHooks is the minor version of Istio 1 whose injector and agent know hooks. An earlier agent ends
// if its env var has the path of one (validateAppKubeProber in pilot/cmd/pilot-agent/status/server.go).
const istioHooks = 25

// IsIstioVersion reports whether a text is a version of Istio, such as 1.24 or 1.24.6.
func IsIstioVersion(text string) bool {
	_, is := surroundings.MinorOf(text)
	return is
}

// HasNoHooks reports whether a version of Istio, which may be "", is one that knows no hooks.
func HasNoHooks(version string) bool {
	minor, known := surroundings.MinorOf(version)
	return known && minor != 0 && minor < istioHooks
}

// agentVersion returns the version of Istio's agent in the pod, by the tag of its image, or else by the options, or by
// what is installed; "" if none has one.
func agentVersion(v *view) string {
	images := []string{v.annotations().Get(istioProxyImage)}
	if v.proxy != nil {
		images = append(images, v.proxy.Image)
	}
	for _, image := range images {
		name, _, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], "@")
		_, tag, _ := strings.Cut(name, ":")
		if IsIstioVersion(tag) {
			return tag
		}
	}
	return istioVersion(v)
}

// istioVersion returns the version of Istio by the options, or else by its installation; "" if neither has one.
func istioVersion(v *view) string {
	if v.installed == nil {
		return v.opts.Istio.Version
	}
	return cmp.Or(v.opts.Istio.Version, v.installed.Version)
}

// injectorTakes reports whether an injector of a version of Istio, if it rewrites the pod's probes, rewrites this one.
func injectorTakes(version string, s *site) bool {
	return s.holder == nil && !(s.name.IsHook() && HasNoHooks(version))
}

// endsAtHooks reports whether Istio's agent, if it has the originals of a holder, ends because of a hook among them.
func endsAtHooks(v *view, h *holder) bool {
	isItsHook := func(s *site) bool { return s.holder == h && s.name.IsHook() }
	return HasNoHooks(agentVersion(v)) && slices.ContainsFunc(v.sites, isItsHook)
}

// askedInVain returns why Istio's agent may not get the app's answer to a probe that the injector has rewritten,
// although it calls the pod's IP.
func askedInVain(v *view, s *site) (all []inbound.Reply) {
	const lookAtIt = "look at the app"
	if in := v.inbound(s.dialed()); in.Local != "" || in.Elsewhere != "" {
		all = append(all, inbound.Reply{
			Why: "Istio's injector sends it to istio-proxy, which asks the pod's IP and not where " + in.By + " says",
			If:  "the app listens only where the Sidecar says", Fix: lookAtIt,
		})
	}
	key, text := s.current.Carried()
	if pod.IsExpanded(text) {
		all = append(all, inbound.Reply{
			Why: "Istio's injector writes its " + key + " into an env var, where Kubernetes replaces `$$` and `$(NAME)`",
			If:  "the app answers something else then", Fix: lookAtIt,
		})
	}
	return all
}

// agentPaths are what Istio's agent answers of its own on its port (Run in pilot/cmd/pilot-agent/status/server.go).
var agentPaths = []string{"/healthz/ready", "/metrics", "/stats/prometheus", "/debug/ndsz"}

// asksAgent reports whether a probe that nobody has rewritten asks Istio's agent for what it answers of its own, such as
// whether the sidecar is ready.
func (s *site) asksAgent() bool {
	h := s.current.HTTPGet
	if s.holder != nil || h == nil || h.Scheme == "HTTPS" {
		return false
	}
	path, _, _ := strings.Cut(h.Path, "?")
	return slices.Contains(agentPaths, path)
}

// agentsFate returns what becomes of a probe that comes to the port of Istio's agent, where the app cannot listen.
func agentsFate(s *site) world.Fate {
	switch {
	case s.asksAgent():
		return world.Spared
	case s.current.TCPSocket != nil, s.name.IsHook(): // the kubelet takes any answer of a hook
		return world.FalselyPassing("istio-proxy's agent listens there, and not the app")
	}
	return world.Failing("istio-proxy's agent listens there, and does not know the probe")
}
