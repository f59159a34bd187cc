package patches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A span is the part of a list of patches that an earlier run wrote.
type span struct {
	list     field.Path // of the patches
	items    field.List // all of the list
	from, to int        // of ours
}

// Holds reports whether an object has patches that an earlier run wrote. A HelmRelease that has
// them is as good as rendered.
func Holds(o *manifest.Object) bool {
	if FormOf(o) == "" || !o.MayMention(seenPath[2:].Pointer()) {
		return false
	}
	_, found := find(o)
	return found
}

// Own returns the paths of the patches that an earlier run wrote into an object.
func Own(o *manifest.Object) (paths []field.Path) {
	at, found := find(o)
	if !found {
		return nil
	}
	for i := at.from; i < at.to; i++ {
		paths = append(paths, at.list.Index(i))
	}
	return paths
}

// Before returns what builds as an object have before the patches of an earlier run are applied: the patches of a
// kustomization, or else of its object, and the post-renderers of a HelmRelease. Without such patches it is all.
func Before(o *manifest.Object) field.List {
	form := FormOf(o)
	path := pathOf(form)
	v, _ := o.Value(path)
	items, _ := v.(field.List)
	at, found := find(o)
	switch {
	case !found:
		return items
	case form != HelmRelease:
		return items[:at.from]
	}
	i := int(at.list[len(path)].Index)
	return append(slices.Clone(items[:i]), postRenderer(at.items[:at.from]))
}

// Renamed returns an object that the set patches just as the patches in another one patch an object of another
// name, which is gone; "" if there is none. Its name may change with each render.
func (s *Set) Renamed(home *manifest.Object) (was, is string) {
	at, found := find(home)
	if !found {
		return "", ""
	}
	before := at.items[at.from:at.to]
	after := s.items()
	old := byTarget(before)
	now := byTarget(after)
	gone := make(map[string]string) // the objects by their patch without its name
	for _, v := range before {
		if key := describe(v); now[key] == "" && targetOf(v, "name") != "" && !isMark(v) {
			gone[nameless(old[key], v)] = key
		}
	}
	for _, v := range after {
		key := describe(v)
		was = gone[nameless(now[key], v)]
		if old[key] == "" && !isMark(v) && was != "" {
			return was, key
		}
	}
	return "", ""
}

// nameless returns the text of a patch without the name of its object.
func nameless(text string, v field.Value) string {
	pattern := targetOf(v, "name")
	name := strings.ReplaceAll(pattern, `\`, "")
	copied := `"` + copyOf(name).Pointer()
	return strings.NewReplacer(quoted(pattern), "", quoted(name), "", copied, "").Replace(text)
}

// IsRewrittenBy returns an object that the patches in another one change, and that is already as they make it;
// "" if there is none. So they are in the render that the set was planned from.
func (s *Set) IsRewrittenBy(home *manifest.Object) string {
	at, found := find(home)
	if !found {
		return ""
	}
	changed := make(map[string]bool)
	for _, v := range at.items[at.from:at.to] {
		text := patchText(v)
		changed[describe(v)] = !isMark(v) && !isUnmark(v) &&
			(strings.Contains(text, `{"op":"add",`) || strings.Contains(text, `{"op":"replace",`))
	}
	for _, t := range s.Rewritten {
		t.Namespace = cmp.Or(t.Namespace, "default")
		if changed[t.String()] {
			return t.String()
		}
	}
	return ""
}

// find returns what an earlier run wrote into an object.
func find(o *manifest.Object) (span, bool) {
	form := FormOf(o)
	path := pathOf(form)
	if form != HelmRelease {
		return spanOf(o, path)
	}
	v, _ := o.Value(path)
	renderers, _ := v.(field.List)
	for i := range renderers {
		if s, found := spanOf(o, path.Index(i).Key("kustomize", "patches")); found {
			return s, true
		}
	}
	return span{}, false
}

// spanOf returns the items from the first that has to do with the mark to the one that removes it.
func spanOf(o *manifest.Object, list field.Path) (span, bool) {
	v, _ := o.Value(list)
	items, _ := v.(field.List)
	from := slices.IndexFunc(
		items,
		func(v field.Value) bool {
			return isMark(v) || isGuard(v) || isUnmark(v)
		},
	)
	if from < 0 {
		return span{}, false
	}
	to := slices.IndexFunc(items[from:], isUnmark)
	if to < 0 {
		return span{}, false
	}
	return span{list, items, from, from + to + 1}, true
}

func isMark(v field.Value) bool {
	return strings.Contains(patchText(v), `{"op":"add","path":"`+seenPath.Pointer()+`"`)
}

func isUnmark(v field.Value) bool {
	return strings.Contains(patchText(v), `{"op":"remove","path":"`+seenPath.Pointer()+`"`)
}

func isGuard(v field.Value) bool {
	return strings.Contains(targetOf(v, "annotationSelector"), "!"+seen)
}

// patchText returns an item's patch without blanks, which another program may have written otherwise.
func patchText(v field.Value) string {
	m, _ := v.(field.Map)
	return strings.ReplaceAll(field.As[string](m, "patch"), " ", "")
}

func targetOf(v field.Value, key string) string {
	m, _ := v.(field.Map)
	return field.As[string](field.As[field.Map](m, "target"), key)
}

// Into returns the edits that write the set into an object, in the place of what an earlier run
// wrote there, or else behind what is there, and what they change, in words. There are none if only
// comments would change.
func (s *Set) Into(o *manifest.Object) (edits []field.Edit, changes []string, err error) {
	form := FormOf(o)
	if form == ArgoCD {
		if err := Misplaced(o); err != nil {
			return nil, nil, err
		}
	}
	now, items := s.items(), field.List(nil)
	at, found := find(o)
	if found {
		items = at.items[at.from:at.to]
	}
	if changes = differences(items, now); len(changes) == 0 {
		return nil, nil, nil
	}
	path := pathOf(form)
	switch {
	case found:
		for i := at.from; i < at.to; i++ {
			edits = append(edits, field.Edit{Op: field.Delete, Path: at.list.Index(i)})
		}
		return append(edits, insert(at.list, at.from, now)...), changes, nil
	case form == HelmRelease:
		now = field.List{postRenderer(now)}
	}
	v, _ := o.Value(path)
	have, _ := v.(field.List)
	return insert(path, len(have), now), changes, nil
}

func insert(list field.Path, at int, items field.List) (edits []field.Edit) {
	for _, v := range items {
		edits = append(edits, field.Edit{Op: field.Insert, Path: list.Index(at), Value: v})
	}
	return edits
}

// Removal returns the edits that take out of an object what an earlier run wrote, and the lists and
// mappings that have nothing else; none if there is nothing.
func Removal(o *manifest.Object) (edits []field.Edit) {
	at, found := find(o)
	if !found {
		return nil
	}
	if at.to-at.from < len(at.items) {
		for i := at.from; i < at.to; i++ {
			edits = append(edits, field.Edit{Op: field.Delete, Path: at.list.Index(i)})
		}
		return edits
	}
	path := at.list
	source := field.NewPath("spec", "source")
	for len(path) > 1 {
		above := path[:len(path)-1]
		if !isAlone(o, above) || slices.Equal(above, source) {
			break
		}
		path = above
	}
	return []field.Edit{{Op: field.Delete, Path: path}}
}

// isAlone reports whether the mapping or list at a path has one entry.
func isAlone(o *manifest.Object, path field.Path) bool {
	v, _ := o.Value(path)
	switch v := v.(type) {
	case field.Map:
		return len(v) == 1
	case field.List:
		return len(v) == 1
	}
	return false
}

// differences says in which patches two lists differ, comments aside.
func differences(before, after field.List) (words []string) {
	was := byTarget(before)
	is := byTarget(after)
	for _, v := range after {
		key := describe(v)
		switch old, had := was[key]; {
		case !had:
			words = append(words, key+": new")
		case old != is[key]:
			words = append(words, key+": "+firstDifference(old, is[key]))
		}
	}
	for _, v := range before {
		if key := describe(v); is[key] == "" {
			words = append(words, key+": gone")
		}
	}
	areSame := func(v, w field.Value) bool {
		return describe(v) == describe(w)
	}
	if len(words) == 0 && !slices.EqualFunc(before, after, areSame) {
		words = append(words, "the order of the patches")
	}
	return words
}

// byTarget returns the texts of patches, without comments, by what they are about.
func byTarget(items field.List) map[string]string {
	texts := make(map[string]string)
	for _, v := range items {
		m, _ := v.(field.Map)
		target, _ := m.Get("target")
		lines := []string{string(field.AppendJSON(nil, target)), "\n"}
		for line := range strings.Lines(field.As[string](m, "patch")) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				lines = append(lines, line)
			}
		}
		texts[describe(v)] += strings.Join(lines, "")
	}
	return texts
}

// firstDifference quotes the first line in which two patches differ.
func firstDifference(was, is string) string {
	before := strings.Split(was, "\n")
	after := strings.Split(is, "\n")
	i := 0
	for i < min(len(before), len(after)) &&
		before[i] == after[i] {
		i++
	}
	line := func(lines []string) string {
		if i >= len(lines) || lines[i] == "" {
			return "nothing"
		}
		return strings.TrimPrefix(lines[i], "- ")
	}
	return fmt.Sprintf("%s, was %s", line(after), line(before))
}

// describe words the target of a patch.
func describe(v field.Value) string {
	kind := targetOf(v, "kind")
	namespace := targetOf(v, "namespace")
	name := targetOf(v, "name")
	switch {
	case isMark(v) && namespace == "":
		return "the known objects of kind " + kind
	case isMark(v):
		return "the known objects of kind " + kind + " in " + namespace
	case isGuard(v):
		return "the guard against new objects of kind " + kind
	case kind != "":
		return string(field.AppendName(nil, kind, namespace, strings.ReplaceAll(name, `\`, "")))
	}
	m, _ := v.(field.Map)
	var found [3]string
	for line := range strings.Lines(field.As[string](m, "patch")) {
		for i, key := range []string{"kind: ", "  namespace: ", "  name: "} {
			if value, ok := strings.CutPrefix(line, key); ok {
				found[i] = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	if found[0] == "" {
		return "the end"
	}
	return string(field.AppendName([]byte("the required "), found[0], found[1], found[2]))
}
