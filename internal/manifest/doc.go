// Package manifest reads Kubernetes manifests and writes them back with edits
// applied: ResourceLists, bare streams of documents, Lists, YAML and JSON.
// It knows nothing of kinds and of probes.
//
// What is not edited comes back byte for byte. An edit is spliced into the
// text of its object, the result is parsed again and compared with the edited
// tree, and only where the two differ is that one object encoded anew.
package manifest
