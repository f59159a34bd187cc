package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A serviceMesh is a mesh's profile and the convention by which rewritten probes are
// answered in it. Only the files of meshes know a mesh's ports, paths, env vars, uids,
// labels and annotations; the options for Istio and [IstioFacts] are the exception.
type serviceMesh struct {
	name  string // in the functionConfig
	title string // in messages
	convention
	meshProfile
	companion    companionMaker // nil if the mesh needs no companion
	findOriginal originalFinder // nil if the mesh's own tool rewrites nothing, or as we do
	// commonName is set if other containers may have the same name as the mesh's
	// proxy, so that the name alone says nothing.
	commonName bool
}

// serviceMeshes are all meshes. A new one is a file with the mesh's profile, a file
// with its convention unless it uses an existing one, and an entry here.
var serviceMeshes = []*serviceMesh{
	{name: "istio", title: "Istio", convention: appHealth{}, meshProfile: istio{}},
	{name: "linkerd", title: "Linkerd", convention: appHealth{}, meshProfile: linkerd},
	{name: "kuma", title: "Kuma", convention: appHealth{}, meshProfile: kuma, findOriginal: kumaOriginal},
	{name: "consul", title: "Consul", convention: appHealth{}, meshProfile: consul, findOriginal: consulOriginal},
	{name: "osm", title: openServiceMesh.title, convention: osmConvention{}, meshProfile: openServiceMesh, companion: envoyConfig{}, findOriginal: osmOriginal, commonName: true},
	{name: "fsm", title: flomesh.title, convention: fsmConvention{}, meshProfile: flomesh, findOriginal: fsmOriginal, commonName: true},
}

// A convention says where rewritten probes go, and how their originals are
// written into an env var and read back.
//
// All probes of a pod are assigned at once, since the paths of some
// conventions depend on how many containers have a probe of one type.
type convention interface {
	// checkPort returns an error that completes "port 80 ..." if [Options].Port
	// cannot be that port.
	checkPort(port int) error
	// ports returns the ports on which an answerer answers.
	ports(a answerer) []int
	// sidecarPorts returns the ports on which an existing probe-proxy answers.
	sidecarPorts(c *Container) []int
	// healthPort returns the port where probe-proxy answers for itself, and args
	// returns its arguments.
	healthPort(o *Options) int
	args(o *Options) field.List
	// skipUnsupported skips, with a reason, every handler that the convention cannot
	// express.
	skipUnsupported(b *planBuilder, sites []*handlerSite)
	// assign returns what the handlers become.
	assign(sites []*handlerSite, a answerer) []*Handler
	// looksRewritten reports whether a request is of a form that assign returns.
	looksRewritten(h *HTTPGet) bool
	// unrewritten returns a rewritten request without what assign added to it, except
	// for path, port and scheme.
	unrewritten(h *HTTPGet) *HTTPGet
	// byPath reports whether the path of a rewritten request names its original.
	byPath() bool
	// format returns the format of the env var with the originals, and encode its
	// value; "" if there are no probes.
	format() *prober.Format
	encode(sites []*handlerSite) string
	// original returns the original of a rewritten probe, and its key, by the
	// probe's path; nil if there is none. names are those of the pod's
	// containers.
	original(originals map[string]*prober.Prober, s *handlerSite, names []string) (key string, p *prober.Prober)
}

// A meshProfile says who is in a mesh, what the mesh captures, and which annotations
// make it leave rewritten probes alone.
type meshProfile interface {
	// answerers returns the values that [Options].AnsweredBy may have.
	answerers() []string
	// proxyAnswerer returns the one of them that means the mesh's own proxy; "" if
	// none does. proxyAnswers reports whether that proxy, if it is the answerer,
	// makes a probe itself; if not, a probe-proxy in the same pod does.
	proxyAnswerer() string
	proxyAnswers(s *handlerSite) bool
	// sidecarName returns the name of probe-proxy if the options have the
	// default.
	sidecarName(answeredBy, byDefault string) string
	// reservedPorts returns the ports of the mesh's own processes in a pod.
	reservedPorts() []int
	// proxyID returns the uid and gid of the mesh's proxy. What such a process
	// sends does not reach the app, so probe-proxy must have another.
	proxyID() int64
	// sidecarUser returns the uid of probe-proxy if the options have none. What
	// it sends to the pod's own IP must reach the app without the mesh's proxy.
	sidecarUser() int
	// excludedPorts is the annotation with the ports that the mesh does not capture.
	excludedPorts() portList
	// isProxy reports whether a container is the mesh's own proxy, and
	// proxyPorts returns the ports on which it answers rewritten probes.
	isProxy(c *Container) bool
	proxyPorts(b *planBuilder) []int
	// proxyPlaceholder returns the container, without env and securityContext,
	// that holds the place of the mesh's proxy until it is injected.
	proxyPlaceholder() field.Map
	// privileged reports whether the annotations require more rights for the proxy
	// than the Pod Security level "restricted" allows.
	privileged(annotations field.KeyValues) bool
	// membership returns what the template and its Namespace say of the mesh's
	// injection.
	membership(b *planBuilder) membership
	// inspect reads the mesh's labels and annotations, and decides who answers.
	inspect(b *planBuilder) inspection
	// undo returns the annotations without what annotate added for past answerers. If
	// recorded has the user's value of an annotation, that comes back.
	undo(annotations field.KeyValues, past []answerer, recorded field.KeyValues) field.KeyValues
	// annotate returns the user's annotations with those that an answerer needs. have
	// holds the present annotations, including ours.
	annotate(user, have field.KeyValues, now answerer) field.KeyValues
}

// A companionMaker makes the companion of a workload: an object from which a proxy
// reads the originals. Annotations keep a copy of them for the next run.
type companionMaker interface {
	// needed reports whether an answerer reads the originals from a companion.
	needed(a answerer) bool
	// withOriginals returns the annotations with the originals of the probes.
	withOriginals(annotations field.KeyValues, sites []*handlerSite) field.KeyValues
	// withoutOriginals returns the annotations without them.
	withoutOriginals(annotations field.KeyValues) field.KeyValues
	// originalsIn returns the originals that annotations carry; nil if none.
	originalsIn(annotations field.KeyValues) (map[string]*prober.Prober, error)
	// make returns the companion for the probes; nil if there is nothing to do. Without
	// probes it returns the companion that is no longer needed.
	make(b *planBuilder, sites []*handlerSite) *Companion
}

// An injection says whether a mesh's injector adds its proxy to a pod.
type injection int

const (
	injectionUnknown injection = iota // neither the manifests nor the options say so
	injected
	notInjected
)

// A membership says whether a pod is in a mesh, and where that is said.
type membership struct {
	injection
	at     string // the label, annotation, container or option, for messages; "" if there is none
	byName bool   // at is a container
	// off is the finding about a switch that is off; nil if there is none.
	off *Finding
	// unclear is a warning about a value that switches nothing; nil if there is none.
	unclear *Finding
}

// meshNamed returns the mesh of a name; nil if there is none.
func meshNamed(name string) *serviceMesh {
	i := slices.IndexFunc(serviceMeshes, func(d *serviceMesh) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return serviceMeshes[i]
}

// Meshes returns the values that [Options].Mesh may have.
func Meshes() []string {
	names := []string{MeshAuto}
	for _, d := range serviceMeshes {
		names = append(names, d.name)
	}
	return names
}

// Answerers returns the values that [Options].AnsweredBy may have in any
// mesh.
func Answerers() []string {
	var all []string
	for _, d := range serviceMeshes {
		for _, a := range d.answerers() {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// allMeshes returns every mesh, the given one first.
func allMeshes(first *serviceMesh) []*serviceMesh {
	all := []*serviceMesh{first}
	for _, d := range serviceMeshes {
		if d != first {
			all = append(all, d)
		}
	}
	return all
}

// byConvention groups meshes by their convention: a mesh cannot tell its own
// originals from those of another one in its group.
func byConvention(all []*serviceMesh) [][]*serviceMesh {
	var groups [][]*serviceMesh
	for _, d := range all {
		i := slices.IndexFunc(groups, func(g []*serviceMesh) bool { return g[0].convention == d.convention })
		if i < 0 {
			groups = append(groups, []*serviceMesh{d})
		} else {
			groups[i] = append(groups[i], d)
		}
	}
	return groups
}

// holderIn returns the mesh of a group in which a container carries
// originals: the one whose proxy it is, else the first.
func holderIn(group []*serviceMesh, c *Container) *serviceMesh {
	i := slices.IndexFunc(group, func(d *serviceMesh) bool { return d.isProxy(c) })
	return group[max(i, 0)]
}

// checkPort returns an error if [Options].Port cannot be that port.
func (d *serviceMesh) checkPort(port int) error {
	if reserved := d.reservedPorts(); slices.Contains(reserved, port) {
		return fmt.Errorf("is one of %s's own ports (%s) and must be another", d.title, joinPorts(reserved))
	}
	return d.convention.checkPort(port)
}

// listens returns the ports on which a container with originals answers.
func (d *serviceMesh) listens(b *planBuilder, c *Container) []int {
	if d.isProxy(c) {
		return d.proxyPorts(b)
	}
	return d.sidecarPorts(c)
}

// hasFixedPorts reports whether the convention leaves no choice of the port.
func (d *serviceMesh) hasFixedPorts() bool { return len(d.ports(answerer{})) > 1 }

// An answerer is the process that answers rewritten probes.
type answerer struct {
	who  string // one of the AnsweredBy constants but auto
	port int
}

// An inspection is what a mesh found out about one template.
type inspection struct {
	answerer answerer
	// optOut is the reason to leave the whole template alone; nil if there is none.
	optOut *Finding
	// passesProbes is set if the mesh lets the kubelet's probes through to the
	// pod as they are.
	passesProbes bool
	// facts are what is known of the mesh's proxy in the pod.
	facts facts
	// because is why it does not answer although it is there; "" if the options say so.
	because string
	// turnsOffRewriter is set if the answerer needs the mesh's own rewriter off.
	turnsOffRewriter bool
	// inherited has the annotations of the Namespace that one of the template
	// would replace.
	inherited field.KeyValues
	// collisions are containers of ours in the template, as it was read, that
	// cannot run next to the mesh's proxy.
	collisions []Finding
	// captures reports whether the mesh captures connections to a port.
	captures func(port int) bool
	// conflicts are the reasons why nothing can be rewritten. They and the warnings
	// are reported only if there is something to rewrite.
	conflicts []Finding
	warnings  []Finding
	// firstIsApp is set if the mesh takes the first container for the app.
	firstIsApp bool
	// outcome returns what becomes of a probe as it was read, and, if that is not so in
	// every world, the fact that decides.
	outcome func(s *handlerSite) (f fate, unless string)
}
