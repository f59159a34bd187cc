package transformer

import (
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// istioDataplaneMode is the label that puts a pod into ambient mode, or takes it
// out.
const istioDataplaneMode = "istio.io/dataplane-mode"

// istioNeverInjected are the namespaces that Istio's injector ignores
// (pkg/kube/inject/initializer.go).
var istioNeverInjected = []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}

// membership: a pod in ambient mode is in the mesh too.
func (d istio) membership(v *view) membership {
	m := d.sidecarMembership(v)
	m.off = nil // its optOut says so, unless the options want the pod rewritten all the same
	if m.injected == certain.Always {
		return m
	}
	if at, on := d.ambient(v); on {
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
func (d istio) sidecarMembership(v *view) membership {
	_, proxy := v.proxyOf(istioData.isProxy)
	if proxy != nil && proxy.Image != autoImage {
		return memberBy(proxy)
	}
	if set, adds := v.in.Around.SidecarSet(v.pods()); adds == certain.Always {
		return membership{injected: certain.Always, at: set.Words()}
	} else if adds == certain.Maybe {
		return membership{}
	}
	if m := d.neverInjected(v); m.injected != certain.Maybe {
		return m
	}
	if proxy != nil {
		return memberBy(proxy)
	}
	if v.in.Around.NamespacesDisagree() {
		return membership{} // one of them decides, whatever else is said
	}
	if m, isSaid := d.labelled(v); isSaid {
		return m
	}
	switch at := "`istio.injectedNamespaces`"; v.opts.Istio.injects(v.in.NamespaceName) {
	case certain.Always:
		return membership{injected: certain.Always, at: at}
	case certain.Never:
		return notInjected(at, "%s does not name namespace %q", at, v.in.NamespaceName)
	}
	if _, known := v.namespace(); known && v.othersInjected() && !v.asksByAnnotation() {
		at := v.namespaceWords()
		return notInjected(at, "%s has no label for Istio's injection, and another Namespace has one", at)
	}
	return d.declaredMembership(v)
}

// labelled returns what the labels of the Namespace say of the injection, and then those of the pod, and
// reports whether they say anything. A variable may switch injection off, whatever else is said.
func (istio) labelled(v *view) (m membership, isSaid bool) {
	ns, _ := v.namespace()
	inNamespace := ns.Labels.Get(istioInjection)
	kind, value := istioInjectSwitch(v)
	if pod.IsVariable(value) || pod.IsVariable(inNamespace) {
		return membership{}, true
	}
	if inNamespace != "" {
		return membership{injected: certain.Always, at: v.namespaceLabel(istioInjection)}, true
	}
	if revision, isSet := ns.Labels.Lookup(istioRevision); isSet && revision == "" { // no webhook selects that
		at := v.namespaceLabel(istioRevision)
		return notInjected(at, "%s names no revision", at), true
	} else if isSet {
		return membership{injected: certain.Always, at: v.namespaceLabel(istioRevision)}, true
	}
	at := ""
	if revision := v.labels().Get(istioRevision); revision != "" {
		at = entryWords("labels", istioRevision, revision)
	} else if kind == "labels" && value == "true" {
		at = entryWords(kind, istioInject, value)
	}
	if at == "" {
		return membership{}, false
	}
	return membership{injected: certain.Always, at: at, presumed: v.mayRevokeLabels()}, true
}

// asksByAnnotation reports whether the pod asks for injection by an annotation. Istio's webhooks do
// not read it, and those of OpenShift Service Mesh 2 inject by nothing else.
func (v *view) asksByAnnotation() bool {
	kind, value := istioInjectSwitch(v)
	return kind == "annotations" && value == "true"
}

// mayRevokeLabels reports whether something may revoke what the pod's own labels say: its Namespace
// is not known, whose label can switch injection off for all its pods, and the options do not name it.
func (v *view) mayRevokeLabels() bool {
	_, known := v.namespace()
	return !known && v.opts.Istio.injects(v.in.NamespaceName) != certain.Always
}

// othersInjected reports whether another Namespace has a label for Istio's injection.
func (v *view) othersInjected() bool {
	ns, _ := v.namespace()
	ns.Labels.Get(istioInjection) // what is asked of one Namespace counts for all
	ns.Labels.Get(istioRevision)
	return v.in.Around.OthersInjected(v.in.NamespaceName, hasInjection)
}

// hasInjection reports whether the labels of a Namespace make Istio inject into its pods.
func hasInjection(labels field.KeyValues) bool {
	v, set := labels.Lookup(istioInjection)
	return v == "enabled" || !set && labels.Get(istioRevision) != ""
}

// declaredMembership returns the membership of a container istio-proxy that an earlier run
// declared: without injection the pod could not start, since nothing else replaces its
// image. It counts only while it stays, so that the next run finds what this one did.
func (d istio) declaredMembership(v *view) membership {
	isDeclared := func(h *holder) bool {
		return h.ours && h.used() && h.proxy
	}
	if _, known := v.namespace(); known || !slices.ContainsFunc(v.holders, isDeclared) {
		return membership{}
	}
	said := membership{
		injected: certain.Always,
		at:       "the declared container `" + istioProxyName + "`",
		byName:   true,
	}
	if v.opts.AnsweredBy == AnsweredByIstioProxy {
		return said
	}
	if ok, _ := d.suits(v, d.openFacts(v, said)); ok && v.opts.AnsweredBy == AnsweredByAuto {
		return said
	}
	return membership{}
}

// neverInjected returns the membership of a pod that the injector leaves alone whatever
// else is said.
func (d istio) neverInjected(v *view) membership {
	kind, value := istioInjectSwitch(v)
	ns, _ := v.namespace()
	inNamespace, set := ns.Labels.Lookup(istioInjection)
	switch {
	case v.in.Template.Spec.HostNetwork:
		return membership{injected: certain.Never, at: "`hostNetwork`"}
	case slices.Contains(istioNeverInjected, v.in.NamespaceName):
		off := NewFinding(reason.NamespaceNotInjected, nil,
			"Istio never injects into namespace %q, so the mesh does not capture this pod", v.in.NamespaceName)
		return membership{
			injected: certain.Never,
			at:       "namespace \"" + v.in.NamespaceName + "\"",
			off:      &off,
		}
	case value == "false":
		return v.switchIn(kind, istioInject, "", isEnabled)
	case set && inNamespace != "enabled" && !pod.IsVariable(inNamespace):
		at := v.namespaceLabel(istioInjection)
		m := notInjected(at, "%s turns off injection for all its pods", at)
		m.unclear = unclearInjection(at, inNamespace)
		return m
	}
	return membership{}
}

// istioOff are the values of `istio-injection` by which people mean what any value but "enabled" does.
var istioOff = []string{"disabled", "disable", "false", "off", "no", "none", ""}

// unclearInjection returns the warning about a label that seems to be meant to turn injection on; nil if it is not.
func unclearInjection(at, value string) *Finding {
	if slices.Contains(istioOff, strings.ToLower(value)) {
		return nil
	}
	return new(NewFinding(reason.InjectUnclear, nil, "%s is not \"enabled\", so Istio injects nothing there", at).
		Fix("Write `istio-injection: enabled` or `istio-injection: disabled`"))
}

// notInjected returns the membership of a pod that Istio does not inject.
func notInjected(at, format string, args ...any) membership {
	format += ", so the mesh does not capture this pod"
	off := NewFinding(reason.NamespaceNotInjected, nil, format, args...).
		Fix("If another proxy captures it, set `answeredBy: probe-proxy`")
	return membership{injected: certain.Never, at: at, off: &off}
}

// istioInjectSwitch returns the injection switch of a template: the label if there
// is one, even if it is empty, else the annotation. The injector ignores values
// other than "true" and "false".
func istioInjectSwitch(v *view) (kind, value string) {
	kind = "labels"
	value, labelled := v.labels().Lookup(istioInject)
	if !labelled {
		kind = "annotations"
		value = v.annotations().Get(istioInject)
	}
	return kind, value
}

// checkInjectSwitch warns of a value that switches nothing.
func (istio) checkInjectSwitch(v *view, report func(Finding)) {
	if kind, value := istioInjectSwitch(v); value != "" && value != "true" && value != "false" && !pod.IsVariable(value) {
		report(metadataFinding(reason.InjectUnclear, v.metadata.Key(kind, istioInject), value, "is neither \"true\" nor \"false\", so Istio ignores it").
			Fix("Write `\"true\"` or `\"false\"`"))
	}
}

// ambient reports whether the pod is in ambient mode unless it has a sidecar, and
// where that is said. Only the value "none" takes a pod out
// (cni/pkg/util/podutil.go).
func (istio) ambient(v *view) (at string, on bool) {
	ns, _ := v.namespace()
	switch value := v.labels().Get(istioDataplaneMode); {
	case value == "ambient":
		return entryWords("labels", istioDataplaneMode, value), true
	case value != "none" && ns.Labels.Get(istioDataplaneMode) == "ambient":
		return v.namespaceLabel(istioDataplaneMode), true
	}
	return "", false
}

// passesProbes returns a finding if the pod has no sidecar of Istio's and is in
// ambient mode, which lets the kubelet's probes through, or was taken out of it.
func (d istio) passesProbes(v *view, sidecar certain.Certainty) *Finding {
	if sidecar == certain.Always || v.in.Template.Spec.HostNetwork {
		return nil
	}
	at, on := d.ambient(v)
	ns, _ := v.namespace()
	switch value := v.labels().Get(istioDataplaneMode); {
	case value == "ambient":
		return new(metadataFinding(reason.Ambient, v.metadata.Key("labels", istioDataplaneMode), value, "puts the pod into ambient mode, which lets the kubelet's probes through"))
	case on:
		return new(NewFinding(reason.Ambient, nil, "%s puts its pods into ambient mode, which lets the kubelet's probes through", at))
	case ns.Labels.Get(istioDataplaneMode) == "ambient":
		return new(metadataFinding(reason.Ambient, v.metadata.Key("labels", istioDataplaneMode), value, "takes the pod out of ambient mode, and no sidecar captures it"))
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
	if pod.IsPlaceholder(namespace) {
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
func (t *template) namespaceWords() string {
	words := "Namespace \"" + t.ofNamespace.Name + "\""
	if x := t.in.Around.NamespaceAt(); x != nil && x.String() != "" {
		words += " (" + x.String() + ")"
	}
	return words
}

// namespaceLabel words a label of the pod's Namespace.
func (t *template) namespaceLabel(key string) string {
	return entryWords(
		"labels",
		key,
		t.ofNamespace.Labels.Unnoted().Get(key),
	) + " of " + t.namespaceWords()
}
