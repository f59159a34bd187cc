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
		{Op: field.Set, Path: field.NewPath("spec").Item("containers", 0).Key("image")},
	}
	for path, want := range map[string]string{
		"spec.containers[0].image":      "spec.containers[0].image",
		"spec.containers[1].image":      "spec.containers[3].image",
		"spec.containers[9]":            "spec.containers[11]",
		"spec.containers[3].env[0]":     "spec.containers[5].env[0]",
		"spec.containers[3].env[10].x":  "spec.containers[5].env[9].x",
		"spec.containers[2].env[1]":     "spec.containers[4].env[1]",
		"spec.initContainers[1]":        "spec.initContainers[1]",
		"metadata.annotations[a.b/c]":   "metadata.annotations[a.b/c]",
		"metadata.annotations[a.b/c[1]": "metadata.annotations[a.b/c[1]",
		"":                              "",
	} {
		if got := movedField(path, movesOf(edits)); got != want {
			t.Errorf("%s has become %s, want %s", path, got, want)
		}
	}
}
