package testutil

import "testing"

func TestTheVersionIsThatOfGoMod(t *testing.T) {
	const cobra = "github.com/spf13/cobra"
	if v, err := ModuleVersion("../../go.mod", cobra); err != nil || len(v) < 2 || v[0] != 'v' {
		t.Errorf("%s is %q, %v", cobra, v, err)
	}
	if v, err := ModuleVersion("../../go.mod", "example.com/none"); err == nil {
		t.Errorf("a module that is not required has version %q", v)
	}
}
