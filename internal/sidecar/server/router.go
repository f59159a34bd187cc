package server

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Convention is the form that rewritten probes of one mesh have. A new one is a
// file with its router, and an element of [Conventions].
type Convention struct {
	*prober.Format
	Mesh string // the mesh's name
	// ProxyID is the uid and gid whose traffic the mesh's redirection treats as
	// the proxy's own.
	ProxyID int
	// PortTaken says why a port is probably taken, and what to do.
	PortTaken string

	newRouter func(s *Server, c *Convention, port int, probers map[string]*prober.Prober) router
}

// Conventions lists the conventions. The first one is the default.
var Conventions = []*Convention{Istio, OSM, FSM}

// A router decides what a request is for.
type router interface {
	// ports returns the ports to listen on.
	ports() []int
	// find returns what a request on one of the ports is for: an entry, a page
	// of the server's own, or neither.
	find(port int, req *request) (e *entry, page func() []byte, err error)
	// streams returns where TLS is passed on to, by the port on which it comes.
	streams() map[int]*stream
}

// A route is what leads to an entry in a mesh whose ports are fixed.
type route struct {
	port int    // ours
	path string // of the request in the mesh osm, of the app's probe in fsm
	http string // the app's port that a header names, of a probe over plain HTTP
	tcp  string // the app's port that a header names, of any other probe
}

// fixedPorts is what the routers of meshes with fixed ports have in common.
type fixedPorts struct {
	server *Server
	routes map[route]*entry
	tls    map[int]*stream
}

// add adds the entry to which a route leads. Of several entries of one route, the
// one with the longest timeout answers, since each caller gives up in its own time.
func (r *fixedPorts) add(to route, e *entry) {
	have := r.routes[to]
	if have == nil || have.bad != nil || e.bad == nil && e.target.Timeout() > have.target.Timeout() {
		r.routes[to] = e
	}
}

// ports returns the ports on which there is something to answer, and that of
// healthchecks, where the server has its own pages.
func (r *fixedPorts) ports() []int {
	ports := map[int]bool{prober.OSMHealthcheckPort: true}
	for to := range r.routes {
		ports[to.port] = true
	}
	for port := range r.tls {
		ports[port] = true
	}
	delete(ports, 0) // of invalid keys
	return slices.Sorted(maps.Keys(ports))
}

func (r *fixedPorts) streams() map[int]*stream { return r.tls }

// leaveToOne returns the PortTaken of a mesh that answers rewritten probes
// itself. injection is the annotation that switches its injection.
func leaveToOne(mesh, injection string) string {
	return mesh + " probably injects its own proxy into this pod and rewrites its probes; leave the pod to one of the two: set the annotation `rewrite-probes.io/rewrite: \"false\"`, or `" + injection + ": disabled`"
}

// ByEnv returns the convention whose env var is set, or the default if none is.
// first replaces the name of the default's env var; if it is the name of another
// convention's, ByEnv returns that convention.
func ByEnv(first string, getenv func(string) string) (*Convention, error) {
	others := Conventions[1:]
	if i := slices.IndexFunc(others, func(c *Convention) bool { return c.EnvName == first }); i >= 0 {
		return others[i], nil
	}
	def, format := *Conventions[0], *Conventions[0].Format
	format.EnvName, def.Format = first, &format
	found := &def
	for _, c := range others {
		switch {
		case getenv(c.EnvName) == "":
		case found != &def || getenv(first) != "":
			return nil, fmt.Errorf("env %s and %s must not both be set: a pod has the probes of one mesh", found.EnvName, c.EnvName)
		default:
			found = c
		}
	}
	return found, nil
}

// ByValue returns the convention in which a value has the most valid keys, or def
// if no other has more than def.
func ByValue(value string, def *Convention) *Convention {
	best, most := def, def.validKeys(value)
	for _, c := range Conventions {
		if n := c.validKeys(value); n > most {
			best, most = c, n
		}
	}
	return best
}

func (c *Convention) validKeys(value string) int {
	probers, bad, err := c.Decode(value)
	if err != nil {
		return 0
	}
	n := len(probers)
	for _, e := range bad {
		if _, _, ok := c.ParseKey(e.Key); ok {
			n++
		}
	}
	return n
}

// ownPage returns the page of the server's own at a path, nil if there is none.
func (s *Server) ownPage(path string) func() []byte {
	switch path {
	case prober.HealthPath, prober.ReadyPath:
		return func() []byte { return []byte("ok\n") }
	case "/metrics":
		return s.metrics
	}
	return nil
}
