package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// A passiveProxy is the common part of the profiles of meshes whose proxy answers
// no probes that were rewritten in a manifest. probe-proxy answers them, on a port
// that the mesh must not capture, and the mesh's own rewriter, if it has one, must
// leave the probes alone.
type passiveProxy struct {
	meshData
	excludedAddresses       string                 // the annotation of addresses from which nothing is captured; "" if there is none
	uncapturedPorts         []int                  // the ports that are never captured
	inherits                bool                   // a pod without the annotation of excluded ports has its Namespace's
	uninjectedNamespaces    []string               // the namespaces into which the mesh injects nothing, whatever its switches say there
	excludedNamespaceLabels field.KeyValues        // the labels of others; an empty value stands for any
	serves                  func(*site) bool       // the mesh's own rewriter does, for a captured probe as it was read; nil if there is none
	switched                func(*view) membership // reads the switch of injection in the template and its Namespace
	// refine changes what is different in the mesh; nil if nothing is.
	refine func(p passiveProxy, v *view, m *inspection)
}

func (p passiveProxy) membership(v *view) membership {
	if _, proxy := v.proxyOf(p.isProxy); proxy != nil && !p.commonName {
		return memberBy(proxy)
	}
	m := p.switched(v)
	if m.injected == certain.Always {
		if off := p.neverInjects(v); off != nil {
			m.injected, m.off = certain.Never, off
		}
	}
	return m
}

func (p passiveProxy) inspect(v *view) inspection {
	said := p.membership(v)
	var m inspection
	user := v.userAnnotations
	ns, _ := v.namespace()
	if value, set := p.inheritedList(ns); set {
		m.inherited = field.KeyValues{{Key: p.excluded.key, Value: value}}
		if _, own := user.Lookup(p.excluded.key); !own {
			user = ns.Annotations
		}
	}
	m.captures = func(port int) bool {
		return !slices.Contains(p.uncapturedPorts, port) &&
			!p.excluded.has(user, port)
	}
	switch item, bad := p.excluded.badItem(user); {
	case bad && p.port == 0:
		m.conflicts = append(m.conflicts, v.unreadableList(p.excluded, item))
	case bad:
		m.report(v.annotationFinding(
			reason.PortListInvalid,
			p.excluded.key,
			"%s, and %q is not one",
			p.excluded.allowed(),
			item,
		))
	}
	m.kubelet = p.capturesKubelet(v)
	if m.optOut = said.off; said.off == nil && said.injected != certain.Always {
		m.optOut = p.neverInjects(v)
	}
	m.outcome = m.capturedOutcome(v, func(s *site) (world.Fate, string) {
		return p.fate(v, s), ""
	})
	if p.refine != nil {
		p.refine(p, v, &m)
	}
	return m
}

// capturesKubelet words what must hold for the mesh to capture what comes from the kubelet, if an annotation excludes addresses:
// that of the node is not known; "" if it does.
func (p passiveProxy) capturesKubelet(v *view) string {
	value := v.annotations().Get(p.excludedAddresses)
	if ns, _ := v.namespace(); value == "" && p.inherits {
		value = ns.Annotations.Get(p.excludedAddresses)
	}
	if p.excludedAddresses == "" || value == "" {
		return ""
	}
	return fmt.Sprintf("`%s: %s` does not have the kubelet's address (unknown: look at the cluster's nodes)", p.excludedAddresses, value)
}

// inheritedList returns the list of excluded ports of a Namespace for pods that have none.
func (p passiveProxy) inheritedList(ns *field.NotedMetadata) (value string, set bool) {
	if !p.inherits {
		return "", false
	}
	return ns.Annotations.Lookup(p.excluded.key)
}

// fate returns what becomes of a captured probe, unless the mesh's own rewriter serves it.
func (p passiveProxy) fate(v *view, s *site) world.Fate {
	switch {
	case p.serves != nil && s.name.IsHook():
		return world.Failing(p.title + " rewrites no hooks, and " + whyNoCertificate)
	case p.serves != nil &&
		p.serves(s) &&
		!s.at.Init &&
		!p.off.isOff(v.annotations()):
		return world.Spared
	}
	return atStrictProxy(s)
}

// neverInjects returns the finding about the namespace of a pod into which nothing is
// injected; nil if it is another.
func (p passiveProxy) neverInjects(v *view) *Finding {
	const text = "the mesh injects nothing into %s, so it does not capture this pod"
	if slices.Contains(p.uninjectedNamespaces, v.in.NamespaceName) {
		return new(NewFinding(reason.NamespaceNotInjected, nil, text, "namespace \""+v.in.NamespaceName+"\""))
	}
	ns, _ := v.namespace()
	for _, l := range p.excludedNamespaceLabels {
		value, set := ns.Labels.Lookup(l.Key)
		if set && (l.Value == "" || l.Value == value) {
			return new(NewFinding(
				reason.NamespaceNotInjected,
				nil,
				text,
				v.namespaceWords()+", which has "+entryWords("labels", l.Key, value),
			))
		}
	}
	return nil
}

// atStrictProxy returns what becomes of a probe at a proxy that only accepts mTLS.
func atStrictProxy(s *site) world.Fate {
	if s.current.Kind() == pod.KindTCPSocket {
		return world.FalselyPassing(whyAccepted)
	}
	return world.Failing(whyNoCertificate)
}

// capturedOutcome returns the function for [inspection].outcome in a mesh whose proxy is in
// every pod: captured says the same of a probe whose port the mesh captures.
func (m *inspection) capturedOutcome(v *view, captured outcomeOf) outcomeOf {
	captures, excluded := m.captures, v.mesh.excluded
	return func(s *site) (world.Fate, string) {
		port := s.dialed()
		_, host := s.current.Endpoint()
		byTheMesh := s.alreadyRewritten && s.holder == nil
		if byTheMesh || host != "" || !captures(port) || excluded.has(v.annotations(), port) { // also by an earlier run
			return world.Spared, ""
		}
		f, unless := captured(s)
		switch {
		case f == world.Spared:
			return f, ""
		case unless == "":
			unless = m.kubelet
		}
		if s.alreadyRewritten { // the annotation was edited
			f.Why = fmt.Sprintf("the mesh captures port %d, which answers it, and %s", port, f.Why)
		}
		return f, unless
	}
}

// A stated is a fact of a mesh that its installation states, in words.
type stated struct {
	surroundings.Stated
	yes, no string
}

// statedWords words the facts that are known.
func statedWords(all ...stated) (words []string) {
	for _, x := range all {
		switch x.Is {
		case certain.Always:
			words = append(words, x.yes+": "+x.At)
		case certain.Never:
			words = append(words, x.no+": "+x.At)
		}
	}
	return words
}

// unreadableList returns the finding about a list with a bad item, of the
// template or of its Namespace.
func (t *template) unreadableList(l portList, item string) Finding {
	const text = "%s, and %q is not one"
	const why = "rewrite-probes must add its port to this list"
	if _, own := t.annotations().Lookup(l.key); !own {
		ns, _ := t.namespace()
		v, _ := ns.Annotations.Lookup(l.key)
		return NewFinding(reason.PortListUnreadable, nil, "annotation `%s` of Namespace %q: %q "+text,
			l.key, ns.Name, v, l.allowed(), item).Why(why)
	}
	return t.annotationFinding(reason.PortListUnreadable, l.key, text, l.allowed(), item).Why(why)
}

func (passiveProxy) answer(v *view, _ *inspection) choice { return v.byOptions() }

func (p passiveProxy) undo(annotations field.Noted, past []answerer, recorded field.KeyValues) field.Noted {
	out := annotations
	for _, a := range past {
		if a.who == AnsweredByProbeProxy && p.port == 0 {
			out = p.excluded.without(p.off.without(out, recorded), recorded, a.port)
		}
	}
	return out
}

func (p passiveProxy) demand(_ field.Noted, now answerer) demand {
	if p.port != 0 {
		return demand{} // the mesh never captures it
	}
	return demand{off: true, exclude: now.port}
}
