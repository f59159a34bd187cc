// Package envoy reads with Envoy's own types what rewrite-probes writes for
// Envoy.
package envoy
