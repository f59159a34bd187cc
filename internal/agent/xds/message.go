package xds

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// A Node describes a virtual machine to istiod.
type Node struct {
	*vmconfig.Config        // has the WorkloadGroup in which the machine registers; or
	Entry            string // the name of an existing WorkloadEntry
	IP               string
	Cluster          string
	UserAgent        string
}

// id returns the node's id: type~IP~name.namespace~domain.
func (n *Node) id() string {
	return "sidecar~" + n.IP + "~" + cmp.Or(n.Entry, n.Name) + "." + n.Namespace + "~" + n.Namespace + ".svc.cluster.local"
}

// The kinds of values in a google.protobuf.Struct that are sent, by their fields.
const (
	stringValue = 3
	structValue = 5
)

// metadata returns the node's metadata, a google.protobuf.Struct. The value of PROXY_CONFIG
// asks for health checking of the entry that istiod makes; only its presence counts.
func (n *Node) metadata() []byte {
	var m, labels []byte
	for _, e := range [][2]string{
		{"NAMESPACE", n.Namespace}, {"CLUSTER_ID", n.Cluster}, {"SERVICE_ACCOUNT", n.ServiceAccount},
		{"NETWORK", n.Network}, {"INSTANCE_IPS", n.IP}, {"WORKLOAD_ENTRY", n.Entry},
	} {
		if e[1] != "" {
			m = appendEntry(m, e[0], stringValue, []byte(e[1]))
		}
	}
	if n.Entry == "" {
		m = appendEntry(m, "AUTO_REGISTER_GROUP", stringValue, []byte(n.Name))
		m = appendEntry(m, "PROXY_CONFIG", structValue, appendEntry(nil, "readinessProbe", structValue, nil))
	}
	for _, name := range slices.Sorted(maps.Keys(n.Labels)) {
		labels = appendEntry(labels, name, stringValue, []byte(n.Labels[name]))
	}
	if labels != nil {
		m = appendEntry(m, "LABELS", structValue, labels)
	}
	return m
}

// appendEntry appends an entry to a google.protobuf.Struct.
func appendEntry(b []byte, key string, kind protowire.Number, value []byte) []byte {
	entry := wire.AppendString(nil, 1, key)
	entry = wire.AppendBytes(entry, 2, wire.AppendBytes(nil, kind, value))
	return wire.AppendBytes(b, 1, entry)
}

// Types of resources.
const (
	typeEndpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	typeHealth    = "type.googleapis.com/istio.v1.HealthInformation"
)

// codeInternal is the code of gRPC that Istio's agent sends with the reason.
const codeInternal = 13

// firstRequest returns the DiscoveryRequest that opens a stream. It asks for
// endpoints of no cluster, which istiod does not answer.
func firstRequest(n *Node) []byte {
	var node []byte
	node = wire.AppendString(node, 1, n.id())
	node = wire.AppendString(node, 2, n.Namespace)
	node = wire.AppendBytes(node, 3, n.metadata())
	if n.Locality != "" { // region/zone/subzone
		var locality []byte
		for i, part := range strings.SplitN(n.Locality, "/", 3) {
			locality = wire.AppendString(locality, protowire.Number(i+1), part)
		}
		node = wire.AppendBytes(node, 4, locality)
	}
	node = wire.AppendString(node, 6, n.UserAgent)
	return wire.AppendString(wire.AppendBytes(nil, 2, node), 4, typeEndpoints)
}

// healthRequest returns the DiscoveryRequest that reports the health: nil is healthy.
func healthRequest(unhealthy error) []byte {
	b := wire.AppendString(nil, 4, typeHealth)
	if unhealthy == nil {
		return b
	}
	status := protowire.AppendTag(nil, 1, protowire.VarintType)
	status = protowire.AppendVarint(status, codeInternal)
	return wire.AppendBytes(
		b,
		6,
		wire.AppendString(status, 2, strings.ToValidUTF8(unhealthy.Error(), "?")),
	)
}
