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
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Fact is a field of the functionConfig whose value the objects of an installation tell.
type Fact struct {
	Path  field.Path // below spec; of an item of a list, that of the list
	Item  string     // the name of the item; "" if the field is of no list
	Key   string     // the field of the item
	Value field.Value
	At    string // the objects that tell it
	// Replaced is set if items have the fact, so that the field must say nothing: the value is that.
	Replaced bool
}

// A setting is a field of Istio's that revisions may have different.
type setting struct {
	name   string
	of     func(*surroundings.Revision) surroundings.Stated
	silent field.Value // the value that says nothing
}

var settings = []setting{
	{"injectorRewrites", rewritesOf, "auto"},
	{"nativeSidecars", nativeOf, "auto"},
	{"holdApplicationUntilProxyStarts", holdOf, false},
}

func rewritesOf(r *surroundings.Revision) surroundings.Stated { return r.Rewrites }
func nativeOf(r *surroundings.Revision) surroundings.Stated   { return r.Native }
func holdOf(r *surroundings.Revision) surroundings.Stated     { return r.Holds(certain.Maybe) }

func (x *setting) path() field.Path { return field.NewPath("istio", x.name) }

// Learn returns what streams tell of Istio for a functionConfig. A fact that two revisions have different is one of
// each, and then the tags tell which revision they mean. open says in words what they leave unknown.
func Learn(streams []*manifest.Stream, rootNamespace string) (facts []Fact, open []string) {
	around := nearby.Collect(streams, rootNamespace).Cluster()
	revisions, _ := around.Revisions()
	if len(revisions) == 0 {
		return nil, nil
	}
	ofOne := make([][]Fact, len(revisions))
	for i := range settings {
		x := &settings[i]
		is, at, why := x.agreed(revisions)
		switch at := strings.Join(at, ", "); {
		case is == certain.Never && x.silent == false: // false means unknown there
		case is != certain.Maybe:
			facts = append(facts, Fact{Path: x.path(), Value: is == certain.Always, At: at})
		case len(revisions) > 1 && x.isToldOf(revisions):
			f := Fact{Path: x.path(), Value: x.silent, Replaced: true, At: "the revisions differ"}
			facts = append(facts, f)
			open = append(open, x.ofEach(revisions, ofOne)...)
		case x.silent != false:
			open = append(open, x.name+": "+why)
		}
	}
	first := &revisions[0]
	hasOther := slices.ContainsFunc(revisions, func(r surroundings.Revision) bool { return r.Root != first.Root })
	if first.Root != "" && !hasOther {
		facts = append(facts, Fact{Path: field.NewPath("istio", "rootNamespace"), Value: first.Root, At: first.RootAt})
	}
	version, isOld := oldVersion(revisions)
	switch {
	case version != "":
		facts = append(facts, Fact{Path: field.NewPath("istio", "version"), Value: version, At: first.VersionAt})
	case isOld:
		open = append(open, "version: the revisions differ")
	}
	if all, at := injectedNamespaces(streams, &around); len(all) > 0 {
		facts = append(facts, Fact{Path: field.NewPath("istio", "injectedNamespaces"), Value: all, At: at})
	}
	if of := slices.Concat(ofOne...); len(of) > 0 {
		facts = slices.Concat(facts, of, tagsOf(&around))
	}
	return facts, open
}

func nameOf(r *surroundings.Revision) string { return cmp.Or(r.Name, "default") }

// agreed returns what all revisions have in common, and which objects tell it; why says why it is not known.
func (x *setting) agreed(all []surroundings.Revision) (is certain.Certainty, at []string, why string) {
	for i := range all {
		s := x.of(&all[i])
		switch {
		case s.Is == certain.Maybe:
			return certain.Maybe, nil, cmp.Or(s.At, "nothing shows it for revision "+nameOf(&all[i]))
		case i > 0 && s.Is != is:
			return certain.Maybe, nil, "the revisions differ"
		}
		is = s.Is
		if !slices.Contains(at, s.At) {
			at = append(at, s.At)
		}
	}
	return is, at, ""
}

// isToldOf reports whether something can be written of a revision.
func (x *setting) isToldOf(all []surroundings.Revision) bool {
	return slices.ContainsFunc(all, func(r surroundings.Revision) bool {
		is := x.of(&r).Is
		return is == certain.Always || is == certain.Never && x.silent != false
	})
}

// ofEach adds to the facts of each revision what is told of it, and returns in words what is not.
func (x *setting) ofEach(all []surroundings.Revision, facts [][]Fact) (open []string) {
	for i := range all {
		r := &all[i]
		s := x.of(r)
		f := Fact{Path: field.NewPath("istio", "revisions"), Item: nameOf(r), Key: x.name, At: s.At}
		f.Value = s.Is == certain.Always
		switch {
		case s.Is == certain.Maybe:
			open = append(open, x.name+" of revision "+nameOf(r)+": "+cmp.Or(s.At, "nothing shows it"))
		case s.Is == certain.Always || x.silent != false:
			facts[i] = append(facts[i], f)
		}
	}
	return open
}

// reportRevisions notes each fact of a revision that the same fact of all revisions overrides.
func (r *run) reportRevisions() {
	istio := &r.spec.Istio
	for _, x := range istio.Revisions {
		note := func(key string, all, one any) {
			said := fmt.Sprint(cmp.Or(one, any("auto")))
			if fmt.Sprint(all) == "auto" || said == "auto" || said == fmt.Sprint(all) {
				return
			}
			text := reason.NewText("`istio.%s: %v` applies to all revisions, also to %s, which has %s", key, all, x.Name, said)
			text.Fix = "Remove one of the two fields from the functionConfig"
			r.add(report.NewMessage(reason.ConfigDiffers, text))
		}
		note("injectorRewrites", istio.InjectorRewrites, x.InjectorRewrites)
		note("nativeSidecars", istio.NativeSidecars, x.NativeSidecars)
	}
}

// tagsOf returns which revisions tags mean that have another name.
func tagsOf(around *surroundings.Surroundings) (facts []Fact) {
	for _, t := range surroundings.Tags(around) {
		f := Fact{Path: field.NewPath("istio", "tags"), Item: t.Name, Key: "revision", At: t.At}
		f.Value = t.Revision
		facts = append(facts, f)
	}
	return facts
}

// oldVersion returns the version that all revisions have, without its patch, and whether one of them is so old that it counts.
// A version says nothing else: `istio.version` is absent then.
func oldVersion(all []surroundings.Revision) (version string, isOld bool) {
	minors := make(map[int]bool)
	for i := range all {
		minor, _ := surroundings.MinorOf(all[i].Version)
		minors[minor] = true
		if transformer.HasNoHooks(all[i].Version) {
			version, isOld = fmt.Sprintf("1.%d", minor), true
		}
	}
	if len(minors) > 1 {
		version = ""
	}
	return version, isOld
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
