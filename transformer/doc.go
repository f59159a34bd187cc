// Package transformer is the planner of rewrite-probes and no API for other programs, for
// which there is package fn: it may change at any time.
//
// It plans what happens to a pod template: whether it has opted out, which probes
// and hooks are rewritten, which sidecar answers them, and how all of that is
// undone. A [Planner] takes an [Input] and returns a [Plan] of edits and findings.
// It reads no files and knows no YAML.
//
// What depends on a mesh is in the files mesh_*.go: who is injected, what is captured, annotations.
package transformer
