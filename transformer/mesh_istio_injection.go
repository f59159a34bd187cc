package transformer

import (
	"path"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// istioDataplaneMode is the label that puts a pod into ambient mode, or takes it
// out.
const istioDataplaneMode = "istio.io/dataplane-mode"

// istioNeverInjected are the namespaces that Istio's injector ignores
// (pkg/kube/inject/initializer.go).
var istioNeverInjected = []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}

// membership: a pod in ambient mode is in the mesh too.
func (d istio) membership(b *view) membership {
	m := d.sidecarMembership(b)
	m.off = nil // its optOut says so, unless the options want the pod rewritten all the same
	if m.injected == certain.Always {
		return m
	}
	if at, on := d.ambient(b); on {
		return membership{injected: certain.Always, at: at}
	}
	return m
}

// sidecarMembership returns what the manifests or else the options say of the sidecar's
// injection, in Istio's order: what the injector never touches, the Namespace, which
// decides whether the injector sees the pod at all, then the pod's own labels
// (manifests/charts/istio-control/istio-discovery/templates/mutatingwebhook.yaml,
// injectRequired in pkg/kube/inject/inject.go). An annotation can only switch
// injection off, since no selector of the webhooks reads it.
func (d istio) sidecarMembership(b *view) membership {
	_, proxy := b.proxyOf(istioData.isProxy)
	if proxy != nil && proxy.Image != autoImage {
		return memberBy(proxy)
	}
	if m := d.neverInjected(b); m.injected != certain.Maybe {
		return m
	}
	if proxy != nil {
		return memberBy(proxy)
	}
	labels, ns := b.in.Template.Metadata.Labels, b.namespace()
	switch kind, value := istioInjectSwitch(b); {
	case pod.IsVariable(value), pod.IsVariable(ns.Labels.Get(istioInjection)):
		return membership{} // whatever else is said: it may switch injection off
	case ns.Labels.Get(istioInjection) != "":
		return membership{injected: certain.Always, at: b.namespaceLabel(istioInjection)}
	case ns.Labels.Get(istioRevision) != "":
		return membership{injected: certain.Always, at: b.namespaceLabel(istioRevision)}
	case labels.Get(istioRevision) != "":
		return membership{injected: certain.Always, at: entryWords("labels", istioRevision, labels.Get(istioRevision))}
	case kind == "labels" && value == "true":
		return membership{injected: certain.Always, at: entryWords(kind, istioInject, value)}
	}
	switch at := "`istio.injectedNamespaces` of the functionConfig"; b.opts.Istio.injects(b.in.NamespaceName) {
	case certain.Always:
		return membership{injected: certain.Always, at: at}
	case certain.Never:
		return d.notInjected(at, "%s does not name namespace %q", at, b.in.NamespaceName)
	}
	if b.in.Around.Namespace != nil && b.in.Around.OthersInjected {
		at := b.namespaceWords()
		return d.notInjected(at, "%s has no label for Istio's injection, and another Namespace has one", at)
	}
	return d.declaredMembership(b)
}

// declaredMembership returns the membership of a container istio-proxy that an earlier run
// declared: without injection the pod could not start, since nothing else replaces its
// image. It counts only while it stays, so that the next run finds what this one did.
func (d istio) declaredMembership(b *view) membership {
	if b.in.Around.Namespace != nil || !slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.ours && k.used() && k.answerer().who == AnsweredByIstioProxy }) {
		return membership{}
	}
	said := membership{injected: certain.Always, at: "the declared container `" + istioProxyName + "`", byName: true}
	if a, _ := d.answerer(b, d.facts(b, said)); a.who != AnsweredByIstioProxy {
		return membership{}
	}
	return said
}

// neverInjected returns the membership of a pod that the injector leaves alone whatever
// else is said.
func (d istio) neverInjected(b *view) membership {
	kind, value := istioInjectSwitch(b)
	inNamespace, set := b.namespace().Labels.Lookup(istioInjection)
	switch {
	case b.in.Template.Spec.HostNetwork:
		return membership{injected: certain.Never, at: "`hostNetwork`"}
	case slices.Contains(istioNeverInjected, b.in.NamespaceName):
		return membership{injected: certain.Never, at: "namespace \"" + b.in.NamespaceName + "\"", off: new(NewFinding("namespace-not-injected", nil, "namespace %q is never injected, so the mesh does not capture this pod", b.in.NamespaceName))}
	case value == "false":
		return b.switchIn(kind, istioInject, "", isEnabled)
	case set && inNamespace != "enabled" && !pod.IsVariable(inNamespace):
		at := b.namespaceLabel(istioInjection)
		return d.notInjected(at, "%s switches injection off for all its pods", at)
	}
	return membership{}
}

// notInjected returns the membership of a pod that Istio does not inject.
func (istio) notInjected(at, format string, args ...any) membership {
	return membership{injected: certain.Never, at: at, off: new(NewFinding("namespace-not-injected", nil, format+", so the mesh does not capture this pod; if another proxy does, `answeredBy: probe-proxy` has it rewritten", args...))}
}

// istioInjectSwitch returns the injection switch of a template: the label if there
// is one, even if it is empty, else the annotation. The injector ignores values
// other than "true" and "false".
func istioInjectSwitch(b *view) (kind, value string) {
	kind = "labels"
	value, labelled := b.in.Template.Metadata.Labels.Lookup(istioInject)
	if !labelled {
		kind, value = "annotations", b.annotations().Get(istioInject)
	}
	return kind, value
}

// checkInjectSwitch warns of a value that switches nothing.
func (istio) checkInjectSwitch(b *view, report func(Finding)) {
	if kind, v := istioInjectSwitch(b); v != "" && v != "true" && v != "false" && !pod.IsVariable(v) {
		report(metadataFinding("inject-unclear", b.metadata.Key(kind, istioInject), v, "must be \"true\" or \"false\"; with any other value Istio does what it does without one"))
	}
}

// ambient reports whether the pod is in ambient mode unless it has a sidecar, and
// where that is said. Only the value "none" takes a pod out
// (cni/pkg/util/podutil.go).
func (istio) ambient(b *view) (at string, on bool) {
	switch v := b.in.Template.Metadata.Labels.Get(istioDataplaneMode); {
	case v == "ambient":
		return entryWords("labels", istioDataplaneMode, v), true
	case v != "none" && b.namespace().Labels.Get(istioDataplaneMode) == "ambient":
		return b.namespaceLabel(istioDataplaneMode), true
	}
	return "", false
}

// passesProbes returns a finding if the pod has no sidecar of Istio's and is in
// ambient mode, which lets the kubelet's probes through, or was taken out of it.
func (d istio) passesProbes(b *view, sidecar certain.Certainty) *Finding {
	if sidecar == certain.Always || b.in.Template.Spec.HostNetwork {
		return nil
	}
	at, on := d.ambient(b)
	switch v := b.in.Template.Metadata.Labels.Get(istioDataplaneMode); {
	case v == "ambient":
		return new(metadataFinding("ambient", b.metadata.Key("labels", istioDataplaneMode), v, "puts the pod into ambient mode, which lets the kubelet's probes through"))
	case on:
		return new(NewFinding("ambient", nil, "%s puts its pods into ambient mode, which lets the kubelet's probes through", at))
	case b.namespace().Labels.Get(istioDataplaneMode) == "ambient":
		return new(metadataFinding("ambient", b.metadata.Key("labels", istioDataplaneMode), v, "takes the pod out of ambient mode, and no sidecar captures it"))
	}
	return nil
}

// injects returns what the options declare about a namespace; "" stands for one that
// is not known.
func (i Istio) injects(namespace string) certain.Certainty {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, namespace)
		return ok
	}
	if pod.IsVariable(namespace) {
		namespace = ""
	}
	switch {
	case i.InjectedNamespaces == nil:
		return certain.Maybe
	case slices.Contains(i.InjectedNamespaces, "*"):
		return certain.Always
	case namespace == "" && len(i.InjectedNamespaces) > 0:
		return certain.Maybe
	case slices.ContainsFunc(i.InjectedNamespaces, matches):
		return certain.Always
	}
	return certain.Never
}

// namespaceWords names the pod's Namespace, and where it is.
func (b *template) namespaceWords() string {
	words := "Namespace \"" + b.in.Around.Namespace.Name + "\""
	if x := b.in.Around.NamespaceAt; x != nil && x.String() != "" {
		words += " (" + x.String() + ")"
	}
	return words
}

// namespaceLabel words a label of the pod's Namespace.
func (b *template) namespaceLabel(key string) string {
	return entryWords("labels", key, b.in.Around.Namespace.Labels.Get(key)) + " of " + b.namespaceWords()
}
