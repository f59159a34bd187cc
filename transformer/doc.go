// Package transformer decides what happens to a pod template: whether it has
// opted out, which probes and hooks are rewritten, which sidecar answers them,
// and how all of that is taken back. It is pure: a typed pod template in,
// edits and findings out; it reads no files and knows no YAML.
package transformer
