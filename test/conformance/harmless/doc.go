// Package harmless has no code: its tests admit random pods with the code of the API
// server and the kubelet, before and after probe-proxy is added. Whatever accepted the
// pod must still do, and its class and its own resources must be what they were.
//
// `go test ./...` prints what was compared. OpenShift's admission is in a module of its own, in openshift.
package harmless
