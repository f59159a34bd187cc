package pipeline

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAFieldIsNamedWhereTheEditsHaveMovedIt(t *testing.T) {
	edits := []field.Edit{
		{Op: field.Insert, Path: field.NewPath("spec").Item("containers", 1)},
		{Op: field.Insert, Path: field.NewPath("spec").Item("containers", 1)},
		{Op: field.Delete, Path: field.NewPath("spec").Item("containers", 3).Item("env", 0)},
		{Op: field.Insert, Path: field.NewPath("spec").Item("containers", 10)}, // of the list as it was
		{Op: field.Set, Path: field.NewPath("spec").Item("containers", 0).Key("image")},
		{Op: field.Delete, Path: nil},
	}
	containers := func(i int) field.Path { return field.NewPath("spec").Item("containers", i) }
	for _, c := range []struct {
		path field.Path
		want string
	}{
		{containers(0).Key("image"), "spec.containers[0].image"},
		{containers(1).Key("image"), "spec.containers[3].image"},
		{containers(9), "spec.containers[11]"},
		{containers(10), "spec.containers[13]"},
		{containers(3).Item("env", 0), "spec.containers[5].env[0]"},
		{containers(3).Item("env", 10).Key("x"), "spec.containers[5].env[9].x"},
		{containers(2).Item("env", 1), "spec.containers[4].env[1]"},
		{field.NewPath("spec").Item("initContainers", 1), "spec.initContainers[1]"},
		{field.NewPath("spec", "containers"), "spec.containers"},
		{nil, ""},
	} {
		if got := movedField(c.path, edits).String(); got != c.want {
			t.Errorf("%s has become %s, want %s", c.path, got, c.want)
		}
	}
}
