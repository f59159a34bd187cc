//go:build meshwatcher

package main

import (
	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
)

// newWatcher returns what never changes a mesh config.
func newWatcher(m *meshconfig.MeshConfig) meshwatcher.TestWatcher {
	return meshwatcher.NewTestWatcher(m)
}
