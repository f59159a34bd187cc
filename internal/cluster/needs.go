package cluster

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/kubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// A need is a kind to read.
type need struct {
	surroundings.GroupKind
	phase     phase
	makesPods bool
	beside    bool   // its objects only say something about others
	unknown   string // without it; "" if pods are
	queries   func(*reader) []kubectl.Query
}

// A phase is when a kind is read: after those that decide which of its objects count.
type phase int

const (
	first phase = iota
	made        // by the kinds of the first: ReplicaSets and Jobs
	named       // by others: ConfigMaps
	pods        // made by all, and some of them only if a fact is open
)

var phases = []phase{first, made, named, pods}

var (
	peerAuthentication = surroundings.GroupKind{Group: "security.istio.io", Kind: "PeerAuthentication"}
	configMap          = surroundings.GroupKind{Kind: "ConfigMap"}
	podKind            = surroundings.GroupKind{Kind: "Pod"}
	deployment         = surroundings.GroupKind{Group: "apps", Kind: "Deployment"}
)

// wanted returns the kinds to read, each once.
func (r *reader) wanted() (all []need) {
	add := func(n need) {
		if slices.ContainsFunc(all, func(o need) bool { return o.GroupKind == n.GroupKind && o.beside == n.beside }) {
			return
		}
		if n.queries == nil {
			n.queries = (*reader).everything
		}
		all = append(all, n)
	}
	if !r.FactsOnly {
		r.addWorkloads(add)
	}
	r.addControlPlanes(add)
	for _, k := range surroundings.Rows() {
		if k.InFiles {
			continue
		}
		for _, name := range k.Names {
			n := need{GroupKind: name, unknown: k.Unread}
			switch {
			case k.Scope == surroundings.Mark, name.Kind == "Secret", name.Group == "apps", name == podKind: // see Reading.OpenShift
				continue
			case k.Scope == surroundings.OfNamespaceAndRoot:
				n.queries = (*reader).andRoot
			case k.Scope == surroundings.OfName:
				n.queries = (*reader).itself
			case name == configMap:
				n.phase, n.queries = named, (*reader).configMaps
			}
			add(n)
		}
	}
	return all
}

// addControlPlanes adds what shows the meshes, where the workloads that are read do not.
func (r *reader) addControlPlanes(add func(need)) {
	if r.FactsOnly || r.Namespace != "" {
		add(need{GroupKind: deployment, beside: true, queries: (*reader).controlPlanes})
	}
	if r.FactsOnly && !r.NoPods {
		n := need{GroupKind: podKind, phase: pods, beside: true, queries: (*reader).injectedPods}
		n.unknown = "what running pods show of Istio"
		add(n)
	}
}

// addWorkloads adds the kinds that make pods.
func (r *reader) addWorkloads(add func(need)) {
	for _, k := range workload.Kinds() {
		n := need{GroupKind: surroundings.GroupKind{Group: k.Group, Kind: k.Name}, makesPods: true}
		switch {
		case k.Group == "extensions", k.Name == "PodTemplate": // the same objects as in apps; nothing runs one
			continue
		case k.Name == "Pod":
			n.phase = pods
		case k.Name == "ReplicaSet", k.Name == "Job":
			n.phase = made
		}
		add(n)
	}
	for _, c := range r.Custom {
		add(need{GroupKind: c, makesPods: true})
	}
	add(need{
		GroupKind: surroundings.GroupKind{Group: "networking.istio.io", Kind: "WorkloadGroup"},
		unknown:   "which virtual machines have probes",
	})
}

// everything asks for all objects of the run's namespaces.
func (r *reader) everything() []kubectl.Query { return []kubectl.Query{{}} }

// itself asks for Namespaces.
func (r *reader) itself() []kubectl.Query { return []kubectl.Query{{Name: r.Namespace}} }

// andRoot asks for those of Istio's root namespace too.
func (r *reader) andRoot() []kubectl.Query {
	if r.Namespace == "" || r.Namespace == r.RootNamespace {
		return r.everything()
	}
	return []kubectl.Query{{}, {Namespace: r.RootNamespace}}
}

// controlPlanes asks for the Deployments that configure meshes: istiod, Linkerd's destination, Kuma's
// control plane, and Consul's injector.
func (r *reader) controlPlanes() (all []kubectl.Query) {
	for _, labels := range []string{
		"app in (istiod,kuma-control-plane)", "linkerd.io/control-plane-component=destination", "component=connect-injector",
	} {
		all = append(all, kubectl.Query{Anywhere: true, Labels: labels})
	}
	return all
}

// injectedPods asks for the running pods with Istio's sidecar, if a fact about it is open.
func (r *reader) injectedPods() []kubectl.Query {
	if !r.isOpen() {
		return nil
	}
	return []kubectl.Query{{Labels: "security.istio.io/tlsMode", Fields: "status.phase=Running"}}
}

// isOpen reports whether something of Istio is unknown that running pods can show.
func (r *reader) isOpen() bool {
	_, hasIstio := r.types[peerAuthentication]
	isMissing := func(kind string) bool {
		return slices.ContainsFunc(r.Refused, func(x Refused) bool { return strings.HasPrefix(x.Type, kind) })
	}
	revisions, _ := r.around(r.RootNamespace).Revisions()
	isOpen := func(x surroundings.Revision) bool {
		return x.Rewrites.Is == certain.Maybe || x.Native.Is == certain.Maybe || x.Holds(certain.Maybe).Is == certain.Maybe
	}
	return hasIstio && len(revisions) == 0 || slices.ContainsFunc(revisions, isOpen) ||
		hasIstio && (isMissing("namespaces") || isMissing("mutatingwebhookconfigurations"))
}

const anyIstiod = "istiod*"

// configured has the ConfigMaps beside the Deployments of control planes. A star stands for the rest of
// the name, such as that of a revision.
var configured = map[string][]string{
	anyIstiod:             {"istio-sidecar-injector*", "istio*"},
	"linkerd-destination": {"linkerd-config"},
	"kuma-control-plane":  {"kuma-control-plane-config"},
}

// configMaps asks for the ConfigMaps of the control planes that were found, one by one: a Role that lists their
// names is enough. If no istiod was found, it may be of a cluster elsewhere.
func (r *reader) configMaps() (all []kubectl.Query) {
	counts := func(k *surroundings.Kind, name string) bool { return k.Names[0] == configMap && k.Counts(name) }
	r.configMapsOf(func(namespace, name string) {
		q := kubectl.Query{Namespace: namespace, Name: name}
		doCount := func(k *surroundings.Kind) bool { return counts(k, name) }
		if slices.ContainsFunc(surroundings.Rows(), doCount) && !slices.Contains(all, q) {
			all = append(all, q)
		}
	})
	slices.SortFunc(all, func(a, b kubectl.Query) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return all
}

// configMapsOf names the ConfigMaps.
func (r *reader) configMapsOf(add func(namespace, name string)) {
	hasIstiod := false
	for o := range r.deployments() {
		for of, names := range configured {
			rest, ok := restOf(o.Name(), of)
			if !ok {
				continue
			}
			hasIstiod = hasIstiod || of == anyIstiod
			for _, name := range names {
				add(o.Namespace(), strings.Replace(name, "*", rest, 1))
			}
		}
	}
	if _, hasIstio := r.types[peerAuthentication]; hasIstio && !hasIstiod {
		for _, name := range configured[anyIstiod] {
			add(r.RootNamespace, strings.TrimSuffix(name, "*"))
		}
	}
}

// deployments yields the Deployments that were read.
func (r *Reading) deployments() func(yield func(*manifest.Object) bool) {
	return func(yield func(*manifest.Object) bool) {
		for _, s := range slices.Concat(r.Streams, r.Beside) {
			for _, o := range s.Objects() {
				if o.Kind() == "Deployment" && o.Group() == "apps" && !yield(o) {
					return
				}
			}
		}
	}
}

// keep returns which objects of a kind count: those that no object makes which was read too, and that
// may still run. nil means all.
func (r *reader) keep(n need) func(kubectl.Item) bool {
	if n.phase != made && n.phase != pods {
		return nil
	}
	shows := r.witnesses(n)
	return func(item kubectl.Item) bool {
		if shows != nil && shows(item) {
			return true
		}
		if n.beside {
			return false
		}
		var owners []struct {
			APIVersion, Kind string
			Controller       bool
		}
		if item.Decode(&owners, "metadata", "ownerReferences") != nil {
			return true // whoever reads it says what is wrong
		}
		for _, o := range owners {
			group, _, grouped := strings.Cut(o.APIVersion, "/")
			if !grouped {
				group = ""
			}
			if o.Controller && r.listed[surroundings.GroupKind{Group: group, Kind: o.Kind}] {
				return false
			}
		}
		return !isOver(item)
	}
}

// perRevision is how many witnesses of a namespace and a revision are kept: enough to see that they differ.
const perRevision = 3

// witnesses returns which pods are kept for what they show of the mesh; nil if nothing is open.
func (r *reader) witnesses(n need) func(kubectl.Item) bool {
	if n.GroupKind != podKind || !r.isOpen() {
		return nil
	}
	kept := make(map[string]int)
	return func(item kubectl.Item) bool {
		var m struct {
			Namespace   string
			Annotations map[string]string
		}
		if item.Decode(&m, "metadata") != nil {
			return false
		}
		_, decides := m.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"]
		key := m.Namespace + " " + m.Annotations["istio.io/rev"]
		if m.Annotations[surroundings.InjectedMark] == "" || decides || kept[key] == perRevision || isOver(item) {
			return false
		}
		kept[key]++
		return true
	}
}

// isOver reports whether a Pod or a Job has ended.
func isOver(item kubectl.Item) bool {
	var status struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
	if item.Decode(&status, "status") != nil {
		return false
	}
	for _, c := range status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return true
		}
	}
	return status.Phase == "Succeeded" || status.Phase == "Failed"
}
