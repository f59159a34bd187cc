package transformer

import (
	"maps"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A dialect is the convention of one mesh: where rewritten probes go, how
// their originals are carried, and what the mesh's own labels and annotations
// say. Nothing else in this package knows a port, a path or an env var.
//
// All slots of a pod are assigned at once, since the paths of some
// conventions depend on how many containers have a probe of one type; a slot
// may be given another port than its neighbour, headers of its own, or be left
// alone. Where the answerer is told the originals outside the pod, in an
// object beside the workload, annotations carry them for the next run.
type dialect interface {
	// answerers gives the values of [Options].AnsweredBy.
	answerers() []string
	// checkPort says why a probe port cannot be one; nil where it can.
	checkPort(port int) error
	// ports gives the ports on which an answerer answers.
	ports(a answerer) []int
	// healthPort gives the one of them where probe-proxy answers for itself,
	// and args what it must be told on its command line.
	healthPort(o *Options) int
	args(o *Options) field.List
	// proxyID is the uid and gid whose connections the mesh's rules for
	// iptables treat as the proxy's own: under it probe-proxy's would not reach
	// the app.
	proxyID() int64
	// isProxy tells whether a container is the mesh's own proxy.
	isProxy(c *Container) bool
	// declare gives the container, without env and securityContext, that stands
	// for the mesh's proxy in a template until it is injected.
	declare() field.Map
	// privileged tells whether annotations ask for more of the mesh's proxy
	// than the Pod Security level "restricted" allows.
	privileged(annotations field.KeyValues) bool
	// survey reads the labels and annotations of the mesh and decides who
	// answers. Its findings go to w.
	survey(w *work) mesh
	// limit leaves those of the slots alone, with a reason, for which the
	// convention has no form.
	limit(w *work, slots []*slot)
	// assign gives what the handlers of the slots become.
	assign(slots []*slot, a answerer) []*Handler
	// looksRewritten tells whether a request is of the form that assign gives.
	looksRewritten(h *HTTPGet) bool
	// envName and encode give the env var that tells the answerer the originals;
	// the value is "" where no env var is needed.
	envName() string
	encode(slots []*slot, a answerer) string
	// decode reads the originals that a container carries; found is false
	// where it carries none.
	decode(c *Container) (originals map[string]*prober.Prober, found bool, err error)
	// parseKey takes the key of an original apart; ok is false where it is none.
	parseKey(key string) (container string, probe prober.Slot, ok bool)
	// original finds the original of a slot, and its key, among those that a
	// holder carries, by the slot's path; nil where there is none. names are
	// those of the pod's containers.
	original(originals map[string]*prober.Prober, s *slot, names []string) (key string, p *prober.Prober)
	// listens gives the ports on which a container that carries originals
	// answers.
	listens(w *work, c *Container) []int
	// undo returns the annotations without what annotate added for the
	// answerers in past; where kept has the user's value of one, with that.
	undo(annotations field.KeyValues, m mesh, past []answerer, kept field.KeyValues) field.KeyValues
	// annotate returns the user's annotations with what an answerer of the
	// slots needs. have are the annotations as they stand, with ours.
	annotate(user, have field.KeyValues, m mesh, now answerer, slots []*slot) field.KeyValues
	// annotated reads the originals that annotations carry, nil where they
	// carry none.
	annotated(annotations field.KeyValues) (map[string]*prober.Prober, error)
	// beside gives the object that must stand beside the workload for an
	// answerer of the slots, nil for none.
	beside(w *work, slots []*slot) *Beside
}

var dialects = map[string]dialect{"istio": istio{}, "osm": osm{}}

// allDialects gives every dialect, first the one that counts.
func allDialects(first dialect) []dialect {
	all := []dialect{first}
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		if d := dialects[name]; d != first {
			all = append(all, d)
		}
	}
	return all
}

// An answerer is the process that answers rewritten probes.
type answerer struct {
	who  string // one of the AnsweredBy constants but auto
	port int
}

// A mesh is what a dialect found out about one template.
type mesh struct {
	answerer answerer
	present  bool // the pod has the mesh's proxy, or will have it
	// optOut is the reason to leave the whole template alone, nil for none.
	optOut *Finding
	// passesProbes is set if the mesh lets the kubelet's probes through to the
	// pod as they are.
	passesProbes bool
	// assumed is set if neither the manifests nor the options say whether the
	// mesh's proxy is there, and who answers depends on it.
	assumed bool
	// collisions are containers of ours in the template, as it was read, that
	// cannot run beside the mesh's proxy.
	collisions []Finding
	// captures tells whether the mesh takes what comes in on a port.
	captures func(port int) bool
	// conflicts says, for a template where something is to be rewritten, why
	// that cannot be.
	conflicts []Finding
	// warnings are said where something is to be rewritten.
	warnings []Finding
	// proxyLate says what puts the proxy before the other containers; "" where
	// it is known to be there.
	proxyLate string
	// proxyFirst tells that the proxy is a native sidecar which starts before
	// any other container.
	proxyFirst bool
}
