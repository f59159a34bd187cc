// Package harmless has no code: its tests admit random pods with the code of the API
// server and the kubelet, before and after probe-proxy is added. Whatever accepted the
// pod must still do, and its class and its own resources must be what they were. What was
// applied and is read back from the cluster, with all defaults, must be known again.
//
// `go test ./...` prints what was compared. OpenShift's admission is in a module of its own, in openshift.
package harmless
