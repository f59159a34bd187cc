package prober

import "strings"

// Where Open Service Mesh's injector sends a tcpSocket probe. The header has the app's port.
const (
	OSMHealthcheckPort = 15904
	OSMHealthcheckPath = "/osm-healthcheck"
	OSMPortHeader      = "Original-Tcp-Port"
)

// osmEndpoints are where the injector sends the other probes: each type of probe has a port, and
// a path.
var osmEndpoints = map[ProbeType]OSMRoute{
	Liveness:  {Port: 15901, Path: "/osm-liveness-probe"},
	Readiness: {Port: 15902, Path: "/osm-readiness-probe"},
	Startup:   {Port: 15903, Path: "/osm-startup-probe"},
}

// OSMPorts returns the ports of Open Service Mesh's form, in their order.
func OSMPorts() []int {
	return []int{15901, 15902, 15903, OSMHealthcheckPort}
}

// OSMTypeOf returns the type of the probes that come on a port; ok is false on the port of tcpSocket probes and on
// those of others.
func OSMTypeOf(port int) (t ProbeType, ok bool) {
	for t, endpoint := range osmEndpoints {
		if endpoint.Port == port {
			return t, true
		}
	}
	return t, false
}

// An OSMRoute is what tells a request in Open Service Mesh's form from others.
type OSMRoute struct {
	Port    int    // on which it comes
	Path    string // "" if it is TLS, which is passed on to the app unread
	TCPPort string // the app's port, as the header of a tcpSocket probe has it
}

// IsTLS reports whether connections are passed on to the app unread.
func (r OSMRoute) IsTLS() bool { return r.Path == "" }

// OSMRoutes returns the routes of each prober that Open Service Mesh's form can express, by key.
// The first route is the one to write. If no other HTTP probe of the pod has the type, that is the
// path without the name of the container. The path with the name is always a route.
//
// The form cannot express grpc probes and hooks, nor HTTPS at a second port of the app: all TLS
// of a type goes to the port of the first key. Such probers have no routes. Several tcpSocket
// probes of one port share a route, and so do several HTTPS probes of a type.
func OSMRoutes(probers map[string]*Original) map[string][]OSMRoute {
	routes := make(map[string][]OSMRoute, len(probers))
	for key, p := range probers {
		container, t, _ := ParseKey(key)
		endpoint, known := osmEndpoints[t]
		switch {
		case !known || p == nil:
		case p.TCPSocket != nil:
			routes[key] = []OSMRoute{{OSMHealthcheckPort, OSMHealthcheckPath, p.TCPSocket.Port.String()}}
		case isTLS(p):
			if p.HTTPGet.Port == probers[osmKeys(probers, t, isTLS).first].HTTPGet.Port {
				routes[key] = []OSMRoute{{Port: endpoint.Port}}
			}
		case isPlain(p):
			named := OSMRoute{Port: endpoint.Port, Path: endpoint.Path + "/" + container}
			routes[key] = []OSMRoute{named}
			if osmKeys(probers, t, isPlain).count == 1 {
				routes[key] = []OSMRoute{endpoint, named}
			}
		}
	}
	return routes
}

func isTLS(p *Original) bool {
	return p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS"
}
func isPlain(p *Original) bool {
	return p.HTTPGet != nil && p.HTTPGet.Scheme != "HTTPS"
}

// keysOfType are the keys of the probers of a type that have something in common.
type keysOfType struct {
	first string
	count int
}

func osmKeys(probers map[string]*Original, t ProbeType, belongs func(*Original) bool) (keys keysOfType) {
	for key, p := range probers {
		if _, of, _ := ParseKey(key); of != t || p == nil || !belongs(p) {
			continue
		}
		if keys.count++; keys.count == 1 || key < keys.first {
			keys.first = key
		}
	}
	return keys
}

// OSMRouteOf returns the route of a request. ok is false unless it is in Open Service Mesh's form:
// on one of its ports, with a path that belongs there or over TLS. The case of the header's name
// does not matter.
func OSMRouteOf(h *HTTPGet) (r OSMRoute, ok bool) {
	if h.Port.IsString {
		return OSMRoute{}, false
	}
	r = OSMRoute{Port: int(h.Port.Int), Path: h.Path}
	if h.Path == OSMHealthcheckPath {
		r.TCPPort = osmPort(h.HTTPHeaders)
		return r, r.Port == OSMHealthcheckPort &&
			r.TCPPort != "" &&
			h.Scheme != "HTTPS"
	}
	for _, endpoint := range osmEndpoints {
		switch container, isNamed := strings.CutPrefix(h.Path, endpoint.Path+"/"); {
		case endpoint.Port != r.Port:
		case h.Scheme == "HTTPS":
			return OSMRoute{Port: r.Port}, true
		case h.Path == endpoint.Path, isNamed && container != "" && !strings.Contains(container, "/"):
			return r, true
		}
	}
	return r, false
}

// osmPort returns the app's port that the headers of a tcpSocket probe name; "" if they name none.
func osmPort(headers []HTTPHeader) string {
	for _, x := range headers {
		if strings.EqualFold(x.Name, OSMPortHeader) {
			return x.Value
		}
	}
	return ""
}
