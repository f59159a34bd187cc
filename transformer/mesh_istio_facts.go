package transformer

import (
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// legacyLocalhost is the variable of proxyMetadata by which Istio's agent asks localhost instead of the pod's IP
// (pilot/cmd/pilot-agent/status/server.go).
const legacyLocalhost = "REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"

const loopback = "127.0.0.1"

// injectionCure words how to declare whether Istio injects, where nothing does.
func (v *view) injectionCure() string {
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		return "see which pods " + set.Words() + " selects"
	}
	ns, known := v.namespace()
	inNamespace := ns.Labels.Get(istioInjection)
	switch _, value := istioInjectSwitch(v); {
	case pod.IsVariable(value), pod.IsPlaceholder(v.in.NamespaceName), pod.IsVariable(inNamespace):
		return "substitute the variables first"
	case v.in.NamespaceName == "":
		return "set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace"
	case known && v.asksByAnnotation():
		return "OpenShift Service Mesh 2 injects by the pod's annotation `" + istioInject + "`; if this is one, set `istio.injectedNamespaces`"
	case known:
		return "set the label `" + istioInjection + "` of its Namespace, or `istio.injectedNamespaces`"
	}
	if v.in.Around.NamespacesDisagree() {
		return "its Namespace is in the input twice, with other labels: keep one"
	}
	return "add its Namespace, or set `istio.injectedNamespaces`"
}

// inbound returns what the Sidecars of Istio's say of a port.
func (v *view) inbound(port int) surroundings.Inbound {
	if v.mesh.name != istioData.name || port == 0 {
		return surroundings.Inbound{Binds: certain.Never}
	}
	mode, _ := istioMode(v.annotations())
	return v.in.Around.Inbound(v.opts.Istio.RootNamespace, v.pods(), port, mode != "NONE")
}

// localAddress returns the first address of the loopback interface where, by a Sidecar, an app listens for a probe
// or hook; "" if all listen on the pod's own. It is what the one probe-proxy of the pod asks. Where the pod's ProxyConfig
// has Istio's agent ask localhost, probe-proxy does the same.
func (v *view) localAddress(sites []*site) string {
	if v.mesh.name == istioData.name && field.As[string](istioConfigOf(v.annotations()).Metadata, legacyLocalhost) == "true" {
		return loopback
	}
	for _, s := range sites {
		if local := v.inbound(s.port).Local; local != "" && s.original.Dials() {
			return local
		}
	}
	return ""
}

// mtls returns the modes of mutual TLS that may hold for a port.
func (v *view) mtls(port int) []surroundings.MTLSMode {
	o := &v.opts.Istio
	return v.in.Around.MTLS(o.RootNamespace, v.pods(), port, o.MTLS)
}

// openFacts returns what is known of the pod, with the user's annotations.
func (d istio) openFacts(v *view, said membership) world.Facts {
	o := &v.opts.Istio
	user := v.userAnnotations
	f := world.Facts{Injected: world.Fact{
		Is:       said.injected,
		At:       said.at,
		Presumed: said.presumed,
	}}
	f.Rewrites = d.rewritesFact(v, user)
	f.InjectionCure = v.injectionCure()
	if said.injected == certain.Maybe && v.opts.AnsweredBy == AnsweredByIstioProxy {
		f.Injected.Say(true, "`answeredBy: istio-proxy`")
	}
	if value := user.Get(istioNative); value != "" {
		f.Native.Declare(value, "the annotation `"+istioNative+"`")
	} else {
		f.Native.Declare(o.NativeSidecars, "`istio.nativeSidecars`")
		sureRevision(v).declareNative(&f)
	}
	if istioConfigOf(user).Holds == certain.Always {
		f.Holds.Say(true, "the annotation `"+istioProxyConfig+"`")
		f.Holds.Presumed = !o.HoldApplication // Helm's global.proxy.lifecycle would replace the hook that makes them wait
	} else if o.HoldApplication {
		f.Holds.Say(true, "`istio.holdApplicationUntilProxyStarts`")
	}
	sureRevision(v).declareHold(&f)
	_, c := v.proxyOf(istioData.isProxy)
	isDeclared := c != nil && c.Image == autoImage
	if isDeclared && c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		f.Holds.Say(false, "the lifecycle of the container `"+istioProxyName+"`") // Istio's own hook would make them wait
	}
	return f
}

// rewritesFact returns whether Istio's injector rewrites the pod's probes: an
// annotation that is a boolean, else what the options say (ShouldRewriteAppHTTPProbers
// in pkg/kube/inject/app_probe.go).
func (istio) rewritesFact(v *view, annotations field.Noted) (f world.Fact) {
	if on, err := strconv.ParseBool(annotations.Get(istioRewrite)); err == nil {
		f.Say(on, "the annotation `"+istioRewrite+"`")
	} else {
		f.Declare(v.opts.Istio.InjectorRewrites, "`istio.injectorRewrites`")
		sureRevision(v).declareRewriting(&f)
	}
	return f
}

// isPastInjection reports whether the pod has Istio's sidecar without an injection to come: it was injected before
// (injectRequired in pkg/kube/inject/inject.go), or a SidecarSet adds the sidecar. So the injector rewrites nothing.
func isPastInjection(v *view, annotations field.Noted) bool {
	if _, done := annotations.Lookup(istioInjected); done {
		return true
	}
	_, adds := v.in.Around.SidecarSet(v.pods())
	return adds == certain.Always
}

// istioConfigOf returns the ProxyConfig of a pod's annotation; an empty one if it cannot be read.
func istioConfigOf(annotations field.Noted) surroundings.ProxyConfig {
	c, _ := surroundings.ReadProxyConfig(annotations.Get(istioProxyConfig))
	return c
}

// istioListens returns the port on which istio-proxy's status server listens: that of
// the annotation, else that of the pod's ProxyConfig, which moves neither the
// injector's rewriting nor the redirection. It is 0 if there is no such server, which
// Istio's agent makes of 0 and of every annotation that is no number.
func istioListens(v *view) int {
	if value, set := v.annotations().Lookup(istioStatusPort); set {
		n, _ := strconv.Atoi(value)
		return n
	}
	if port := istioConfigOf(v.annotations()).StatusPort; port != 0 {
		return port
	}
	return v.sendsTo(v.annotations())
}

// istioStatusIn returns the port that the redirection leaves to istio-proxy: that of
// the annotation, else that of the whole mesh, which the options say if they have
// istio-proxy answer.
func istioStatusIn(v *view, annotations field.Noted) int {
	o := v.opts
	byOptions := o.AnsweredBy == AnsweredByIstioProxy && o.Port != prober.DefaultPort
	if _, set := annotations.Lookup(istioStatusPort); !set && byOptions {
		return o.Port
	}
	return v.statusOr(annotations)
}

// istioMode returns how the pod's connections are redirected, and where that is said;
// "" if only the mesh's configuration says it.
func istioMode(annotations field.Noted) (mode, key string) {
	if v, set := annotations.Lookup(istioInterception); set {
		return v, istioInterception
	}
	return istioConfigOf(annotations).Interception, istioProxyConfig
}
