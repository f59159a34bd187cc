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
	AnsweredByApp        = "app" // on ports that the mesh is told not to capture
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
	Mesh       string     `json:"mesh" registry:"meshes" doc:"The mesh that the pods are in. auto: the one whose labels, annotations or proxy the pod template or its Namespace among the manifests has; a template without any is rewritten as for Istio; two of them are an error. Kong Mesh is kuma."`
	AnsweredBy string     `json:"answeredBy" registry:"answerers" doc:"Who answers the rewritten probes: probe-proxy, which is injected; istio-proxy, Istio's own sidecar; app, the app itself: the mesh is told not to capture the ports of the probes, which stay as they are, and which no Service may lead to, since everything goes in there without mTLS; auto: istio-proxy if it is certain that Istio injects its sidecar into the pod and that the sidecar answers every probe in time, else probe-proxy, which is right whether Istio injects or not. Of the two proxies, only probe-proxy answers in other meshes than istio."`
	Port       int        `json:"port" min:"1" max:"65535" doc:"The port on which probe-proxy answers. Istio's own sidecar answers on its status port, 15020 unless the pod's annotation status.sidecar.istio.io/port moves it, or this says so together with answeredBy: istio-proxy. With mesh osm or fsm the port is always 15904 (with osm also 15901 to 15903), which neither captures, and this must not be given."`
	Rewrite    []string   `json:"rewrite" registry:"rewritable" doc:"What is rewritten: probes by their handler, and httpGet hooks (lifecycle)."`
	ProbeProxy ProbeProxy `json:"probeProxy" doc:"The container that is injected."`
	IstioProxy IstioProxy `json:"istioProxy" doc:"The container istio-proxy, which is declared if Istio's sidecar answers and the pod template has none."`
	Istio      Istio      `json:"istio" doc:"What the manifests do not say of Istio in the cluster."`
	Platform   string     `json:"platform" enum:"auto,kubernetes,openshift" doc:"Where the pods go. On OpenShift probe-proxy has no uid of its own, since restricted-v2 admits only those of the namespace's range, and no seccompProfile, which anyuid refuses. auto: OpenShift if the object is a DeploymentConfig, or a DeploymentConfig, Route, ImageStream, BuildConfig, Project or SecurityContextConstraints is among the manifests."`
}

// ProbeProxy describes the injected container.
type ProbeProxy struct {
	Image           string     `json:"image" form:"image" optional:"true" doc:"Its image, by tag, digest or both (name:tag@sha256:...); if absent, that of the same version."`
	Registry        string     `json:"registry" form:"registry" doc:"The registry of the image if image is absent, with the path before the name: registry.example.com/mesh for registry.example.com/mesh/probe-proxy. If absent, what the environment variable REWRITE_PROBES_REGISTRY of the command says, or else ghcr.io/rewrite-probes."`
	Name            string     `json:"name" form:"container" doc:"Its name."`
	Placement       string     `json:"placement" enum:"native,container" doc:"native: first of the init containers with restartPolicy Always (Kubernetes 1.29 or later); container: an ordinary container."`
	ImagePullPolicy string     `json:"imagePullPolicy" enum:"Always,IfNotPresent,Never" optional:"true" doc:"Its imagePullPolicy; if absent, the API server's default."`
	Resources       field.Map  `json:"resources" doc:"Merged over the default resources: limits and requests, each with quantities such as 48Mi; null removes a default."`
	SecurityContext field.Map  `json:"securityContext" doc:"Merged over the default securityContext, which satisfies Pod Security restricted."`
	Env             field.List `json:"env" doc:"More env vars, in the form of the API."`
	Body            string     `json:"body" enum:"none,failures,all" doc:"Which bodies of the app's answers whoever calls the probe port gets: none, those of failures (status 400 and above), or all. The kubelet needs none."`
	LivenessProbe   bool       `json:"livenessProbe" doc:"Whether it has a livenessProbe, as some policies demand. It asks probe-proxy itself (/healthz)."`
	ReadinessProbe  bool       `json:"readinessProbe" doc:"Whether it has a readinessProbe, as some policies demand. It asks probe-proxy itself (/readyz)."`
}

// IstioProxy describes the declared container.
type IstioProxy struct {
	Image      string    `json:"image" form:"imageOrAuto" doc:"Its image. The injector replaces auto; where a policy refuses that before the injector is asked, such as one that verifies signatures, write the image that the injector would put in, by tag or digest."`
	Restricted bool      `json:"restricted" doc:"Whether it gets the securityContext that Pod Security restricted requires, if every other container of the pod template has it. Set false if the mesh gives every sidecar privileges, such as global.proxy.privileged or TPROXY."`
	Resources  field.Map `json:"resources" doc:"Its resources, for namespaces with a LimitRange that has defaults: these would replace what the injector gives it. If absent, it is declared without any."`
}

// Istio says what is known of Istio in the cluster.
type Istio struct {
	InjectorRewrites   any      `json:"injectorRewrites" enum:"auto,true,false" doc:"Whether Istio's injector rewrites the probes of the pods that it injects, as it does unless the mesh config says otherwise. true: such pods are left alone, and check takes them to be in order. auto: not known; what is written is right in either case, and check counts on no rewriting."`
	InjectedNamespaces []string `json:"injectedNamespaces" form:"pattern" doc:"The namespaces into which Istio injects its sidecar; * and ? match as in a shell. Other namespaces are then taken not to be injected. The labels of pod templates and of Namespaces among the manifests come first; if the field is absent, only they say it."`
	NativeSidecars     any      `json:"nativeSidecars" enum:"auto,true,false" doc:"Whether Istio injects its sidecar as a native one, unless a pod's annotation says otherwise. auto: not known, since it depends on Istio's version and settings and on every node."`
	HoldApplication    bool     `json:"holdApplicationUntilProxyStarts" doc:"Whether the containers of every injected pod wait for Istio's sidecar. false: not known."`
	RootNamespace      string   `json:"rootNamespace" form:"namespace" doc:"Istio's root namespace, whose PeerAuthentication without a selector counts for the whole mesh."`
	MTLS               string   `json:"mtls" enum:"STRICT,PERMISSIVE,DISABLE" doc:"The mode of mutual TLS where no PeerAuthentication among the manifests says one. It decides what check and explain say, not what is written."`
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
		ProbeProxy: ProbeProxy{Name: "probe-proxy", Placement: PlacementNative, Body: BodyFailures},
		IstioProxy: IstioProxy{Image: autoImage, Restricted: true},
		Istio:      Istio{InjectorRewrites: "auto", NativeSidecars: "auto", RootNamespace: istioSystem, MTLS: surroundings.MTLSStrict},
		Platform:   PlatformAuto,
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
