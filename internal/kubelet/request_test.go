package kubelet

import "testing"

// The bytes are those of grpc-go for grpc.health.v1.HealthCheckRequest.
func TestTheHealthRequestNamesTheService(t *testing.T) {
	for service, want := range map[string]string{
		"":     "\x00\x00\x00\x00\x00",
		"shop": "\x00\x00\x00\x00\x06\x0a\x04shop",
	} {
		if got := string(healthRequest(service)); got != want {
			t.Errorf("service %q: got %q, want %q", service, got, want)
		}
	}
}
