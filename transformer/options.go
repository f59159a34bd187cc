package transformer

import (
	"cmp"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Who answers the rewritten probes.
const (
	AnsweredByAuto       = "auto"
	AnsweredByProbeProxy = "probe-proxy"
	AnsweredByIstioProxy = "istio-proxy"
	AnsweredByEnvoy      = "envoy" // that the user configures, in Open Service Mesh's form
	AnsweredByApp        = "app"   // on ports that the mesh is told not to capture
)

// MeshAuto, as [Options].Mesh, finds the mesh of each template by the labels and
// annotations of the meshes. A template without any is rewritten as for Istio.
const MeshAuto = "auto"

// Where in a pod the container probe-proxy is placed.
const (
	PlacementNative    = "native"    // initContainers[0] with restartPolicy: Always
	PlacementContainer = "container" // an ordinary container
)

// Options are the part of the functionConfig that matters to a plan. Those of a planner are
// validated and have the defaults filled in (see [Defaults]).
type Options struct {
	Mesh       string     `json:"mesh" registry:"meshes" doc:"The mesh of the pods. auto: the mesh whose labels, annotations or proxy are in the pod template or its Namespace in the input. If there are none, rewrite-probes assumes Istio. Two meshes are an error. For Kong Mesh set kuma. none: no mesh captures the pods, and only the probes that Kubernetes does not yet make everywhere are rewritten (gRPC over TLS, HTTP/2)."`
	AnsweredBy string     `json:"answeredBy" registry:"answerers" doc:"Who answers the rewritten probes. probe-proxy: the injected container answers. istio-proxy: Istio's sidecar answers. envoy: an Envoy that you configure answers, with mesh osm alone. No container is added, and what Envoy cannot answer stays unchanged. rewrite-probes envoy prints its configuration. app: the probes stay as they are. The mesh stops capturing their ports. Everyone reaches these ports without mTLS, so no Service may use them. auto: istio-proxy if it is certain to be there and to answer every probe in time, else probe-proxy, which works whether Istio injects or not. Only probe-proxy and the app answer in other meshes than istio and osm."`
	Port       int        `json:"port" min:"1" max:"65535" doc:"The port where probe-proxy answers. Istio's sidecar answers on its status port. That is 15020, or the pod's annotation status.sidecar.istio.io/port, or this field if answeredBy is istio-proxy and the field is not 15099. With mesh osm or fsm do not set it: the port is always 15904, and with osm also 15901 to 15903. Neither mesh captures them."`
	Rewrite    []string   `json:"rewrite" registry:"rewritable" doc:"The handlers that rewrite-probes rewrites: probes by their handler, and httpGet hooks (lifecycle)."`
	ProbeProxy ProbeProxy `json:"probeProxy" doc:"The container that rewrite-probes injects."`
	IstioProxy IstioProxy `json:"istioProxy" doc:"The container istio-proxy. rewrite-probes declares it if Istio's sidecar answers and the pod template has none."`
	Istio      Istio      `json:"istio" doc:"Facts about Istio in the cluster that the manifests do not show."`
	Platform   string     `json:"platform" enum:"auto,kubernetes,openshift" doc:"The platform where the pods run. On OpenShift probe-proxy has no own uid, because restricted-v2 admits only the namespace's range. It has no seccompProfile either, because anyuid refuses it. auto: OpenShift if the object is a DeploymentConfig, or if the input has a DeploymentConfig, Route, ImageStream, BuildConfig, Project or SecurityContextConstraints."`
}

// ProbeProxy describes the injected container.
type ProbeProxy struct {
	Image           string     `json:"image" form:"image" optional:"true" doc:"Its image, by tag, digest or both (name:tag@sha256:...). The default is the image of the same version."`
	Registry        string     `json:"registry" form:"registry" doc:"The registry of the default image, with the path before the name: registry.example.com/mesh for registry.example.com/mesh/probe-proxy. The default is the environment variable REWRITE_PROBES_REGISTRY of the command, else ghcr.io/rewrite-probes."`
	Name            string     `json:"name" form:"container" doc:"Its name."`
	Placement       string     `json:"placement" enum:"native,container" doc:"native: the first of the init containers, with restartPolicy Always (Kubernetes 1.29 or later). container: an ordinary container."`
	ImagePullPolicy string     `json:"imagePullPolicy" enum:"Always,IfNotPresent,Never" optional:"true" doc:"Its imagePullPolicy. The default is the API server's."`
	Resources       field.Map  `json:"resources" doc:"Limits and requests, each with quantities such as 48Mi. rewrite-probes merges them over the default resources. null removes a default."`
	SecurityContext field.Map  `json:"securityContext" doc:"rewrite-probes merges it over the default securityContext, which satisfies Pod Security restricted."`
	Env             field.List `json:"env" doc:"More env vars, in the form of the API."`
	Body            string     `json:"body" enum:"none,failures,all" doc:"Which response bodies of the app a caller gets: none, failures (status 400 and above), or all. The kubelet needs none."`
	LivenessProbe   bool       `json:"livenessProbe" doc:"true: probe-proxy has a livenessProbe, as some policies demand. It asks probe-proxy itself (/healthz)."`
	ReadinessProbe  bool       `json:"readinessProbe" doc:"true: probe-proxy has a readinessProbe, as some policies demand. It asks probe-proxy itself (/readyz)."`
}

// IstioProxy describes the declared container.
type IstioProxy struct {
	Image      string    `json:"image" form:"imageOrAuto" doc:"Its image. The injector replaces auto. If a policy refuses auto before the injector runs, for example because it verifies signatures, name the image that the injector uses, by tag or digest."`
	Restricted bool      `json:"restricted" doc:"true: it gets the securityContext that Pod Security restricted requires, if every other container of the pod template has it. Set false if the mesh gives every sidecar privileges, such as global.proxy.privileged or TPROXY."`
	Resources  field.Map `json:"resources" doc:"Its resources. Set them if a LimitRange of the namespace has defaults: those replace the resources that the injector gives it. The default is none."`
}

// Istio says what is known of Istio in the cluster.
type Istio struct {
	InjectorRewrites   any             `json:"injectorRewrites" enum:"auto,true,false" doc:"true: Istio's injector rewrites the probes of the pods that it injects, so rewrite-probes skips these pods, and check accepts them. false: it does not, because the mesh config turns that off. auto: unknown. The output works either way. check reports once how many probes depend on it (injector-unknown)."`
	InjectedNamespaces []string        `json:"injectedNamespaces" form:"pattern" doc:"The namespaces where Istio injects its sidecar. * and ? match as in a shell. Istio then injects into no other namespace. The labels of pod templates and of Namespaces in the input come first. If the field is absent, only the labels count."`
	NativeSidecars     any             `json:"nativeSidecars" enum:"auto,true,false" doc:"Whether Istio injects its sidecar as a native one. A pod's annotation can change that. auto: unknown, because it depends on Istio's version and settings and on every node."`
	Version            string          `json:"version,omitempty" form:"istioVersion" optional:"true" doc:"The version of Istio, such as \"1.24\", in quotes. Before 1.25 Istio knows no hooks, so with auto probe-proxy answers pods that have some. If the field is absent, Istio is taken for 1.25 or later."`
	HoldApplication    bool            `json:"holdApplicationUntilProxyStarts" doc:"true: the containers of every injected pod wait for Istio's sidecar. false: unknown."`
	RootNamespace      string          `json:"rootNamespace" form:"namespace" doc:"Istio's root namespace. Its PeerAuthentication without a selector applies to the whole mesh."`
	Revisions          []IstioRevision `json:"revisions,omitempty" doc:"Facts about single revisions of Istio, where they differ. The labels of the Namespace or of the pod template choose the revision. A fact above applies to all revisions and wins over the same fact here."`
	Tags               []IstioTag      `json:"tags,omitempty" doc:"Which revision each tag of Istio's means. The tag default stands for the label istio-injection: enabled."`
	MTLS               string          `json:"mtls" enum:"STRICT,PERMISSIVE,DISABLE" doc:"The mode of mutual TLS if no PeerAuthentication in the input sets one. It affects only check and explain, not the output."`
}

// An IstioRevision says what is known of one revision of Istio.
type IstioRevision struct {
	Name             string `json:"name" required:"true" form:"revision" doc:"Its name. default is the revision without a name."`
	InjectorRewrites any    `json:"injectorRewrites" enum:"auto,true,false" doc:"As istio.injectorRewrites, for this revision."`
	NativeSidecars   any    `json:"nativeSidecars" enum:"auto,true,false" doc:"As istio.nativeSidecars, for this revision."`
	HoldApplication  bool   `json:"holdApplicationUntilProxyStarts" doc:"As istio.holdApplicationUntilProxyStarts, for this revision."`
}

// An IstioTag says which revision of Istio a tag means.
type IstioTag struct {
	Name     string `json:"name" required:"true" form:"revision" doc:"The tag, as in the label istio.io/rev."`
	Revision string `json:"revision" required:"true" form:"revision" doc:"The revision. default is the one without a name."`
}

// istioSystem is Istio's root namespace unless the mesh is configured otherwise.
const istioSystem = "istio-system"

// rewriteHooks, among [Options].Rewrite, stands for httpGet hooks.
const rewriteHooks = "lifecycle"

// Rewritable returns the values that [Options].Rewrite may have: probes by their
// handler, and lifecycle, which are httpGet hooks.
func Rewritable() []string { return append(pod.DialingHandlers(), rewriteHooks) }

// Defaults returns the options of an empty functionConfig.
func Defaults() Options {
	return Options{
		Mesh:       MeshAuto,
		AnsweredBy: AnsweredByAuto,
		Port:       prober.DefaultPort,
		Rewrite:    Rewritable(),
		ProbeProxy: ProbeProxy{
			Name:      "probe-proxy",
			Placement: PlacementNative,
			Body:      BodyFailures,
		},
		IstioProxy: IstioProxy{Image: autoImage, Restricted: true},
		Istio: Istio{
			InjectorRewrites: "auto",
			NativeSidecars:   "auto",
			RootNamespace:    istioSystem,
			MTLS:             surroundings.MTLSStrict,
		},
		Platform: PlatformAuto,
	}
}

// ImageToRun returns the image that is given, or else that of this version, from the registry
// that is given.
func (p *ProbeProxy) ImageToRun() string {
	image, _ := release.Image()
	if p.Registry != "" {
		image = p.Registry + strings.TrimPrefix(image, release.Registry)
	}
	return cmp.Or(p.Image, image)
}

// The values of [Options].Platform. With auto, the manifests say it.
const (
	PlatformAuto       = "auto"
	PlatformKubernetes = "kubernetes"
	PlatformOpenShift  = "openshift"
)

// The values of [ProbeProxy].Body, which are those of probe-proxy's flag; it has
// BodyFailures by default.
const (
	BodyNone     = "none"
	BodyFailures = "failures"
	BodyAll      = "all"

	bodyFlag = "--body"
)
