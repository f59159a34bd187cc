// Package inbound evaluates a call of the kubelet through the inbound listener of a sidecar's Envoy, in
// the order of Envoy's filter chain:
//
//  1. the chain, by the port: a Sidecar's ingress, else Services, else what is sent (surroundings.Chains)
//  2. its codec, which expects plain HTTP or takes what comes for TCP
//  3. the filter for tokens, by RequestAuthentications (token.go)
//  4. the filter for policies, by AuthorizationPolicies (package authz)
//  5. the call of the app, in HTTP/1.1 or HTTP/2 as the chain says
//
// Mutual TLS comes first, and is a question of its own: surroundings.MTLS. The package knows neither
// worlds nor templates. What a real Envoy 1.40 answers is in internal/pipeline/testdata/envoy.jsonl.
package inbound
