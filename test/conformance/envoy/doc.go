// Package envoy reads what rewrite-probes writes for Envoy with Envoy's own
// types. It is a module of its own, since those are many.
package envoy
