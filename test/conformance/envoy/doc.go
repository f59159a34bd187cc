// Package envoy runs a real Envoy with the configuration that `rewrite-probes envoy` prints, and
// has the kubelet's own prober ask the rewritten probes.
package envoy
