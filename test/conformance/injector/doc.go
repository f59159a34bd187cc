// Package injector has no code: its tests compare rewrite-probes with Istio's
// own sidecar injector, with the API server's own defaulting and validation,
// and with the libraries of KRM functions.
//
// `go test ./...` prints what was compared; it compares docs/proof/injector.md
// with that, or writes it with REWRITE_PROBES_PROOF=1.
package injector
