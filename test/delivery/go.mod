// Tests that deliver both programs by every way that the documentation names,
// with the real tools: container engine, kustomize, kpt, Helm.
module github.com/rewrite-probes/rewrite-probes/test/delivery

go 1.26

require github.com/rogpeppe/go-internal v1.15.0

require (
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
