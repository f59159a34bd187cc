package patches

import (
	"errors"
	"path"
	"reflect"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A tree is the files of a repository by path.
type tree map[string]string

// build returns what kustomize makes of a folder.
func build(files tree, folder string) ([]byte, error) {
	fs := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := fs.WriteFile(path.Join("/", name), []byte(text)); err != nil {
			return nil, err
		}
	}
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, path.Join("/", folder))
	if err != nil {
		return nil, err
	}
	return m.AsYaml()
}

// An object is a Kubernetes object as a value.
type object = map[string]any

// objects returns the objects of a stream by their names, without what only the function writes.
func objects(t testing.TB, text []byte) map[string]object {
	t.Helper()
	all, err := testutil.Objects(text, func(doc []byte, into any) error { return yaml.Unmarshal(doc, into) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(text []byte) (*manifest.Stream, *config.RewriteProbes, error) {
	s, err := manifest.Read("in.yaml", text)
	if err != nil {
		return nil, nil, err
	}
	c, err := config.Decode(nil)
	return s, c, err
}

// rewritten returns what the function writes; an error if it refuses an object.
func rewritten(text []byte) ([]byte, error) {
	s, c, err := read(text)
	if err != nil {
		return nil, err
	}
	if r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite); r.Failed() {
		return nil, errors.New(r.Messages[0].String())
	}
	return s.Text()
}

// patchesFor returns the patches for a render, and whether there is something to change.
func patchesFor(text []byte) (*patches.Set, error) {
	s, c, err := read(text)
	if err != nil {
		return nil, err
	}
	set, r := pipeline.Patches([]*manifest.Stream{s}, c, func(*manifest.Object) bool { return true }, patches.Destination{})
	if r.Failed() {
		return nil, errors.New(r.Messages[0].String())
	}
	return set, nil
}

func same(t testing.TB, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(objects(t, a), objects(t, b))
}
