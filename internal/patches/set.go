package patches

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Target names one object.
type Target struct{ Group, Version, Kind, Namespace, Name string }

// A Patch tests one object, and may change it.
type Patch struct {
	Target
	Comment    string // one line: what it does, and why
	Operations []field.Operation
}

// Edits returns the operations that change the object; none if the patch only tests it.
func (p *Patch) Edits() []field.Operation {
	return slices.DeleteFunc(
		slices.Clone(p.Operations),
		func(o field.Operation) bool { return o.Op == field.OpTest },
	)
}

// A Set is all patches for one build.
type Set struct {
	Known    []Target                   // the objects of guarded kinds that the build has now
	Guarded  [][]surroundings.GroupKind // the kinds of which a new object makes the build fail, by guard, see [guard]
	Required []Target                   // the objects without which the build fails
	Patches  []Patch
	// Rewritten are the objects in which the render has rewritten probes, and nothing is left to do.
	Rewritten []Target
}

// Changes returns how many patches change their objects.
func (s *Set) Changes() (n int) {
	for i := range s.Patches {
		if len(s.Patches[i].Edits()) > 0 {
			n++
		}
	}
	return n
}

// seen marks the objects that a set knows, while kustomize builds.
const seen = transformer.SeenAnnotation

var seenPath = field.NewPath("metadata", "annotations", seen)

// isNew is the path of the guard's test, which kustomize prints when it fails.
const isNew = "this object is new; run rewrite-probes patches again"

// hook is the annotation of Helm's hooks. Charts often give those of type test a random name, or one of the
// revision, so that a guard against new ones would fail each release. No rollout waits for their probes.
const hook = "helm.sh/hook"

// testHooks are the values of hook for tests alone.
var testHooks = []string{"test", "test-success", "test-failure"}

// IsTest reports whether an object is a hook of Helm's that only tests a release.
func IsTest(o *manifest.Object) bool {
	return slices.Contains(testHooks, o.Annotations().Get(hook))
}

// localConfig is the annotation of objects that never reach a cluster.
const localConfig = "config.kubernetes.io/local-config"

// items returns the set as items of a list of patches. The first ones mark what is known with an
// annotation, the next fail if an object of a guarded kind lacks it, and the last removes the mark.
// The list is never empty.
func (s *Set) items() field.List {
	items := s.marks()
	for _, kinds := range s.Guarded {
		test := field.Operation{Op: field.OpTest, Path: field.NewPath(isNew), Value: true}
		items = append(items, item(guard(kinds), "an object that is new since the patches were written fails the build",
			[]field.Operation{test}, nil))
	}
	for _, t := range s.Required {
		items = append(items, field.Map{{Key: "patch", Value: t.merge()}})
	}
	patches := slices.Clone(s.Patches)
	slices.SortStableFunc(
		patches,
		func(p, q Patch) int {
			return p.Target.compare(q.Target)
		},
	)
	for _, p := range patches {
		target := p.Target.selector(regexp.QuoteMeta(p.Name))
		items = append(items, item(target, p.Comment, p.namedTests(), p.Edits()))
	}
	unmark := field.Map{{Key: "annotationSelector", Value: seen}}
	end := field.Operation{Op: field.OpRemove, Path: seenPath}
	return append(items, item(unmark, "the end of what rewrite-probes patches wrote", nil, []field.Operation{end}))
}

// marks returns the patches that mark what is known, one for the objects of a kind in a namespace.
func (s *Set) marks() (items field.List) {
	known := slices.SortedFunc(slices.Values(s.Known), Target.compare)
	for len(known) > 0 {
		first := known[0]
		names := []string(nil)
		for len(known) > 0 && known[0].unnamed() == first.unnamed() {
			names = append(names, regexp.QuoteMeta(known[0].Name))
			known = known[1:]
		}
		mark := field.Operation{Op: field.OpAdd, Path: seenPath, Value: ""}
		items = append(items, item(first.selector(strings.Join(names, "|")), "rewrite-probes patches knows these",
			nil, []field.Operation{mark}))
	}
	return items
}

// guard returns the selector of objects that must be known. It selects every kind in every group
// that one of the kinds is in.
func guard(kinds []surroundings.GroupKind) field.Map {
	var groups, names []string
	for _, k := range kinds {
		groups = append(groups, groupPattern(k.Group))
		names = append(names, regexp.QuoteMeta(k.Kind))
	}
	selector := []string{"!" + seen, localConfig + "!=true", hook + " notin (" + strings.Join(testHooks, ",") + ")"}
	return field.Map{
		{Key: "group", Value: alternatives(groups)},
		{Key: "kind", Value: alternatives(names)},
		{Key: "annotationSelector", Value: strings.Join(selector, ",")},
	}
}

func alternatives(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "|")
}

// groupPattern returns the pattern of a group. To kustomize an empty one is any.
func groupPattern(group string) string {
	if group == "" {
		return "^$"
	}
	return regexp.QuoteMeta(group)
}

// selector returns the target of a patch for objects whose names match a pattern.
func (t Target) selector(names string) field.Map {
	m := field.Map{
		{Key: "group", Value: groupPattern(t.Group)},
		{Key: "version", Value: regexp.QuoteMeta(t.Version)},
		{Key: "kind", Value: regexp.QuoteMeta(t.Kind)},
		{Key: "name", Value: names},
	}
	if t.Kind == "Namespace" && t.Group == "" {
		return m
	}
	return append(
		m,
		field.Entry{Key: "namespace", Value: regexp.QuoteMeta(cmp.Or(t.Namespace, "default"))},
	)
}

// merge returns a merge patch that changes nothing: kustomize refuses one without its object.
func (t Target) merge() string {
	version := strings.TrimPrefix(t.Group+"/"+t.Version, "/")
	text := "# the plans depend on this object\napiVersion: " + version + "\nkind: " + t.Kind + "\nmetadata:\n  name: " + quoted(t.Name)
	if t.Namespace != "" {
		text += "\n  namespace: " + quoted(t.Namespace)
	}
	return text + "\n"
}

func quoted(s string) string {
	return string(field.AppendJSON(nil, s))
}

// String returns the target as messages have it.
func (t Target) String() string {
	return string(field.AppendName(nil, t.Kind, t.Namespace, t.Name))
}

// unnamed returns the target without its name.
func (t Target) unnamed() Target {
	t.Name = ""
	return t
}

func (t Target) compare(u Target) int {
	return cmp.Or(
		cmp.Compare(t.Group, u.Group),
		cmp.Compare(t.Version, u.Version),
		cmp.Compare(t.Kind, u.Kind),
		cmp.Compare(t.Namespace, u.Namespace),
		cmp.Compare(t.Name, u.Name),
	)
}

// item returns an item of a list of patches. Its operations are YAML, a line each, below a comment:
// kustomize writes YAML anew before it compares bytes, so that a test of `&` holds. A second comment parts the tests
// from the edits, which a reviewer looks for.
func item(target field.Map, comment string, tests, edits []field.Operation) field.Map {
	b := make([]byte, 0, 128*(1+len(tests)+len(edits)))
	b = append(append(append(b, "# "...), strings.ReplaceAll(comment, "\n", " ")...), '\n')
	held := 0
	for _, o := range tests {
		if o.Op == field.OpTest {
			held++
		}
		b = append(o.AppendJSON(append(b, "- "...)), '\n')
	}
	if held > 0 && len(edits) > 0 {
		b = fmt.Appendf(b, "# the edits, if the %d tests above hold\n", held)
	}
	for _, o := range edits {
		b = append(o.AppendJSON(append(b, "- "...)), '\n')
	}
	return field.Map{{Key: "target", Value: target}, {Key: "patch", Value: string(b)}}
}
