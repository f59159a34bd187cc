package istiod

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// register registers a machine in the group reviews as Istio's agent does it
// if there is no probe. The connection ends when the returned function is called.
func register(t *testing.T, i *istiod, address string) func() {
	t.Helper()
	secret, err := os.ReadFile(token(t, "reviews-vm"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := credentials.NewClientTLSFromFile(rootCert(t), "istiod.istio-system.svc")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(i.secure, grpc.WithTransportCredentials(ca))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+strings.TrimSpace(string(secret)))
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := structpb.NewStruct(map[string]any{"NAMESPACE": "shop", "CLUSTER_ID": "Kubernetes", "AUTO_REGISTER_GROUP": "reviews"})
	if err != nil {
		t.Fatal(err)
	}
	node := &core.Node{Id: "sidecar~" + address + "~vm.shop~shop.svc.cluster.local", Metadata: meta}
	if err := stream.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"}); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close() }
}

// healthChecked annotates a WorkloadEntry, as `kubectl annotate` does.
func healthChecked(t *testing.T, entry string) {
	t.Helper()
	path := networking + "shop/workloadentries/" + entry
	err := testutil.Eventually(fast, func() error { // istiod changes it too
		a, err := api.Call(http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		var object map[string]any
		if err := json.Unmarshal(a.Body, &object); err != nil {
			return err
		}
		object["metadata"].(map[string]any)["annotations"].(map[string]any)["proxy.istio.io/health-checks-enabled"] = "true"
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if a, err = api.Call(http.MethodPut, path, text); err == nil && !a.Accepted() {
			err = fmt.Errorf("%d %s", a.Status, a.Message)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// istiod decides at the registration whether a machine is health-checked. One
// that was registered without a probe, less than 10 s ago, is not: the reports
// reach its entry, and the endpoint stays until the entry is annotated.
func TestAProbeAddedToARegistration(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	clients := watch(t, i)
	address := machine()
	entry := "reviews-" + address
	end := register(t, i, address)
	clients.want(t, address, true, fast)
	wantCondition(t, entry, "no condition", fast)
	end()
	file, app := config(t, address, nil)
	startAgent(t, file, i.secure, "--ca", rootCert(t), "--token", token(t, "reviews-vm"), "--state", t.TempDir())
	down := "False command ended with exit code 1: cat: " + app + ": No such file or directory"
	wantCondition(t, entry, down, 20*time.Second)
	time.Sleep(3 * time.Second)
	clients.want(t, address, true, 0)

	healthChecked(t, entry)
	clients.want(t, address, false, fast)
	for range 2 {
		up(t, app)
		clients.want(t, address, true, fast)
		_ = os.Remove(app)
		clients.want(t, address, false, fast)
	}
}

// The same ends by itself once istiod has forgotten the registration.
func TestAProbeAddedAfterTheRegistrationHasEnded(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	clients := watch(t, i)
	address := machine()
	end := register(t, i, address)
	clients.want(t, address, true, fast)
	end()
	wantCondition(t, "reviews-"+address, "no entry", 30*time.Second)
	file, app := config(t, address, nil)
	startAgent(t, file, i.secure, "--ca", rootCert(t), "--token", token(t, "reviews-vm"), "--state", t.TempDir())
	up(t, app)
	clients.want(t, address, true, 20*time.Second)
	_ = os.Remove(app)
	clients.want(t, address, false, fast)
}
