package prober

import (
	"errors"
	"slices"
	"strings"
)

// FSMEnvName is the env var that carries the probers of Flomesh Service Mesh.
//
// Its value has the form of [EnvName]'s. The keys are FSM's paths of the probe
// types and a container: /fsm-liveness-probe/<container>. FSM itself sends every
// probe to one path and says in headers where it goes.
const FSMEnvName = "FSM_KUBE_APP_PROBERS"

// What a rewritten request says: on the ports of [OSMPort], where an httpGet
// probe goes, and on [OSMHealthcheckPort] the port of a tcpSocket probe. The
// source is FSM's injector (fsm v1.5.1, pkg/injector/health_probes.go:62-112,
// pkg/constants/constants.go:189-216). FSM only dials the port of an HTTPS
// probe; here its path is said too, so that the probe itself can be made.
const (
	FSMPath           = "/fsm-healthcheck"
	FSMHTTPPortHeader = "Original-Http-Port"
	FSMHTTPPathHeader = "Original-Http-Path"
	FSMTCPPortHeader  = "Original-Tcp-Port" // of tcpSocket and of HTTPS
)

const fsmPrefix = "/fsm-"

// FSMKey returns the key of a probe type of a container; "" for hooks.
func FSMKey(s ProbeType, container string) string {
	key := OSMKey(s, container)
	if key == "" {
		return ""
	}
	return fsmPrefix + strings.TrimPrefix(key, osmPrefix)
}

// ParseFSMKey splits a key; ok is false if it is not one.
func ParseFSMKey(key string) (container string, s ProbeType, ok bool) {
	rest, ok := strings.CutPrefix(key, fsmPrefix)
	if !ok {
		return "", "", false
	}
	container, s, ok = ParseOSMKey(osmPrefix + rest)
	return container, s, ok && container != ""
}

// DecodeFSM reads the value of [FSMEnvName] as [Decode] reads that of
// [EnvName]. A grpc entry is bad: the convention has no form for it.
func DecodeFSM(value string) (probers map[string]*Prober, bad []*EntryError, err error) {
	probers, bad, err = decode(FSMEnvName, value, func(key string) (ProbeType, error) {
		_, probeType, ok := ParseFSMKey(key)
		if !ok {
			return "", errors.New("path must be /fsm-liveness-probe/, /fsm-readiness-probe/ or /fsm-startup-probe/ and a container")
		}
		return probeType, nil
	})
	for key, p := range probers {
		if p.HTTPGet == nil && p.TCPSocket == nil {
			delete(probers, key)
			bad = append(bad, &EntryError{Key: key, Err: errors.New("entry must be httpGet or tcpSocket")})
		}
	}
	slices.SortFunc(bad, func(a, b *EntryError) int { return strings.Compare(a.Key, b.Key) })
	return probers, bad, err
}
