package apiserver

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// An object is a workload or a Namespace, as a document of its own.
type object struct {
	kind, namespace, name string // kind with its apiVersion, as in resources
	text                  []byte
}

// A source is a file with manifests.
type source struct {
	name    string
	objects []object
}

// objects returns the Namespaces and workloads in a text of documents, those inside
// Lists and ResourceLists among them. A text that is not YAML has none.
func objects(text []byte) []object {
	var found []object
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return found // a file that is meant to be refused
		}
		if len(doc.Content) == 1 {
			found = append(found, expand(doc.Content[0])...)
		}
	}
}

func expand(n *yaml.Node) []object {
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Namespace, Name     string
			Labels, Annotations map[string]string
		}
		Items []yaml.Node
	}
	if err := n.Decode(&head); err != nil {
		return nil
	}
	var found []object
	for i := range head.Items {
		found = append(found, expand(&head.Items[i])...)
	}
	kind := head.APIVersion + "/" + head.Kind
	if resources[kind] == "" && kind != namespaceKind {
		return found
	}
	if strings.Contains(head.Metadata.Namespace+head.Metadata.Name, "${") {
		return found // a variable to be substituted first: no API server sees it
	}
	if head.Metadata.Namespace == "" {
		head.Metadata.Namespace = "default"
	}
	if len(validation.IsDNS1123Label(head.Metadata.Namespace)) > 0 {
		return found // a test's, of how that is shown
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return found
	}
	return append(found, object{kind, head.Metadata.Namespace, head.Metadata.Name, text})
}

// namespaceKind is the kind that is really created, since the labels of a Namespace
// decide what is allowed in it.
const namespaceKind = "v1/Namespace"

// pod returns the pod that a controller would make of a workload; ok is false if the
// object is no workload, or a pod itself.
func (o object) pod() (pod object, ok bool) {
	path := []string{"spec", "template"}
	switch o.kind {
	case "v1/Pod":
		return object{}, false
	case "v1/PodTemplate":
		path = []string{"template"}
	case "batch/v1/CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template"}
	}
	var tree map[string]any
	if err := yaml.Unmarshal(o.text, &tree); err != nil {
		return object{}, false
	}
	for _, key := range path {
		if tree, ok = tree[key].(map[string]any); !ok {
			return object{}, false
		}
	}
	metadata, _ := tree["metadata"].(map[string]any)
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": tree["spec"],
		"metadata": map[string]any{"generateName": "pod-", "labels": metadata["labels"], "annotations": metadata["annotations"]},
	})
	return object{"v1/Pod", o.namespace, o.name, text}, err == nil
}

// sources lists the manifests to try: everything under a folder testdata or
// an example of this repository, the pods of the kubelet's tests, and the
// real-world manifests.
func sources(root string) ([]source, error) {
	var all []source
	add := func(file, name string) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s := source{name: name}
		if strings.HasSuffix(file, ".txtar") {
			for _, f := range txtar.Parse(text).Files {
				s.objects = append(s.objects, objects(f.Data)...)
			}
		} else {
			s.objects = objects(text)
		}
		if len(s.objects) > 0 {
			all = append(all, s)
		}
		return nil
	}
	wanted := map[string]bool{".yaml": true, ".yml": true, ".json": true, ".golden": true, ".txtar": true, ".txt": true}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := "/" + strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/")
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || rel == "/bin" || rel == "/dist") && path != root {
			return filepath.SkipDir
		}
		inside := strings.Contains(rel, "/testdata/") || strings.HasPrefix(rel, "/examples/") ||
			strings.HasPrefix(rel, "/kustomization-example/") || strings.HasPrefix(rel, "/test/e2e/pods/")
		if d.IsDir() || !inside || !wanted[filepath.Ext(path)] {
			return nil
		}
		return add(path, rel[1:])
	})
	if err != nil {
		return nil, err
	}
	corpus, err := testutil.Corpus(root)
	if err != nil {
		return nil, err
	}
	for _, file := range corpus {
		if err := add(file, realWorld+filepath.Base(file)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
