// Package meshes gives pods that rewrite-probes has rewritten to the injectors
// of Linkerd, Consul and Kuma, by their own code.
//
// The injectors are compiled inside their own modules, with their own
// dependencies: each folder below testdata is a program that the go command
// overlays onto a checkout of the mesh. The checkouts are in MESH_SOURCES, or
// .meshes of the repository; `make meshes` fetches them (build/mesh-sources.sh
// has the versions) and runs these tests.
//
// A mesh whose checkout is not there is not tested, which the test says. Kuma's
// module replaces Envoy's API by a copy that the module proxy may not have; the
// copy is not needed here, so the program is compiled with the original. Of
// Flomesh's injector the part is run that rewrites probes; the whole issues
// certificates and creates Secrets in a cluster.
//
// The programs of Linkerd's and Kuma's redirection print the rules that these
// would apply; those of the mesh stand-in of the end-to-end tests must be the same.
package meshes
