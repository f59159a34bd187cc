package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// switchIn returns the membership that a switch of injection makes: an annotation or a
// label, by kind, of the template or else of its Namespace. read returns what a
// value switches; ok and on are false for one that the mesh does not know.
func (t *template) switchIn(kind, key, allowed string, read func(value string) (on, ok bool)) membership {
	values := func(m *field.NotedMetadata) field.Noted {
		if kind == "labels" {
			return m.Labels
		}
		return m.Annotations
	}
	ns, _ := t.namespace()
	v, own := values(&t.ofPods).Lookup(key)
	if !own {
		if v = values(ns).Get(key); v == "" {
			return membership{}
		}
	}
	on, ok := read(v)
	m := membership{injected: certain.Of(on), at: entryWords(kind, key, v)}
	switch {
	case own && !ok:
		m.unclear = new(metadataFinding(
			reason.InjectUnclear,
			t.metadata.Key(kind, key),
			v,
			"must be %s",
			allowed,
		).
			Why("With another value, the mesh injects nothing or refuses the pod").
			Fix("Write %s", allowed))
	case own && !on:
		m.off = new(metadataFinding(
			reason.InjectionOff,
			t.metadata.Key(kind, key),
			v,
			"turns off injection, so the mesh does not capture this pod",
		))
	case !own && !ok:
		return membership{}
	case !own && !on:
		m.off = new(NewFinding(reason.NamespaceNotInjected, nil, "Namespace %q has %s, so the mesh does not capture this pod", ns.Name, m.at))
	}
	if !own {
		m.at += " of Namespace \"" + ns.Name + "\""
	}
	return m
}

// isEnabled reads the value of a switch; ok is false if it is none.
func isEnabled(v string) (on, ok bool) {
	on = slices.Contains([]string{"enabled", "true", "yes"}, v)
	return on, on || slices.Contains([]string{"disabled", "false", "no"}, v)
}

// entryWords words an entry of labels or annotations, by kind.
func entryWords(kind, key, value string) string {
	return "the " + strings.TrimSuffix(kind, "s") + " `" + key + ": " + value + "`"
}

// memberBy returns the membership that a mesh's proxy in the template makes.
func memberBy(proxy *pod.Container) membership {
	return membership{
		injected: certain.Always,
		byName:   true,
		at:       "the container `" + proxy.Name + "`",
	}
}
