// Package meshes has no code: its tests send pods that rewrite-probes has
// rewritten through the injectors of Linkerd, Consul and Kuma, by their own code.
//
// The injectors are compiled inside their own modules, with their own
// dependencies: each folder below testdata is a program that the go command
// overlays onto a checkout of the mesh. The env var MESH_SOURCES names the folder
// with all checkouts; without it the tests are skipped. `make meshes` fetches the
// checkouts (build/mesh-sources.sh has the versions) and runs the tests, which compare
// docs/proof/meshes.md with what they found, or write it with REWRITE_PROBES_PROOF=1.
//
// Kuma's module replaces Envoy's API by a copy that the module proxy may not
// have. The copy is not needed here, so the program is compiled with the original.
//
// The programs of Linkerd's and Kuma's redirection print the rules that they
// would apply. The mesh stand-in of the end-to-end tests must have the same rules.
package meshes
