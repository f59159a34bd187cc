package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A Fact is a field of the functionConfig whose value the objects of an installation tell.
type Fact struct {
	Path  field.Path // below spec
	Value field.Value
	At    string // the objects that tell it
}

// Learn returns what streams tell of Istio for a functionConfig, whose fields mean all revisions: a fact that
// two revisions have different is none. open says in words what they leave unknown.
func Learn(streams []*manifest.Stream, rootNamespace string) (facts []Fact, open []string) {
	around := nearby.Collect(streams, rootNamespace).Cluster()
	revisions, _ := around.Revisions()
	if len(revisions) == 0 {
		return nil, nil
	}
	add := func(name string, of func(*surroundings.Revision) surroundings.Stated) {
		is, at, why := agreed(revisions, of)
		if why != "" {
			open = append(open, name+": "+why)
			return
		}
		facts = append(facts, Fact{field.NewPath("istio", name), is == certain.Always, at})
	}
	add("injectorRewrites", func(r *surroundings.Revision) surroundings.Stated { return r.Rewrites })
	add("nativeSidecars", func(r *surroundings.Revision) surroundings.Stated { return r.Native })
	hold := func(r *surroundings.Revision) surroundings.Stated { return r.Holds(certain.Maybe) }
	if is, _, why := agreed(revisions, hold); why == "" && is == certain.Always { // false means unknown there
		add("holdApplicationUntilProxyStarts", hold)
	}
	first := &revisions[0]
	hasOther := slices.ContainsFunc(revisions, func(r surroundings.Revision) bool { return r.Root != first.Root })
	if first.Root != "" && !hasOther {
		facts = append(facts, Fact{field.NewPath("istio", "rootNamespace"), first.Root, first.RootAt})
	}
	if all, at := injectedNamespaces(streams, &around); len(all) > 0 {
		facts = append(facts, Fact{field.NewPath("istio", "injectedNamespaces"), all, at})
	}
	return facts, open
}

// agreed returns what all revisions have in common; why says why it is not known.
func agreed(
	all []surroundings.Revision, of func(*surroundings.Revision) surroundings.Stated,
) (is certain.Certainty, at, why string) {
	var says, sources []string
	for i := range all {
		s := of(&all[i])
		name := "revision " + cmp.Or(all[i].Name, "default")
		switch {
		case s.Is == certain.Maybe && s.At != "":
			return certain.Maybe, "", s.At
		case s.Is == certain.Maybe:
			return certain.Maybe, "", "nothing says it of " + name
		}
		if i > 0 && s.Is != is {
			why = "the revisions differ"
		}
		is = s.Is
		says = append(says, fmt.Sprintf("%t in %s (%s)", is == certain.Always, name, s.At))
		if !slices.Contains(sources, s.At) {
			sources = append(sources, s.At)
		}
	}
	if why != "" {
		return certain.Maybe, "", why + ": " + strings.Join(says, ", ")
	}
	return is, strings.Join(sources, ", "), ""
}

// injectedNamespaces returns the Namespaces whose pods Istio injects without being asked, if all Namespaces and
// webhooks are known.
func injectedNamespaces(streams []*manifest.Stream, around *surroundings.Surroundings) (names field.List, at string) {
	for _, s := range streams {
		if s.All == nil || !s.All("", "Namespace") {
			continue
		}
		for _, o := range s.Objects() {
			if o.Kind() != "Namespace" || o.APIVersion() != "v1" {
				continue
			}
			pods := &surroundings.Pods{Namespace: o.Name(), Kind: "Pod", Labels: field.KeyValues{}}
			if x := around.Istio(pods, "", o.Labels(), true); x.Injected.Is == certain.Always {
				names = append(names, o.Name())
				at = "the webhooks and Namespaces of the cluster"
			}
		}
	}
	byText := func(a, b field.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(names, byText)
	return names, at
}
