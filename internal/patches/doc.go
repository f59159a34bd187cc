// Package patches writes edits of objects as patches that kustomize, Flux, Argo CD and Helm releases
// take, and finds what it wrote earlier in their files.
//
// A patch tests what its edits were planned from before it changes anything, so that a build fails
// whose objects have changed since. The package knows nothing of probes and meshes.
package patches
