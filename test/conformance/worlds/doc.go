// Package worlds has no code: its tests hold rewrite-probes against every world
// that manifests and a functionConfig leave open. Whether a pod is injected says
// a table of Istio's rules, what it then looks like says Istio's own injector, and
// what becomes of its probes says package model.
package worlds
