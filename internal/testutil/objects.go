package testutil

import (
	"fmt"
	"strings"
)

// Objects returns the objects of a YAML stream by apiVersion, kind, namespace and name, without
// the annotation for restore, which patches do not write. The caller says how a document is read,
// so that it is read as the program under test reads it. Two objects of one name are an error.
func Objects(text []byte, unmarshal func([]byte, any) error) (map[string]map[string]any, error) {
	all := make(map[string]map[string]any)
	for doc := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		var o map[string]any
		if err := unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		if len(o) == 0 {
			continue
		}
		metadata, _ := o["metadata"].(map[string]any)
		name := fmt.Sprint(o["apiVersion"], " ", o["kind"], " ", metadata["namespace"], "/", metadata["name"])
		if all[name] != nil {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		dropRecords(o)
		all[name] = o
	}
	return all, nil
}

// dropRecords deletes the annotation for restore from all annotations in a value, and annotations
// that are empty then.
func dropRecords(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			dropRecords(inner)
			if key != "annotations" {
				continue
			}
			annotations, _ := inner.(map[string]any)
			delete(annotations, "rewrite-probes.io/originals")
			if len(annotations) == 0 {
				delete(v, key)
			}
		}
	case []any:
		for _, item := range v {
			dropRecords(item)
		}
	}
}
