package surroundings

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A ServerAuthorization is Linkerd's: it lets clients in to Servers of its namespace.
type ServerAuthorization struct {
	Neighbour
	Server struct {
		Name     string         `json:"name"`
		Selector *LabelSelector `json:"selector"` // of the Servers' labels
	} `json:"server"`
	Client struct {
		Unauthenticated bool      `json:"unauthenticated"`
		Networks        []network `json:"networks"` // any without
	} `json:"client"`
}

// A network is a block of addresses.
type network struct {
	CIDR   string   `json:"cidr"`
	Except []string `json:"except"`
}

// A LinkerdAuthorization is an AuthorizationPolicy of policy.linkerd.io.
type LinkerdAuthorization struct {
	Neighbour
	TargetRef Ref   `json:"targetRef"`
	Required  []Ref `json:"requiredAuthenticationRefs"`
}

// A Ref names an object.
type Ref struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"` // "" is that of who refers to it
}

// A NetworkAuthentication is Linkerd's name for networks.
type NetworkAuthentication struct {
	Neighbour
	Networks []network `json:"networks"`
}

// LinkerdServerOf returns the Server that is about a port of pods, and whether it is: one replaces the default policy of the
// pods there. If there are several, none certainly is.
func LinkerdServerOf(s *Surroundings, pods *Pods, port int) (found *LinkerdServer, selects certain.Certainty) {
	selects = certain.Never
	for _, server := range LinkerdServers.near(s) {
		named := ServicePort{Port: port, TargetPort: server.Port}
		is := server.PodSelector.selects(pods)
		if is == certain.Never || !named.leadsTo(pods.Spec, port) {
			continue
		}
		if found != nil {
			return found, certain.Maybe
		}
		found = &server
		selects = is
	}
	return found, selects
}

// Words names the Server, and where it is.
func (v *LinkerdServer) Words() string { return v.words("Server") }

// LetsIn returns whether Linkerd lets the kubelet in to the port of a Server, whatever it asks: by its accessPolicy,
// or by an authorization (client_authzs in policy-controller/k8s/index/src/inbound/index.rs). The kubelet's address
// is not known, so that only networks of all addresses certainly have it.
func (v *LinkerdServer) LetsIn(s *Surroundings) certain.Certainty {
	switch cmp.Or(v.AccessPolicy, "deny") {
	case "all-unauthenticated", "cluster-unauthenticated", "audit":
		return certain.Always
	}
	lets := certain.Never
	for _, a := range ServerAuthorizations.near(s) {
		is := certain.Of(a.Server.Name == v.Name)
		if a.Server.Selector != nil {
			is = a.Server.Selector.selects(&Pods{Labels: append(field.KeyValues{}, v.Labels...), Kind: "Pod"})
		}
		if a.Client.Unauthenticated && is != certain.Never {
			lets = max(lets, min(is, ofEverybody(a.Client.Networks)))
		}
	}
	for _, a := range LinkerdAuthorizations.near(s) {
		isServer := a.TargetRef.Kind == "Server" && a.TargetRef.Name == v.Name
		if isServer || a.TargetRef.Kind == "Namespace" {
			lets = max(lets, a.authenticates(s))
		}
	}
	return lets
}

// authenticates returns whether the kubelet fulfils what an authorization requires: it has no identity.
func (a *LinkerdAuthorization) authenticates(s *Surroundings) certain.Certainty {
	lets := certain.Always
	for _, ref := range a.Required {
		if ref.Kind != "NetworkAuthentication" {
			return certain.Never
		}
		all := NetworkAuthentications.near(s)
		i := slices.IndexFunc(all, func(n NetworkAuthentication) bool { return n.Name == ref.Name })
		if i < 0 || ref.Namespace != "" && ref.Namespace != a.Namespace {
			lets = certain.Maybe
			continue
		}
		if len(all[i].Networks) == 0 {
			return certain.Never
		}
		lets = min(lets, ofEverybody(all[i].Networks))
	}
	return lets
}

// ofEverybody returns whether networks have the kubelet's address: Maybe unless they have all.
func ofEverybody(networks []network) certain.Certainty {
	has := func(cidr string) bool {
		return slices.ContainsFunc(networks, func(n network) bool { return n.CIDR == cidr && len(n.Except) == 0 })
	}
	if len(networks) == 0 || has("0.0.0.0/0") && has("::/0") {
		return certain.Always
	}
	return certain.Maybe
}
