package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// Pods are what a selector sees of the pods of a template.
type Pods struct {
	Namespace string // "" is not known
	// Kind and Name are those of the workload, whose controller adds labels.
	Kind, Name string
	Labels     field.KeyValues // of the template; nil is not known
	Asked      *field.Keys     // notes which labels were asked for; nil notes nothing
	Spec       *pod.Spec
	// IsCurrent reports whether a pod with some labels was made from the template as it is now; nil if nothing tells.
	IsCurrent func(labels field.KeyValues) bool
	// RevisionOf returns the revision that a tag of Istio's is known to mean, or its own name; nil if nothing tells.
	RevisionOf func(tag string) string
}

// label returns the value of a label and whether the template has it.
func (p *Pods) label(key string) (string, bool) { return p.Labels.Note(p.Asked).Lookup(key) }

// labelOr returns the value of the first of some labels that has one; "" if none has.
func (p *Pods) labelOr(keys ...string) string {
	for _, key := range keys {
		if v, _ := p.label(key); v != "" {
			return v
		}
	}
	return ""
}

// selects returns whether a selector with these matchLabels, or none, is about the pods.
func (p *Pods) selects(matchLabels field.KeyValues) certain.Certainty {
	selects := certain.Always
	for _, m := range matchLabels {
		selects = min(selects, p.has(m.Key, m.Value))
	}
	return selects
}

// has returns whether a label of the pods has a value; Maybe if only some of them have it.
func (p *Pods) has(key, value string) certain.Certainty {
	v, set := p.label(key)
	if p.Labels == nil || key == "kubernetes.io/hostname" { // istiod gives each proxy that of its node
		return certain.Maybe
	}
	if set && (v != "" || !strings.HasPrefix(key, canonical)) {
		return certain.Of(v == value)
	}
	switch key {
	case canonical + "name":
		if name := p.canonicalName(); name != "" {
			return certain.Of(name == value)
		}
	case canonical + "revision":
		version := cmp.Or(p.labelOr("app.kubernetes.io/version", "version"), "latest")
		return certain.Of(version == value)
	case "security.istio.io/tlsMode":
		return certain.Of(value == "istio")
	case "statefulset.kubernetes.io/pod-name":
		if p.Kind == "StatefulSet" && p.Name != "" {
			ordinal, own := strings.CutPrefix(value, p.Name+"-")
			isOrdinal := own && ordinal != "" && strings.Trim(ordinal, "0123456789") == ""
			return min(certain.Of(isOrdinal), certain.Maybe)
		}
	}
	return min(certain.Of(p.getsLater(key)), certain.Maybe)
}

// canonical begins the labels by which Istio's telemetry names a workload. Its injector adds
// them (manifests/charts/istio-control/istio-discovery/files/injection-template.yaml).
const canonical = "service.istio.io/canonical-"

// canonicalName returns the name that Istio's injector gives to pods that have none: that of a
// label, or that of their workload, which is known of the kinds of the API server that
// have no generation between it and their pods, and of a Deployment; "" if it is not known.
func (p *Pods) canonicalName() string {
	name := p.labelOr("app.kubernetes.io/name", "app")
	if name == "" &&
		slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, p.Kind) {
		name = p.Name
	}
	return strings.Trim(name[:min(len(name), 63)], "-_.")
}

// laterLabels are the labels that pods get after their template was written, and who
// adds them: controllers of these kinds, or, without kinds, the API server and injectors. What
// ends in a slash stands for all labels that begin with it.
var laterLabels = []struct {
	label string
	kinds []string
}{
	{"pod-template-hash", []string{"Deployment", "ReplicaSet"}},
	{"rollouts-pod-template-hash", []string{"Rollout"}},
	{"controller-revision-hash", []string{"StatefulSet", "DaemonSet"}},
	{"pod-template-generation", []string{"DaemonSet"}},
	{"statefulset.kubernetes.io/", []string{"StatefulSet"}},
	{"apps.kubernetes.io/pod-index", []string{"StatefulSet"}},
	{"batch.kubernetes.io/", []string{"Job", "CronJob"}},
	{"job-name", []string{"Job", "CronJob"}},
	{"controller-uid", []string{"Job", "CronJob"}},
	{"deployment", []string{"DeploymentConfig"}},
	{"deploymentconfig", []string{"DeploymentConfig"}},
	{"istio.io/rev", nil},
	{"networking.istio.io/tunnel", nil},
	{"service.istio.io/", nil},
	{"topology.istio.io/", nil},
	{"apps.kruise.io/", nil}, // OpenKruise's StatefulSet and DaemonSet have the names of the API server's
	{"lifecycle.apps.kruise.io/", nil},
	{"topology.kubernetes.io/", nil}, // the admission plugin PodTopologyLabels
}

// ownLabels are the kinds whose controllers add no other labels than [laterLabels] has. What the
// controllers of other kinds add is not known: their labels have a prefix of a domain.
var ownLabels = []string{
	"Pod", "PodTemplate", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "CronJob",
	"DeploymentConfig", "Rollout",
}

// getsLater reports whether the pods may get a label that their template does not have.
func (p *Pods) getsLater(key string) bool {
	known := slices.Contains(ownLabels, p.Kind)
	for _, l := range laterLabels {
		fits := key == l.label ||
			strings.HasSuffix(l.label, "/") && strings.HasPrefix(key, l.label)
		if fits &&
			(l.kinds == nil ||
				!known ||
				slices.Contains(l.kinds, p.Kind)) {
			return true
		}
	}
	return !known && strings.Contains(key, "/")
}
