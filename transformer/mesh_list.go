package transformer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// serviceMeshes are all meshes. A new one is a file with the mesh's profile and an entry here.
var serviceMeshes = []*serviceMesh{
	{meshData: istioData, meshProfile: istio{}},
	{meshData: linkerd.meshData, meshProfile: linkerd},
	{meshData: kuma.meshData, meshProfile: kuma, findOriginal: kumaOriginal, injected: kumaInjected, serves: kuma.serves},
	{
		meshData: consul.meshData, meshProfile: consul, findOriginal: consulOriginal, injected: consulMarks,
		serves: consul.serves,
	},
	{meshData: openServiceMesh.meshData, meshProfile: openServiceMesh},
	{meshData: flomesh.meshData, meshProfile: flomesh},
	{meshData: noMeshData, meshProfile: noMesh{}},
}

// meshNamed returns the mesh of a name, one of [Meshes].
func meshNamed(name string) *serviceMesh {
	return serviceMeshes[slices.IndexFunc(
		serviceMeshes,
		func(d *serviceMesh) bool { return d.name == name },
	)]
}

// Meshes returns the values that [Options].Mesh may have.
func Meshes() []string {
	names := []string{MeshAuto}
	for _, d := range serviceMeshes {
		names = append(names, d.name)
	}
	return names
}

// otherInjectors are in the keys by which others than meshes add containers to pods, or leave a Namespace out:
// rewrite-probes, OpenTelemetry, and the label of Namespaces with a control plane.
var otherInjectors = []string{"rewrite-probes", "opentelemetry", "control-plane"}

// IsOfMesh reports whether a label or annotation of a Namespace says something of a mesh, or of what adds containers
// to pods.
func IsOfMesh(key string) bool {
	isIn := func(word string) bool { return strings.Contains(key, word) }
	reads := func(d *serviceMesh) bool { return d.word != "" && isIn(d.word) }
	return slices.ContainsFunc(serviceMeshes, reads) || slices.ContainsFunc(otherInjectors, isIn)
}

// InjectionKeys returns the labels and annotations by which meshes inject.
func InjectionKeys() (keys []string) {
	for _, d := range serviceMeshes {
		for _, m := range d.inject {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// IsMeshProxy reports whether a container of that name and image is a mesh's proxy.
func IsMeshProxy(name, image string) bool {
	c := &pod.Container{Name: name, Image: image}
	return slices.ContainsFunc(serviceMeshes, func(d *serviceMesh) bool { return d.isProxy(c) })
}

// ControlPlanes returns the meshes by the Deployments of their control planes. A star in a name stands for the rest:
// at its end for a revision, at its start for a release.
func ControlPlanes() map[string]string {
	names := make(map[string]string)
	for _, d := range serviceMeshes {
		if d.control != "" {
			names[d.control] = cmp.Or(d.short, d.title)
		}
	}
	return names
}
