package prober

import "strings"

// FSM is the format of the env var that carries the probers of Flomesh Service Mesh.
//
// Its keys are FSM's paths of the probe types and a container:
// /fsm-liveness-probe/<container>. FSM itself sends every probe to one path and
// says in headers where it goes. It has no grpc entries, since the convention
// cannot express them.
var FSM = &Format{
	EnvName: "FSM_KUBE_APP_PROBERS", ParseKey: parseFSMKey,
	keys:  "/fsm-liveness-probe/, /fsm-readiness-probe/ or /fsm-startup-probe/ and a container",
	check: checkOSM,
}

// The path and the headers of rewritten requests. On the ports of [OSMPort] the
// headers say where an httpGet probe goes, on [OSMHealthcheckPort] the port of a
// tcpSocket probe. The source is FSM's injector (fsm v1.5.1,
// pkg/injector/health_probes.go:62-112, pkg/constants/constants.go:189-216). FSM
// only dials the port of an HTTPS probe; a header with its path is added here, so
// that probe-proxy can make the probe itself.
const (
	FSMPath           = "/fsm-healthcheck"
	FSMHTTPPortHeader = "Original-Http-Port"
	FSMHTTPPathHeader = "Original-Http-Path"
	FSMTCPPortHeader  = "Original-Tcp-Port" // of tcpSocket and of HTTPS
)

const fsmPrefix = "/fsm-"

// FSMKey returns the key of a probe type of a container; "" for hooks.
func FSMKey(container string, t ProbeType) string {
	return strings.Replace(OSMKey(container, t), osmPrefix, fsmPrefix, 1)
}

func parseFSMKey(key string) (container string, t ProbeType, ok bool) {
	rest, isFSM := strings.CutPrefix(key, fsmPrefix)
	name, of, found := ParseOSMKey(osmPrefix + rest)
	if !isFSM || !found || name == "" {
		return
	}
	return name, of, true
}
