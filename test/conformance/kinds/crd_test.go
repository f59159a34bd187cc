package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// A schema is the part of a CRD's schema that the tests read.
type schema struct {
	Properties map[string]*schema `yaml:"properties"`
	Items      *schema            `yaml:"items"`
	Preserve   bool               `yaml:"x-kubernetes-preserve-unknown-fields"`
}

// at follows a path; a schema that preserves unknown fields has everything.
func (s *schema) at(path field.Path) *schema {
	for _, step := range path {
		switch {
		case s == nil:
			return nil
		case step == field.EveryItem && s.Items != nil:
			s = s.Items
		case step != field.EveryItem && s.Properties[step.Key] != nil:
			s = s.Properties[step.Key]
		case s.Preserve:
			return s
		default:
			return nil
		}
	}
	return s
}

type definition struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Group string `yaml:"group"`
		Names struct {
			Kind string `yaml:"kind"`
		} `yaml:"names"`
		Versions []struct {
			Name   string `yaml:"name"`
			Schema struct {
				OpenAPI *schema `yaml:"openAPIV3Schema"`
			} `yaml:"schema"`
		} `yaml:"versions"`
	} `yaml:"spec"`
}

// definitions returns the definitions in a stream of documents.
func definitions(t *testing.T, text []byte) []definition {
	t.Helper()
	var all []definition
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var one definition
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		if one.Kind == "CustomResourceDefinition" {
			all = append(all, one)
		}
	}
}

// moduleFile returns a file of a Go module: some projects publish their CRDs in
// theirs.
func moduleFile(t *testing.T, module, file string) []byte {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(got.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compare compares the table with every definition of a known kind, and returns
// their number.
func compare(t *testing.T, all []definition) (compared int) {
	t.Helper()
	for _, d := range all {
		kind := workload.KindOf(d.Spec.Group, d.Spec.Names.Kind)
		if kind == nil {
			continue
		}
		compared++
		for _, v := range d.Spec.Versions {
			for _, template := range kind.Templates {
				root := v.Schema.OpenAPI.at(template)
				containers := root.at(field.NewPath("spec", "containers"))
				if root == nil || containers == nil {
					t.Errorf("%s %s: no pod template at %s", kind.Name, v.Name, template)
					continue
				}
				if has := root.at(field.NewPath("metadata")) != nil; has == kind.Shape.WorkloadMetadata {
					t.Errorf("%s %s: %s has metadata: %v", kind.Name, v.Name, template, has)
				}
				init := root.at(field.NewPath("spec", "initContainers"))
				restart := init.at(field.Path{field.EveryItem, {Key: "restartPolicy"}})
				if has := restart != nil; has == kind.Shape.NoNativeSidecars && kind.Shape.ProbesMadeBy == "" {
					t.Errorf("%s %s: init containers have restartPolicy: %v", kind.Name, v.Name, has)
				}
			}
		}
	}
	return compared
}

func TestTheTableFollowsTheDefinitionsOfTheKinds(t *testing.T) {
	for module, file := range map[string]string{
		"github.com/argoproj/argo-rollouts@v1.8.5": "manifests/crds/rollout-crd.yaml",
		"github.com/kedacore/keda/v2@v2.21.0":      "config/crd/bases/keda.sh_scaledjobs.yaml",
	} {
		if n := compare(t, definitions(t, moduleFile(t, module, file))); n != 1 {
			t.Errorf("%s: %d kinds were compared", module, n)
		}
	}
}

func TestTheTableFollowsTheDefinitionsOfKubeflow(t *testing.T) {
	if n := compare(t, definitions(t, testutil.CorpusFile(t, "../../..", "kubeflow.yaml"))); n < 4 {
		t.Errorf("%d kinds were compared, must be Notebook and three of Knative's at least", n)
	}
}
