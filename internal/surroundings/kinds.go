package surroundings

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// What stays unknown without any of some kinds.
const (
	keepsOut      = "whether a policy keeps the kubelet out"
	admitsOurs    = "whether the namespace admits probe-proxy"
	linkerdAdmits = "whether Linkerd admits a probe"
	kumaDemands   = "whether Kuma demands mTLS"
)

// The kinds of objects that say something about others, a row each: their type, of which namespace they
// count, and their names, with the group after a dot. A type is the kind's own spec. Without the objects, what
// unread says is unknown.
var (
	Namespaces = kind[Namespace](OfName, "Namespace").from("metadata").
			unread("in which namespaces a mesh injects")
	LimitRanges = kind[limitRange](OfNamespace, "LimitRange").unread(admitsOurs)
	Quotas      = kind[quota](OfNamespace, "ResourceQuota").unread(admitsOurs)
	Services    = kind[Service](OfNamespace, "Service", "ServiceEntry.networking.istio.io").
			unread("which protocols ports have")
	Sidecars = kind[Sidecar](OfNamespaceAndRoot, "Sidecar.networking.istio.io").
			unread("where sidecars listen")
	SidecarSets = kind[SidecarSet](Anywhere, "SidecarSet.apps.kruise.io").
			unread("which pods OpenKruise adds a sidecar to")
	Ingresses = kind[Ingress](OfNamespace, "Ingress.networking.k8s.io").
			unread("whether a load balancer copies a probe")
	NetworkPolicies = kind[NetworkPolicy](OfNamespace, "NetworkPolicy.networking.k8s.io").
			unread(keepsOut)
	CiliumPolicies = kind[CiliumPolicy](OfNamespace, "CiliumNetworkPolicy.cilium.io").from().
			unread(keepsOut)
	CiliumClusterPolicies = kind[CiliumPolicy](Anywhere, "CiliumClusterwideNetworkPolicy.cilium.io").from().
				unread(keepsOut)
	CalicoPolicies = kind[CalicoPolicy](OfNamespace, "NetworkPolicy.projectcalico.org", "NetworkPolicy.crd.projectcalico.org").
			unread(keepsOut)
	CalicoGlobalPolicies = kind[CalicoPolicy](Anywhere, "GlobalNetworkPolicy.projectcalico.org", "GlobalNetworkPolicy.crd.projectcalico.org").
				unread(keepsOut)
	CalicoNetworkSets = kind[CalicoNetworkSet](Anywhere,
		"NetworkSet.projectcalico.org", "NetworkSet.crd.projectcalico.org",
		"GlobalNetworkSet.projectcalico.org", "GlobalNetworkSet.crd.projectcalico.org").unread(keepsOut)
	SecurityGroupPolicies = kind[SecurityGroupPolicy](OfNamespace, "SecurityGroupPolicy.vpcresources.k8s.aws").
				unread(keepsOut)
	PeerAuthentications = kind[PeerAuthentication](OfNamespaceAndRoot, "PeerAuthentication.security.istio.io").
				unread("which mode of mTLS holds")
	AuthorizationPolicies = kind[AuthorizationPolicy](OfNamespaceAndRoot, "AuthorizationPolicy.security.istio.io").
				unread("whether a policy denies probes")
	RequestAuthentications = kind[RequestAuthentication](OfNamespaceAndRoot, "RequestAuthentication.security.istio.io").
				unread("whether a policy refuses a probe's token")
	LinkerdServers     = kind[LinkerdServer](OfNamespace, "Server.policy.linkerd.io").unread(linkerdAdmits)
	AuthProxyWorkloads = kind[AuthProxyWorkload](OfNamespace, "AuthProxyWorkload.cloudsql.cloud.google.com").
				unread("which pods get Cloud SQL's proxy")
	Collectors = kind[Collector](OfNamespace, "OpenTelemetryCollector.opentelemetry.io").
			unread("which collectors have probes")
	ServerAuthorizations = kind[ServerAuthorization](OfNamespace, "ServerAuthorization.policy.linkerd.io").
				unread(linkerdAdmits)
	LinkerdAuthorizations = kind[LinkerdAuthorization](OfNamespace, "AuthorizationPolicy.policy.linkerd.io").
				unread(linkerdAdmits)
	NetworkAuthentications = kind[NetworkAuthentication](OfNamespace, "NetworkAuthentication.policy.linkerd.io").
				unread(linkerdAdmits)
	HTTPRoutes = kind[HTTPRoute](OfNamespace, "HTTPRoute.policy.linkerd.io", "HTTPRoute.gateway.networking.k8s.io").
			unread(linkerdAdmits)
	istioConfigs = kind[istioConfig](Anywhere, "ConfigMap").from("data").named("istio", "istio-*").
			unread("how the meshes are configured, such as whether Istio's injector rewrites probes")
	istiods    = kind[istiod](Anywhere, "Deployment.apps").named("istiod", "istiod-*")
	istioHooks = kind[istioWebhooks](Anywhere, "MutatingWebhookConfiguration.admissionregistration.k8s.io").from().
			unread("which pods are injected, and by which revision")
	istioDesireds = kind[istioDesired](Anywhere, "ServiceMeshControlPlane.maistra.io",
		"IstioOperator.install.istio.io", "Istio.sailoperator.io", "IstioRevision.sailoperator.io").from().inFiles()
	istioTags    = kind[istioTag](Anywhere, "IstioRevisionTag.sailoperator.io").from().inFiles()
	maistraPeers = kind[maistraPeer](OfNamespaceAndRoot, "ServiceMeshControlPlane.maistra.io").inFiles()
	releases     = kind[release](Anywhere, "HelmRelease.helm.toolkit.fluxcd.io", "Application.argoproj.io", "ApplicationSet.argoproj.io",
		"HelmChart.helm.cattle.io", "HelmChartConfig.helm.cattle.io", "Kustomization.kustomize.config.k8s.io").from().inFiles()
	istioWitnesses = kind[witness](OfNamespace, "Pod").from().mentioning(InjectedMark)
	// The workloads that are no witnesses' makers: a cluster's are read anyhow, if there is to be something to say of them.
	injectedTemplates = kind[injectedTemplate](Anywhere,
		"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "Rollout.argoproj.io").mentioning(InjectedMark).inFiles()
	meshControls = kind[meshControl](Anywhere, "Deployment.apps").
			named("linkerd-destination", "kuma-control-plane", "*connect-injector")
	meshConfigMaps   = kind[meshConfigMap](Anywhere, "ConfigMap").from("data").named("linkerd-config", "kuma-control-plane-config")
	kumaMeshes       = kind[kumaMesh](Anywhere, "Mesh.kuma.io").unread(kumaDemands)
	kumaTLSs         = kind[kumaTLS](Anywhere, "MeshTLS.kuma.io").unread(kumaDemands)
	consulDefaultses = kind[consulDefaults](Anywhere, "ProxyDefaults.consul.hashicorp.com", "ServiceDefaults.consul.hashicorp.com").
				unread("whether Consul demands mTLS")
	osmConfigs = kind[osmConfig](Anywhere, "MeshConfig.config.openservicemesh.io").
			unread("which ports Open Service Mesh captures")
	nodes   = kind[node](Anywhere, "Node").from("status").unread("whether Istio's sidecars are native")
	filters = kind[filter](OfNamespaceAndRoot,
		"EnvoyFilter.networking.istio.io", "WasmPlugin.extensions.istio.io", "TrafficExtension.extensions.istio.io").
		unread("what else refuses probes")
	// OpenShift is any kind that only OpenShift has, among those that are found beside workloads.
	OpenShift = kind[Neighbour](Mark,
		"DeploymentConfig.apps.openshift.io", "BuildConfig.build.openshift.io", "ImageStream.image.openshift.io",
		"Project.project.openshift.io", "ProjectRequest.project.openshift.io", "Route.route.openshift.io",
		"SecurityContextConstraints.security.openshift.io")
)

// A Scope says which objects of a kind count for an object, by their namespace.
type Scope int

// The scopes.
const (
	OfNamespace        Scope = iota // those of its namespace
	OfNamespaceAndRoot              // those of Istio's root namespace too
	OfName                          // those with the name of its namespace
	Anywhere                        // all
	Mark                            // all, and nothing counts but that one is there: they are never read
)

// A Kind is a row for who finds the objects.
type Kind struct {
	Scope Scope
	Names []GroupKind
	// Named are the names of the objects that count; one with a "*" at an end stands for all that begin
	// or end like it. All count without.
	Named []string
	// Mentions is a text that all objects have which count; "" if any may.
	Mentions string
	// InFiles is set if a cluster has what the objects of the kind make, so that nobody asks it for these.
	InFiles bool
	// Unread is what stays unknown if a cluster's objects cannot be read, as a clause; "" if none are asked for.
	Unread string

	index int
	path  field.Path // of the content that is read
	make  func() any
	list  func([]Found) any // as values of the kind's type
}

// A GroupKind is a kind as the API server knows it.
type GroupKind struct{ Group, Kind string }

// A Decode reads the value at a path of an object by json tags.
type Decode func(path field.Path, into any) (found bool, err error)

// An Of is a kind whose objects have the type T.
type Of[T any] struct{ *Kind }

var rows []*Kind

// Rows returns all kinds. The place of one is its [Kind.Index].
func Rows() []*Kind { return rows }

func kind[T any](scope Scope, names ...string) Of[T] {
	k := &Kind{Scope: scope, index: len(rows), path: field.NewPath("spec")}
	for _, name := range names {
		kind, group, _ := strings.Cut(name, ".")
		k.Names = append(k.Names, GroupKind{group, kind})
	}
	k.make = func() any { return new(T) }
	k.list = listOf[T]
	rows = append(rows, k)
	return Of[T]{k}
}

// from says which key of the object has what is read, if not the spec; none is the object itself.
func (k Of[T]) from(keys ...string) Of[T] {
	k.path = field.NewPath(keys...)
	return k
}

// named says which names the objects have that count.
func (k Of[T]) named(names ...string) Of[T] {
	k.Named = names
	return k
}

// mentioning sets Mentions.
func (k Of[T]) mentioning(text string) Of[T] {
	k.Mentions = text
	return k
}

// inFiles sets InFiles.
func (k Of[T]) inFiles() Of[T] {
	k.InFiles = true
	return k
}

// unread sets Unread.
func (k Of[T]) unread(unknown string) Of[T] {
	k.Unread = unknown
	return k
}

// Index returns the place of the kind in [Rows].
func (k *Kind) Index() int { return k.index }

// Is reports whether the kind is that of an object. A kind of the core group has the version v1.
func (k *Kind) Is(apiVersion, kind string) bool {
	group, _, grouped := strings.Cut(apiVersion, "/")
	for _, n := range k.Names {
		if n.Kind == kind && (grouped && n.Group == group || n.Group == "" && apiVersion == "v1") {
			return true
		}
	}
	return false
}

// Counts reports whether an object of that name counts.
func (k *Kind) Counts(name string) bool {
	return len(k.Named) == 0 || slices.ContainsFunc(k.Named, func(n string) bool {
		begin, isPrefix := strings.CutSuffix(n, "*")
		end, isSuffix := strings.CutPrefix(n, "*")
		return name == n || isPrefix && strings.HasPrefix(name, begin) || isSuffix && strings.HasSuffix(name, end)
	})
}

// Fields returns what is read of the objects of some kinds under one name: the fields of their types.
func (s Kinds) Fields(of GroupKind) (fields []field.Path) {
	for _, k := range rows {
		if s&k.Set() == 0 || !slices.Contains(k.Names, of) {
			continue
		}
		before := len(fields)
		for _, f := range reflect.VisibleFields(reflect.TypeOf(k.New()).Elem()) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields = append(fields, k.path.Key(name))
			}
		}
		if len(fields) == before { // it reads its content in another way
			fields = append(fields, k.path)
		}
	}
	return fields
}

// New returns a pointer to a new value of the kind's type.
func (k *Kind) New() any { return k.make() }

// Read returns the value of an object, of which o has the metadata; ok is false if it does not count.
func (k *Kind) Read(o Neighbour, decode Decode) (v any, ok bool) {
	v = k.New()
	if _, err := decode(k.path, v); err != nil {
		return nil, false
	}
	*v.(interface{ object() *Neighbour }).object() = o
	if c, conditional := v.(interface{ complete() bool }); conditional && !c.complete() {
		return nil, false
	}
	return v, true
}

// Same returns what two objects of a kind have in common of which only the nearer counts, besides their
// name; "" if there is nothing.
func (k *Kind) Same(v any) string {
	if x, ok := v.(interface{ same() string }); ok {
		return x.same()
	}
	return ""
}

// Kinds are kinds of objects that a planner asks about, as a set. A new object of one that was
// asked about can change the plan, and so can a change in one that is there.
type Kinds uint64

// Set returns the set that has only the kind.
func (k *Kind) Set() Kinds { return 1 << k.index }

// All returns the kinds of a set under their names.
func (s Kinds) All() (all []GroupKind) {
	for _, k := range rows {
		if s&k.Set() != 0 {
			all = append(all, k.Names...)
		}
	}
	slices.SortFunc(all, func(a, b GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// IsOpenShift reports whether only OpenShift has a kind.
func IsOpenShift(apiVersion, kind string) bool { return OpenShift.Is(apiVersion, kind) }
