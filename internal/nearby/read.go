package nearby

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// localConfig marks objects that never reach a cluster, by any value but ""
// and "false" (functions-spec, kpt and kustomize).
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether the metadata is that of an object that never reaches a cluster.
func IsLocal(m *field.Metadata) bool {
	v := m.Annotations.Get(localConfig)
	return v != "" && v != "false"
}

// metadataOf returns the object's metadata; nil if they are invalid or the object never
// reaches a cluster.
func metadataOf(o *manifest.Object) *field.Metadata {
	if m, err := o.Metadata(); err == nil && !IsLocal(m) {
		return m
	}
	return nil
}
