package prober

import (
	"errors"
	"strings"
)

// OSM is the format of the env var that carries the probers of the mesh osm.
//
// The key of an httpGet prober of scheme HTTP is the path on which it is answered:
// /osm-liveness-probe or /osm-liveness-probe/<container>. HTTPS and tcpSocket
// probers are not answered by path; their keys always have the second form. So the
// key names the probe type, and the handler decides how the prober is answered: by
// path on the probe type's port, as TLS passed through on that port, or on
// [OSMHealthcheckPort]. There are no grpc entries, since the convention cannot
// express them.
var OSM = &Format{
	EnvName: "OSM_KUBE_APP_PROBERS", ParseKey: ParseOSMKey,
	keys:  "/osm-liveness-probe, /osm-readiness-probe or /osm-startup-probe, or one of these and a container",
	check: checkOSM,
}

// OSMProxyID is the uid and gid of Open Service Mesh's own proxy.
const OSMProxyID = 1500

// Every tcpSocket probe in the mesh osm is answered here; a header names the
// port of the app.
const (
	OSMHealthcheckPort   = 15904
	OSMHealthcheckPath   = "/osm-healthcheck"
	OSMHealthcheckHeader = "Original-Tcp-Port"
)

// osmPrefix is what every key begins with.
const osmPrefix = "/osm-"

// osmListeners holds the paths and ports of Open Service Mesh, whose injector is the
// source of the convention (pkg/injector/health_probes.go).
var osmListeners = map[ProbeType]struct {
	path string
	port int
}{
	Liveness:  {"/osm-liveness-probe", 15901},
	Readiness: {"/osm-readiness-probe", 15902},
	Startup:   {"/osm-startup-probe", 15903},
}

// OSMPort returns the port of a probe type's listener, 0 for hooks, which have none.
func OSMPort(t ProbeType) int { return osmListeners[t].port }

// OSMPorts returns every port of the mesh osm, in ascending order.
func OSMPorts() []int {
	return []int{OSMPort(Liveness), OSMPort(Readiness), OSMPort(Startup), OSMHealthcheckPort}
}

// OSMKey returns the key of a probe type, with its container unless that is "".
// Hooks have no key.
func OSMKey(container string, t ProbeType) string {
	path := osmListeners[t].path
	if path == "" || container == "" {
		return path
	}
	return path + "/" + container
}

// ParseOSMKey splits a key; ok is false if it is not one.
func ParseOSMKey(key string) (container string, t ProbeType, ok bool) {
	for probeType, l := range osmListeners {
		rest, found := strings.CutPrefix(key, l.path)
		name, named := strings.CutPrefix(rest, "/")
		if found && (rest == "" || named && name != "" && !strings.Contains(name, "/")) {
			return name, probeType, true
		}
	}
	return
}

// checkOSM returns why an entry cannot be in the env var of OSM, or of FSM, whose keys
// all have a container.
func checkOSM(container string, p *Prober) error {
	switch {
	case p.GRPC != nil:
		return errors.New("entry must be httpGet or tcpSocket")
	case container == "" && (p.TCPSocket != nil || p.HTTPGet.Scheme == "HTTPS"):
		return errors.New("path must end with the container for HTTPS and tcpSocket")
	}
	return nil
}
