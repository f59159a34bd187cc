package server

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Convention is the form that rewritten probes of one mesh have. A new one is a
// file with its routes, and an element of [Conventions].
type Convention struct {
	*prober.Format
	Mesh string // the mesh's name
	// ProxyID is the uid and gid whose traffic the mesh's redirection treats as
	// the proxy's own.
	ProxyID int
	// PortTaken says why a port is probably taken, and what to do.
	PortTaken string

	// fixedPort is the port of the server's own pages; 0 if it is the one that the
	// user chose.
	fixedPort int
	// passesTLS says that TLS of HTTPS probes is passed on to the app.
	passesTLS bool
	// routeTo returns the route that leads to an entry; p is nil if the entry is
	// bad. chosen is the port that the user chose.
	routeTo func(chosen int, key string, p *prober.Prober) route
	// routeOf returns the route of a request that came on a port. It removes
	// headers that the app's probe did not have.
	routeOf func(port int, req *request) (route, *badRequest)
}

// Conventions lists the conventions. The first one is the default.
var Conventions = []*Convention{Istio, OSM, FSM}

// A route is what requests and the entry that they are for have in common.
type route struct {
	port int    // ours
	path string // of the request; in the mesh fsm, of the app's probe
	http string // the app's port that a header names, of a probe over plain HTTP
	tcp  string // the app's port that a header names, of any other probe
}

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
	return slices.MaxFunc(append([]*Convention{def}, Conventions...), func(a, b *Convention) int {
		return a.validKeys(value) - b.validKeys(value)
	})
}

func (c *Convention) validKeys(value string) int {
	var entries map[string]json.RawMessage
	_ = json.Unmarshal([]byte(value), &entries)
	n := 0
	for key := range entries {
		if _, _, ok := c.ParseKey(key); ok {
			n++
		}
	}
	return n
}

// ownPage returns the page of the server's own at a port and path, nil if there is none.
func (s *Server) ownPage(port int, path string) func() []byte {
	switch {
	case port != s.pagePort:
		return nil
	case path == prober.HealthPath, path == prober.ReadyPath:
		return func() []byte { return []byte("ok\n") }
	case path == "/metrics":
		return s.metrics
	}
	return nil
}
