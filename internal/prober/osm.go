package prober

import (
	"errors"
	"slices"
	"strings"
)

// OSMEnvName is the env var that carries the probers of the dialect osm.
//
// Its value has the form of [EnvName]'s, with other keys: an httpGet prober of
// scheme HTTP has the path on which it is answered, /osm-liveness-probe or
// /osm-liveness-probe/<container>. HTTPS and tcpSocket probers, which no path
// of ours tells apart, always have the second form. So the key names the probe type,
// and the handler decides how it is answered: by path on the probe type's port, as
// TLS passed through on the probe type's port, or on [OSMHealthcheckPort].
const OSMEnvName = "OSM_KUBE_APP_PROBERS"

// OSMProxyID is the uid and gid of Open Service Mesh's own proxy.
const OSMProxyID = 1500

// Every tcpSocket probe in the dialect osm is answered here; a header names the
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
func OSMPort(s ProbeType) int { return osmListeners[s].port }

// OSMPorts returns every port of the dialect osm, in ascending order.
func OSMPorts() []int {
	ports := []int{OSMHealthcheckPort}
	for _, s := range osmListeners {
		ports = append(ports, s.port)
	}
	slices.Sort(ports)
	return ports
}

// OSMKey returns the key of a probe type, with its container unless that is "".
// Hooks have no key.
func OSMKey(s ProbeType, container string) string {
	path := osmListeners[s].path
	if path == "" || container == "" {
		return path
	}
	return path + "/" + container
}

// ParseOSMKey splits a key; ok is false if it is not one.
func ParseOSMKey(key string) (container string, s ProbeType, ok bool) {
	if !strings.HasPrefix(key, osmPrefix) {
		return "", "", false
	}
	for probeType := range osmListeners {
		rest, found := strings.CutPrefix(key, osmListeners[probeType].path)
		if !found {
			continue
		}
		container, named := strings.CutPrefix(rest, "/")
		if rest == "" || named && container != "" && !strings.Contains(container, "/") {
			return container, probeType, true
		}
	}
	return "", "", false
}

// DecodeOSM reads the value of [OSMEnvName] as [Decode] reads that of
// [EnvName]. A grpc entry is bad: the convention has no form for it.
func DecodeOSM(value string) (probers map[string]*Prober, bad []*EntryError, err error) {
	probers, bad, err = decode(OSMEnvName, value, func(key string) (ProbeType, error) {
		_, probeType, ok := ParseOSMKey(key)
		if !ok {
			return "", errors.New("path must be /osm-liveness-probe, /osm-readiness-probe or /osm-startup-probe, or one of these and a container")
		}
		return probeType, nil
	})
	for key, p := range probers {
		container, _, _ := ParseOSMKey(key)
		var err error
		switch {
		case p.HTTPGet == nil && p.TCPSocket == nil:
			err = errors.New("entry must be httpGet or tcpSocket")
		case container == "" && (p.TCPSocket != nil || p.HTTPGet.Scheme == "HTTPS"):
			err = errors.New("path must end with the container for HTTPS and tcpSocket")
		default:
			continue
		}
		delete(probers, key)
		bad = append(bad, &EntryError{Key: key, Err: err})
	}
	slices.SortFunc(bad, func(a, b *EntryError) int { return strings.Compare(a.Key, b.Key) })
	return probers, bad, err
}
