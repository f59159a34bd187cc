package transformer

import "slices"

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
