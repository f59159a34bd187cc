// Package patches compares what kustomize builds with the patches of `rewrite-probes patches` with
// what the function writes: for random trees, and after changes of the base. It is a module of its
// own, with the kustomize that tools/ pins.
package patches
