package field

import (
	"slices"
	"testing"
)

// Whatever is asked is noted once, also of a copy that has changed, and answers as without notes.
func TestWhatIsAskedIsNoted(t *testing.T) {
	m := Metadata{Labels: KeyValues{{"app", "web"}}, Annotations: KeyValues{{"a", "1"}, {"b", "2"}}}
	var asked MetadataKeys
	noted := m.Note(&asked)
	if v, set := noted.Annotations.Lookup("b"); v != "2" || !set {
		t.Errorf("%q, %t", v, set)
	}
	changed := noted.Annotations.With("c", "3").Without("a")
	for key, want := range map[string]string{"a": "", "b": "2", "c": "3"} {
		if got := changed.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if len(changed.Unnoted()) != 2 || len(m.Annotations) != 2 {
		t.Errorf("%v of %v", changed.Unnoted(), m.Annotations)
	}
	noted.Labels.Get("tier")
	other := MetadataKeys{Labels: Keys{"tier", "app"}, Annotations: Keys{"z"}}
	other.Merge(&asked)
	var paths []string
	for _, p := range other.Paths(NewPath("metadata")) {
		paths = append(paths, p.String())
	}
	want := []string{"metadata.labels.app", "metadata.labels.tier", "metadata.annotations.a", "metadata.annotations.b", "metadata.annotations.c", "metadata.annotations.z"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	few := other.Of(func(key string) bool { return key == "a" })
	if len(few.Labels) != 0 || !slices.Equal(few.Annotations, Keys{"a"}) || len(other.Annotations) != 4 {
		t.Errorf("%v of %v", few, other)
	}
	if v := m.Note(nil).Labels.Get("app"); v != "web" {
		t.Errorf("without notes: %q", v)
	}
}
