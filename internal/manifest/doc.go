// Package manifest reads Kubernetes manifests and writes them back with edits
// applied: ResourceLists, bare streams of documents, Lists, YAML and JSON.
// It knows nothing of kinds and of probes.
//
// What is not edited comes back byte for byte. An edit is spliced into the
// text of its object; the result is parsed again and compared with the edited
// tree. If the two differ, the edit is refused and the object stays as it is.
// [Object.Notices] names the lines that an edit had to change besides its own.
// The whole output is read again, too, before any of it is written.
package manifest
