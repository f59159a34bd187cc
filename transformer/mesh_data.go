package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

var istioData = meshData{
	name: "istio", title: "Istio", proxy: istioProxyName, uid: prober.IstioProxyID,
	word: "istio", inject: []mark{{key: istioInjection}, {key: istioRevision}, {key: istioInject}}, control: "istiod*",
	reserved: []int{15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090}, // but for the status server's
	excluded: portList{key: istioExcludePorts, full: true},
	off:      rewriterOff{key: istioRewrite, value: "false", means: isFalse},
}

// istioPlaceholder is the container, without env and securityContext, that holds the place of
// the proxy until it is injected. Without imagePullPolicy the API server would set Always, its
// default for an untagged image, and the image that the injector puts in would get that too.
var istioPlaceholder = field.Map{
	{Key: "name", Value: istioProxyName},
	{Key: "image", Value: autoImage},
	{Key: "imagePullPolicy", Value: "IfNotPresent"},
}

const (
	istioRewrite      = "sidecar.istio.io/rewriteAppHTTPProbers"
	istioInject       = "sidecar.istio.io/inject"
	istioNative       = "sidecar.istio.io/nativeSidecar"
	istioStatusPort   = "status.sidecar.istio.io/port"
	istioIncludePorts = "traffic.sidecar.istio.io/includeInboundPorts"
	istioExcludePorts = "traffic.sidecar.istio.io/excludeInboundPorts"
	istioProxyConfig  = "proxy.istio.io/config"
	istioInterception = "sidecar.istio.io/interceptionMode"
	istioNetBind      = "sidecar.istio.io/capNetBindService"
	istioInjection    = "istio-injection"
	istioRevision     = "istio.io/rev"
	istioTemplates    = "inject.istio.io/templates"
	istioInjected     = "sidecar.istio.io/status" // of the injector, which has rewritten the template already

	istioExcludeInterfaces = "traffic.sidecar.istio.io/excludeInterfaces"

	istioProxyName = "istio-proxy"
	istioInitName  = "istio-init"
)

// autoImage is the image that the injector replaces.
const autoImage = "auto"

// istioStatusOr returns the port of Istio's status server, as the redirection knows it:
// any number that the injector accepts, such as 0, which leaves 15020 like any other port.
func istioStatusOr(annotations field.Noted) int {
	if v, set := annotations.Lookup(istioStatusPort); set {
		if n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 16); err == nil {
			return int(n)
		}
	}
	return prober.StatusPort
}

func joinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(p)
	}
	return strings.Join(words, ", ")
}

// isFalse reports whether a value is a boolean that says no.
func isFalse(v string) bool {
	if v == "" {
		return false // nearly always; an error takes memory
	}
	on, err := strconv.ParseBool(v)
	return err == nil && !on
}

// meshData is the part of a profile that is the same for all templates.
type meshData struct {
	name  string // in the functionConfig
	title string // in messages
	// word is in the keys of all labels and annotations that the mesh reads, and inject are those by which it injects.
	word   string
	inject []mark
	// control is the Deployment of its control plane. A star at the end is a revision, one at the start a release's name.
	control string
	// short is the name of the mesh beside a version; "" if it is title.
	short string
	// proxy is the name of the proxy's container, and image a part of its image. commonName
	// is set if other containers may have the same name, so that one in a template does not
	// say that the pod is in the mesh.
	proxy, image string
	commonName   bool
	port         int  // where probe-proxy answers; 0 if the options say it
	osmForm      bool // probes get Open Service Mesh's form, as far as it can express them
	// ownInjector is why pods of a mesh whose injector rewrites probes itself are left to it.
	ownInjector reason.Key
	// uid is the uid and gid of the proxy. What such a process sends does not reach the app,
	// so probe-proxy must have another.
	uid int64
	// sidecarUser is the uid of probe-proxy if the options have none; 0 stands for nobody.
	// What it sends to the pod's own IP must reach the app without the mesh's proxy.
	sidecarUser int
	firstIsApp  bool     // the mesh takes the first container for the app
	reserved    []int    // the ports of the mesh's own processes in a pod
	excluded    portList // the annotation with the ports that the mesh does not capture
	// off turns the mesh's own rewriter off, the zero value if it has none.
	off rewriterOff
}

// A mark is a label or annotation by which a mesh injects.
type mark struct {
	key string
	// on is where alone the mesh reads it, of pods and Namespaces: "labels" or "annotations". It is "" if none is
	// reported in the other place.
	on string
}

// Answerers returns the values that [Options].AnsweredBy may have in any
// mesh.
func Answerers() []string {
	return []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByIstioProxy, AnsweredByEnvoy, AnsweredByApp}
}

func (d *meshData) isProxy(c *pod.Container) bool {
	return c.Name == d.proxy && strings.Contains(c.Image, d.image)
}

// answerers returns those of [Answerers] that there are in the mesh: Istio's is the only proxy
// that reads the env var, an Envoy only answers Open Service Mesh's form, and the app answers where
// an annotation keeps its ports out of the mesh.
func (d *meshData) answerers() []string {
	return slices.DeleteFunc(Answerers(), func(who string) bool {
		return who == AnsweredByIstioProxy && d.proxy != istioProxyName || who == AnsweredByEnvoy && !d.osmForm ||
			who == AnsweredByApp && d.excluded.key == ""
	})
}
