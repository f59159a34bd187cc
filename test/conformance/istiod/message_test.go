package istiod_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// An event is what a stream of the server saw.
type event struct {
	stream  int
	request *discovery.DiscoveryRequest // nil: the stream ended
	err     error                       // why
}

// A recorder is grpc-go's server with Envoy's own types.
type recorder struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	events  chan event
	streams chan int
}

func (j *recorder) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	n := <-j.streams
	for {
		request, err := s.Recv()
		j.events <- event{n, request, err}
		if err != nil {
			return nil
		}
	}
}

func startRecorder(t *testing.T, options ...grpc.ServerOption) (*recorder, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	j := &recorder{events: make(chan event, 1000), streams: make(chan int, 1000)}
	for n := range 1000 {
		j.streams <- n + 1
	}
	server := grpc.NewServer(options...)
	discovery.RegisterAggregatedDiscoveryServiceServer(server, j)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return j, l.Addr().String()
}

func (j *recorder) next(t *testing.T) event {
	t.Helper()
	select {
	case e := <-j.events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		return event{}
	}
}

func TestTheMessagesAreThoseOfEnvoysTypes(t *testing.T) {
	j, address := startRecorder(t)
	app := startApp(t)
	c := config(app.probe())
	c.ServiceAccount, c.Network, c.Locality, c.Labels = "reviews-vm", "vms", "eu/west", map[string]string{"tier": "gold", "empty": ""}
	a := startAgent(t, address, c, "--cluster", "primary", "--repeat", "1s")
	metadata, err := structpb.NewStruct(map[string]any{
		"NAMESPACE": "shop", "CLUSTER_ID": "primary", "SERVICE_ACCOUNT": "reviews-vm", "NETWORK": "vms", "INSTANCE_IPS": "10.1.2.3",
		"AUTO_REGISTER_GROUP": "reviews", "PROXY_CONFIG": map[string]any{"readinessProbe": map[string]any{}},
		"LABELS": map[string]any{"tier": "gold", "empty": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &discovery.DiscoveryRequest{
		Node: &core.Node{
			Id: "sidecar~10.1.2.3~reviews.shop~shop.svc.cluster.local", Cluster: "shop", Metadata: metadata,
			Locality: &core.Locality{Region: "eu", Zone: "west"}, UserAgentName: "probe-agent/v9.8.7",
		},
		TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	}
	if got := j.next(t).request; !proto.Equal(got, want) {
		t.Errorf("the first request is\n%v\nwant\n%v", got, want)
	}
	healthy := &discovery.DiscoveryRequest{TypeUrl: "type.googleapis.com/istio.v1.HealthInformation"}
	for range 4 { // the change, after the connection, and two repetitions
		if got := j.next(t).request; !proto.Equal(got, healthy) {
			t.Errorf("got %v, want %v", got, healthy)
		}
	}
	app.status.Store(418)
	unhealthy := proto.Clone(healthy).(*discovery.DiscoveryRequest)
	unhealthy.ErrorDetail = &status.Status{Code: 13, Message: "app answered with status 418"}
	for got := healthy; !proto.Equal(got, unhealthy); {
		if got = j.next(t).request; !proto.Equal(got, unhealthy) && !proto.Equal(got, healthy) {
			t.Fatalf("got %v, want %v", got, unhealthy)
		}
	}
	end(t, a)
	unhealthy.ErrorDetail.Message = "probe-agent was stopped"
	var last, before event
	for last = j.next(t); last.request != nil; last = j.next(t) {
		before = last
	}
	if !proto.Equal(before.request, unhealthy) || last.err == nil || last.err.Error() != "EOF" {
		t.Errorf("the end is %v, then %v", before.request, last.err)
	}
}

// A server that limits the age of its connections says GOAWAY, as istiod does
// every half hour.
func TestAConnectionThatAgesIsReplacedFirst(t *testing.T) {
	j, address := startRecorder(t, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: time.Second, MaxConnectionAgeGrace: time.Minute}))
	a := startAgent(t, address, config(startApp(t).probe()))
	var seen []string
	for ended := 0; ended < 3; {
		e := j.next(t)
		switch {
		case e.request == nil:
			ended++
			seen = append(seen, fmt.Sprintf("%d ends: %v", e.stream, e.err))
		case e.request.Node != nil:
			seen = append(seen, fmt.Sprintf("%d begins", e.stream))
		}
	}
	want := "1 begins, 2 begins, 1 ends: EOF, 3 begins, 2 ends: EOF, 4 begins, 3 ends: EOF"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if strings.Contains(a.Log(), "WARN") {
		t.Error("ageing is no failure")
	}
}
