package manifest

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// parsed returns the documents of a text that are not empty.
func parsed(t *testing.T, text []byte) []any {
	t.Helper()
	all, err := testutil.NonEmptyDocuments(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all
}

// ends are ways in which a text may end, behind its last value.
var ends = []string{"", "\n", "\r\n", "\n\n", "\n  \n", "\n# c", "\n# c\n", "\n...", "\n...\n", "\n---\n", "\n---", " # c", "\n---\n# c\n"}

// starts are ways in which a text may start.
var starts = []string{"", "---\n", "\ufeff", "\ufeff---\n", "\n", "# c\n", "# c\n---\n", "%YAML 1.1\n---\n", "# c\n%YAML 1.1\n---\n", "--- # c\n", "\r\n"}

func TestFilesAreJoinedWhateverTheirStartsAndEnds(t *testing.T) {
	bodies := []string{
		"kind: A\nk: v", "kind: A\nk: |\n  v\n  w", "kind: A\nk: >+\n  v\n", "kind: A\nk: 'v\n\n  w'", "{\"kind\": \"A\"}", "{kind: A, k: [v]}",
		"kind: List\nitems:\n- kind: A\n  k: v", "kind: List\nitems:\n- {kind: A}", "kind: A\nk: &x v\nl: *x", "kind: A\r\nk: v",
	}
	n := 0
	for _, body := range bodies {
		for _, end := range ends {
			for _, start := range starts {
				a, b := []byte(start+body+end), []byte(start+"kind: B")
				if strings.HasSuffix(body, "\n") || strings.Contains(body, "|") && strings.HasPrefix(end, " #") {
					end = strings.TrimPrefix(end, " ")
				}
				one, err := Read("a", a)
				if err != nil {
					continue // FuzzRead holds Read against the full parser
				}
				n++
				text, err := Join([]*Stream{one, mustRead(t, b), mustRead(t, a)})
				if err != nil {
					t.Fatalf("%q and %q: %v", a, b, err)
				}
				want := slices.Concat(parsed(t, a), parsed(t, b), parsed(t, a))
				if got := parsed(t, text); !reflect.DeepEqual(got, want) {
					t.Errorf("%q and %q are joined to %q, which reads as %v, want %v", a, b, text, got, want)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d texts could be read", n)
	}
}

func TestAResourceListIsNotJoinedWithOtherFiles(t *testing.T) {
	list := mustRead(t, []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"))
	_, err := Join([]*Stream{mustRead(t, []byte("kind: A\n")), list})
	if err == nil || err.Error() != "<stdin>: a ResourceList must be alone in its stream, and the text of other files would come with it" {
		t.Errorf("error is %v", err)
	}
	if text, err := Join(nil); err != nil || len(text) > 0 {
		t.Errorf("no stream is joined to %q, %v", text, err)
	}
}

// lastItems are items that make it hard to find what comes behind a list.
var lastItems = []string{
	"- kind: A\n  spec:\n    list:\n    - a: 1", "- kind: A\n  spec:\n    list:\n      - a: 1",
	"- kind: A\n  spec: {list: [{a: 1}]}", "- {kind: A, spec: {list: [{a: 1}]}}", "-\n  kind: A\n  spec:\n    list:\n    - a",
	"- kind: A\n  spec: &x\n    list:\n    - a: 1", "- kind: A\n  spec:\n    list:\n    - a: 1 # c\n    # d",
	"- kind: A\n  spec:\n    list:\n    - a: |\n        b", "- kind: A\n  spec:\n    list:\n    - a: |+\n        b\n", "- kind: A\n  spec:\n    list: # c\n    -  a: 'b\n\n        c'",
	"- kind: A\n  spec:\n    list: []", "- kind: A\n  spec:\n    list:",
}

// behindItems are what may come behind the items of a ResourceList.
var behindItems = []string{"", "\nfunctionConfig:\n  kind: F", "\nfunctionConfig: {kind: F}", "\nresults:\n- message: old", "\nresults: []", "\nresults:", "\nfunctionConfig: {kind: F}\nresults:\n  - message: old\n    x: |\n      y", "\n# c\nresults: [{message: old}]\nfunctionConfig:\n  kind: F"}

func TestResultsAndItemsDoNotRunIntoEachOther(t *testing.T) {
	for _, before := range []string{"", "results:\n- message: old\n", "results: null\n", "functionConfig: {kind: F} # c\n"} {
		for _, item := range lastItems {
			for _, behind := range behindItems {
				if key, _, _ := strings.Cut(before, ":"); key != "" && strings.Contains(behind, "\n"+key) {
					continue
				}
				for _, end := range ends {
					in := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + before + "items:\n- kind: Z\n  z: z\n" + item + behind + end
					if strings.Contains(end, "---") || end == " # c" && strings.Contains(item+behind, "|") {
						continue // no ResourceList any more, or text of the block scalar
					}
					growLast(t, in)
					growLast(t, strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\n", "\r\n"))
				}
			}
		}
	}
}

// growLast appends to a list at the end of the last item, puts an object
// behind it, and adds a result.
func growLast(t *testing.T, in string) {
	t.Helper()
	s := mustRead(t, []byte(in))
	if s.endsInText {
		return // TestNothingIsPutBehindABlockScalarWithoutALineEnd
	}
	o := s.Objects()[len(s.Objects())-1]
	want, ok := parsed(t, []byte(in))[0].(map[string]any)
	if !ok {
		t.Fatalf("%q is no mapping", in)
	}
	items := want["items"].([]any)
	spec := items[1].(map[string]any)["spec"].(map[string]any)
	list, _ := spec["list"].([]any)
	err := o.Apply([]field.Edit{{Op: field.Insert, Path: path("spec.list").Index(len(list)), Value: field.Map{{Key: "new", Value: "x"}}}})
	if err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	spec["list"] = append(list, map[string]any{"new": "x"})
	if err := s.AddResults(slices.Values([]field.Map{{{Key: "message", Value: "m"}}})); err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	results, _ := want["results"].([]any)
	want["results"] = append(results, map[string]any{"message": "m"})
	text, err := s.Text()
	if err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	if got := parsed(t, text); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("%q became %q, which reads as\n%v, want\n%v", in, text, got, want)
	}
}

// composed returns an output before it is read again.
func composed(t *testing.T, streams ...*Stream) *composer {
	t.Helper()
	c := &composer{}
	if err := send(c, streams); err != nil {
		t.Fatal(err)
	}
	return c
}

// editedStreams are outputs with all that may be in one, and nothing (such as
// a comment in an edited object) that may go without a change of value.
func editedStreams(t *testing.T) map[string][]*Stream {
	t.Helper()
	const (
		list  = "items:\n- kind: A\n  metadata:\n    name: a\n  a: b\n# c\n- kind: B\n  spec: {a: 1}\n- kind: R\n- kind: C\n  # c\n  c: d\n"
		first = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	)
	edit := func(in string, results bool) *Stream {
		s := mustRead(t, []byte(in))
		objects := s.Objects()
		for _, err := range []error{
			objects[1].Apply([]field.Edit{set("spec.a", 2), set("spec.b", field.List{"x", "y"})}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if results {
			if err := s.AddResults(slices.Values([]field.Map{{{Key: "message", Value: "m"}}, {{Key: "message", Value: "n"}}})); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	const documents = "# c\nkind: A\na: b\n---\nkind: B\nspec:\n  a: 1\n---\nkind: R\n---\nkind: C\n# c\nc: d\n"
	return map[string][]*Stream{
		"documents":    {edit(documents, false)},
		"List":         {edit("apiVersion: v1\nkind: List\n"+list, false)},
		"ResourceList": {edit(first+list+"functionConfig:\n  kind: F\n", true)},
		"with results": {edit(first+"results:\n- message: l\n"+list, true)},
		"JSON":         {edit(`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"kind":"A"},{"kind":"B","spec":{"a":1}},{"kind":"R"},{"kind":"C","c":"d"}],"x":1}`, true)},
		"files":        {edit(documents, false), mustRead(t, []byte("kind: D")), edit(documents, false)},
	}
}

// TestEveryFaultInAnOutputIsFound breaks each line of each output in several
// ways: whatever a fault in the code that puts outputs together may do.
func TestEveryFaultInAnOutputIsFound(t *testing.T) {
	reasons := make(map[string]int)
	for name, streams := range editedStreams(t) {
		c := composed(t, streams...)
		if err := verify(c.text, c.verified, streams); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check := func(what string, text []byte) {
			if bytes.Equal(text, c.text) {
				return
			}
			for _, verified := range [][]yaml.Verified{c.verified, nil} {
				var e *Error
				if !errors.As(verify(text, verified, streams), &e) {
					t.Errorf("%s: %s is not found:\n%s", name, what, text)
					continue
				}
				reasons[reasonOf(e)]++
			}
		}
		for what, broken := range brokenTexts(c.text) {
			check(what, broken)
		}
	}
	for _, want := range []string{
		"it is missing", "the text before it differs", "its text differs, and it was not to be touched",
		"its text differs from the one that was read when it was edited",
		"it has become", "the ResourceList or its functionConfig differs", "the results are missing",
		"nothing like it was planned", "the text behind the last object differs", "unreadable",
	} {
		if reasons[want] == 0 {
			t.Errorf("no fault is found because %q: %v", want, slices.Collect(maps.Keys(reasons)))
		}
	}
}

var inBrackets = regexp.MustCompile(`planned \((.*?)\); nothing was written, please report`)

func reasonOf(e *Error) string {
	m := inBrackets.FindStringSubmatch(e.Error())
	if m == nil {
		return e.Error()
	}
	for _, known := range []string{"it is missing", "its ", "the text ", "the results ", "the ResourceList ", "nothing like"} {
		if strings.HasPrefix(m[1], "it has become") {
			return "it has become"
		}
		if strings.HasPrefix(m[1], known) {
			return m[1]
		}
	}
	return "unreadable"
}

// brokenTexts returns broken versions of a text: each of its lines deleted,
// doubled, swapped with the next, indented, without its end and with another
// character anywhere, and with a document, an item or a NUL put before it.
func brokenTexts(text []byte) map[string][]byte {
	all := make(map[string][]byte)
	lines := bytes.SplitAfter(text, []byte("\n"))
	with := func(i, n int, by ...[]byte) []byte {
		return bytes.Join(slices.Concat(lines[:i], by, lines[min(i+n, len(lines)):]), nil)
	}
	for i, line := range lines {
		at := string(line) + "in line " + string(rune('0'+i%10)) + " " + string(rune('a'+i/10)) + ": "
		all[at+"deletion"] = with(i, 1)
		all[at+"the end"] = bytes.Join(lines[:i], nil)
		all[at+"doubling"] = with(i, 0, line)
		all[at+"indentation"] = with(i, 1, append([]byte("  "), line...))
		all[at+"no line end"] = with(i, 1, bytes.TrimSuffix(line, []byte("\n")))
		all[at+"document"] = with(i, 0, []byte("---\nkind: X\n---\n"))
		all[at+"item"] = with(i, 0, []byte("- kind: X\n"))
		all[at+"NUL"] = with(i, 0, []byte("\x00"))
		if i+1 < len(lines) {
			all[at+"swap"] = with(i, 2, lines[i+1], line)
		}
		for j, c := range line {
			if c > ' ' {
				all[at+"character "+string(line[:j])] = with(i, 1, slices.Concat(line[:j], []byte("w"), line[j+1:]))
			}
		}
	}
	return all
}

func TestAnOutputThatIsNotAsPlannedIsNotWritten(t *testing.T) {
	for name, fault := range map[string]func(*Object){
		"another value":           func(o *Object) { o.patch[0].text = strings.Replace(o.patch[0].text, "2", "3", 1) },
		"another place":           func(o *Object) { o.patch[0].start -= 2; o.patch[0].end -= 2 },
		"an edit that is lost":    func(o *Object) { o.patch = []splice{} },
		"a plan that is another":  func(o *Object) { o.planned++ },
		"edits of another object": func(o *Object) { o.stream.objects[0].patch, o.stream.objects[0].changed = o.patch, true },
		"overlapping edits":       func(o *Object) { o.patch = append(o.patch, o.patch...) },
		"an edit out of bounds":   func(o *Object) { o.patch[0].end += 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, []byte("kind: A\nmetadata:\n  name: a\n---\nkind: B\nmetadata:\n  name: b\nspec:\n  a: 1\n"))
			o := s.Objects()[1]
			if err := o.Apply([]field.Edit{set("spec.a", 2)}); err != nil {
				t.Fatal(err)
			}
			fault(o)
			out, err := s.Text()
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "internal error: the output is not what was planned") || len(out) > 0 {
				t.Errorf("%d bytes were written; error: %v", len(out), err)
			}
			if _, err := Join([]*Stream{mustRead(t, []byte("kind: C\n")), s}); err == nil {
				t.Error("with another file it is written")
			}
		})
	}
}

// TestTheErrorOfAnOutputSaysWhere: it names the object, or the line of an output that cannot be read.
func TestTheErrorOfAnOutputSaysWhere(t *testing.T) {
	for in, want := range map[string]string{
		"kind: A\n---\nkind: B\nmetadata: {name: b}\nspec: {a: 1}\n":               "<stdin>: B b: internal error: ",
		"kind: A\n---\nkind: B\nmetadata: {name: b}\nspec: {a: 1}\nz: |\n  text\n": "<stdin>: internal error: the output is not what was planned (<stdin>:5: invalid YAML: ",
	} {
		s := mustRead(t, []byte(in))
		o := s.Objects()[1]
		if err := o.Apply([]field.Edit{set("spec.a", 2)}); err != nil {
			t.Fatal(err)
		}
		o.patch[0].text = "2}"
		if _, err := s.Text(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error: %v", in, err)
		}
	}
}

// TestUnusualRootsAndListsAreEdited has forms that no tool writes and that the
// API server takes.
func TestUnusualRootsAndListsAreEdited(t *testing.T) {
	const pod = `{kind: Pod, metadata: {name: it's}, args: [it's, --sel="x", a#b], a: {b: c}}`
	for _, in := range []string{
		pod,
		"--- # c\n" + pod + " # it's",
		"kind: List\nitems: &all\n- kind: Pod\n  a: {b: c}\n",
		"kind: List\nitems:\n- &a\n  kind: Pod\n  a: {b: c}\n- &b " + pod + "\n- &c # c\n  kind: Pod\n  a:\n    b: c",
		"{kind: List, items: [" + pod + ", # it's\n &x " + pod + "\n]}",
		"{kind: List, items: &all [ &x " + pod + " , {kind: A}]}",
		"{kind: ResourceList, items: [" + pod + "], functionConfig: {kind: F, x: it's}, results: [{message: it's}]}",
		"{kind: ResourceList, results: [ # it's\n], items: [" + pod + "]}",
		"{kind: ResourceList, results: null, items: [" + pod + "]}",
		"{kind: ResourceList, results: , items: [" + pod + "]}",
		"{kind: ResourceList, # it's\n items: [" + pod + ", ], # c\n}",
		"{kind: ResourceList, items: [{kind: Pod, a: {b: c}}], x: y # c\n}",
		"{kind: ResourceList, items: [{kind: Pod, a: {b: c}}], x: y\n# c\n}",
		"{kind: ResourceList, items: [{kind: Pod, a: {b: c}}], x: y\t# c\n}",
		"{kind: ResourceList, items: [{kind: Pod, a: {b: c}}], x: y ,\n}",
		"kind: ResourceList\nitems: [&x " + pod + ", *y]\nz: &y {kind: Y}\n",
		"kind: ResourceList\nresults: &r\n- message: it's\nitems: &all\n- kind: Pod\n  a: {b: c}\n",
		"!!map\nkind: ResourceList\nitems:\n- kind: Pod\n  a: {b: c}\n",
	} {
		want, err := testutil.NonEmptyDocuments([]byte(in))
		if err != nil {
			continue // not YAML for this parser
		}
		s, err := Read("in", []byte(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if err := s.Objects()[0].Apply([]field.Edit{set("a.b", "d")}); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		root := want[0].(map[string]any)
		o := root
		if items, ok := root["items"].([]any); ok {
			o = items[0].(map[string]any)
		}
		o["a"].(map[string]any)["b"] = "d"
		if s.IsResourceList() {
			if err := s.AddResults(slices.Values([]field.Map{{{Key: "message", Value: "m"}}})); err != nil {
				t.Errorf("%q: %v", in, err)
				continue
			}
			old, _ := root["results"].([]any)
			root["results"] = append(old, map[string]any{"message": "m"})
		}
		text, err := s.Text()
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got, err := testutil.NonEmptyDocuments(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %q, which reads as\n%v (%v), want\n%v", in, text, got, err, want)
		}
	}
}
