package testutil

import (
	"reflect"
	"testing"
)

func TestDocumentsAreReadWithAndWithoutEmptyOnes(t *testing.T) {
	const text = "\ufeffa: 1\n---\n# nothing\n---\n- |+\n  b"
	all, err := NonEmptyDocuments([]byte(text))
	if want := []any{map[string]any{"a": 1}, []any{"b\n"}}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("got %#v, %v, want %#v", all, err, want)
	}
	if all, err := Documents([]byte(text)); err != nil || len(all) != 3 || all[1] != nil {
		t.Errorf("got %#v, %v, want 3 documents", all, err)
	}
	if _, err := Documents([]byte("a: [\n")); err == nil {
		t.Error("a text that is no YAML is read")
	}
}
