// End-to-end tests: the function and its sidecar before a real kubelet under
// enforced mTLS, and before a real API server. e2e/run runs them.
module github.com/rewrite-probes/rewrite-probes/test/e2e

go 1.26.0

require (
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/tools v0.52.0
	google.golang.org/grpc v1.82.1
)

require (
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
