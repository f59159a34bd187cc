// Package prober is the wire format that rewrite-probes writes and
// probe-proxy reads: the value of the env var ISTIO_KUBE_APP_PROBERS and the
// paths of rewritten probes; in the dialect osm, [OSMEnvName] and its own.
//
// The form is Istio's, byte for byte for an object whose defaults are filled
// in: a JSON object whose keys are the rewritten paths, sorted, and whose
// values carry the handler and the timeout. The types mirror those of the
// Kubernetes API, so that the sidecar links none of it.
package prober

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// EnvName is the env var that carries the probers, named as Istio names it.
const EnvName = "ISTIO_KUBE_APP_PROBERS"

// DefaultPort is the port of Istio's status server, where rewritten probes go.
const DefaultPort = 15020

// A Slot is one of the places of a container that hold a handler.
type Slot string

// The five slots, in the words of the rewritten path.
const (
	Readiness Slot = "readyz"
	Liveness  Slot = "livez"
	Startup   Slot = "startupz"
	PreStop   Slot = "prestopz"
	PostStart Slot = "poststartz"
)

// IsHook tells whether the slot is a lifecycle hook: the kubelet ignores the
// status code of hooks and gives them no timeout.
func (s Slot) IsHook() bool { return s == PreStop || s == PostStart }

// Key gives the rewritten path of a container's slot, which is also the key
// of its entry: /app-health/<container>/livez, /app-lifecycle/<container>/prestopz.
func Key(container string, s Slot) string {
	if s.IsHook() {
		return "/app-lifecycle/" + container + "/" + string(s)
	}
	return "/app-health/" + container + "/" + string(s)
}

// ParseKey takes a rewritten path apart; ok is false where it is none: the
// pattern is Istio's, ^/(app-health|app-lifecycle)/[^/]+/(livez|readyz|startupz|prestopz|poststartz)$,
// with the first part as the slot wants it.
func ParseKey(key string) (container string, s Slot, ok bool) {
	rest, isProbe := strings.CutPrefix(key, "/app-health/")
	if !isProbe {
		var isHook bool
		if rest, isHook = strings.CutPrefix(key, "/app-lifecycle/"); !isHook {
			return "", "", false
		}
	}
	container, last, _ := strings.Cut(rest, "/")
	switch s = Slot(last); s {
	case Readiness, Liveness, Startup, PreStop, PostStart:
		return container, s, container != "" && s.IsHook() != isProbe
	}
	return "", "", false
}

// A Prober is one entry: exactly one handler and, for probes, the timeout.
// The order of the fields is that of Istio's output.
type Prober struct {
	HTTPGet        *HTTPGet   `json:"httpGet,omitempty"`
	TCPSocket      *TCPSocket `json:"tcpSocket,omitempty"`
	GRPC           *GRPC      `json:"grpc,omitempty"`
	TimeoutSeconds int        `json:"timeoutSeconds,omitempty"`
}

// HTTPGet mirrors the API's HTTPGetAction.
type HTTPGet struct {
	Path        string   `json:"path,omitempty"`
	Port        Port     `json:"port"`
	Host        string   `json:"host,omitempty"`
	Scheme      string   `json:"scheme,omitempty"`
	HTTPHeaders []Header `json:"httpHeaders,omitempty"`
}

// Header mirrors the API's HTTPHeader.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TCPSocket mirrors the API's TCPSocketAction.
type TCPSocket struct {
	Port Port   `json:"port"`
	Host string `json:"host,omitempty"`
}

// GRPC mirrors the API's GRPCAction; Service is written as null when unset.
type GRPC struct {
	Port    Port    `json:"port"`
	Service *string `json:"service"`
}

// A Port is a numeric port. It is written as a number and read from a number
// or a string of digits (the API's IntOrString).
type Port int

// UnmarshalJSON accepts 8080 and "8080"; a port name or a number outside
// 1-65535 is an error.
func (p *Port) UnmarshalJSON(b []byte) error {
	s := string(b)
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q must be a number from 1 to 65535", s)
	}
	*p = Port(n)
	return nil
}

// An EntryError says why one entry of an env value cannot be used.
type EntryError struct {
	Key string
	Err error
}

func (e *EntryError) Error() string { return fmt.Sprintf("%q: %v", e.Key, e.Err) }

// Unwrap gives the reason alone.
func (e *EntryError) Unwrap() error { return e.Err }

// Decode reads an env value. What is undefaulted gets the API's defaults
// (timeoutSeconds 1 for probes, path "/", scheme HTTP, service ""). A value
// that is no JSON object is an error; an entry that cannot be used is left
// out and reported in bad, sorted by key, and the others stand.
func Decode(value string) (probers map[string]*Prober, bad []*EntryError, err error) {
	return decode(EnvName, value, func(key string) (Slot, error) {
		_, slot, ok := ParseKey(key)
		if !ok {
			return "", errors.New("path must be /app-health/<container>/{readyz,livez,startupz} or /app-lifecycle/<container>/{prestopz,poststartz}")
		}
		return slot, nil
	})
}

func decode(env, value string, slotOf func(key string) (Slot, error)) (probers map[string]*Prober, bad []*EntryError, err error) {
	var raw map[string]json.RawMessage
	dec := json.NewDecoder(strings.NewReader(value))
	if err := dec.Decode(&raw); err != nil {
		return nil, nil, fmt.Errorf("%s must be a JSON object of paths and probers: %w", env, err)
	}
	if dec.More() {
		return nil, nil, fmt.Errorf("%s must be one JSON object: more text follows it", env)
	}
	probers = make(map[string]*Prober, len(raw))
	for key, msg := range raw {
		slot, err := slotOf(key)
		var p *Prober
		if err == nil {
			p, err = decodeEntry(slot, msg)
		}
		if err != nil {
			bad = append(bad, &EntryError{Key: key, Err: err})
			continue
		}
		probers[key] = p
	}
	slices.SortFunc(bad, func(a, b *EntryError) int { return strings.Compare(a.Key, b.Key) })
	return probers, bad, nil
}

func decodeEntry(slot Slot, msg json.RawMessage) (*Prober, error) {
	if bytes.Equal(bytes.TrimSpace(msg), []byte("null")) {
		return nil, errors.New("entry must be an object, not null")
	}
	var p Prober
	if err := json.Unmarshal(msg, &p); err != nil {
		return nil, err
	}
	if p.HTTPGet == nil && p.TCPSocket == nil && p.GRPC == nil {
		// Istio before 1.6 wrote the fields of httpGet without the key.
		var old HTTPGet
		if err := json.Unmarshal(msg, &old); err == nil && old.Port != 0 {
			p.HTTPGet = &old
		}
	}
	return &p, p.fill(slot)
}

// fill sets the API's defaults and checks what is left.
func (p *Prober) fill(slot Slot) error {
	handlers := 0
	if h := p.HTTPGet; h != nil {
		handlers++
		if h.Path == "" {
			h.Path = "/"
		}
		if h.Scheme == "" {
			h.Scheme = "HTTP"
		}
		h.Scheme = strings.ToUpper(h.Scheme)
		if h.Scheme != "HTTP" && h.Scheme != "HTTPS" {
			return fmt.Errorf("httpGet.scheme %q must be HTTP or HTTPS", h.Scheme)
		}
		if h.Port == 0 {
			return errors.New("httpGet.port must be a number from 1 to 65535")
		}
	}
	if t := p.TCPSocket; t != nil {
		handlers++
		if t.Port == 0 {
			return errors.New("tcpSocket.port must be a number from 1 to 65535")
		}
	}
	if g := p.GRPC; g != nil {
		handlers++
		if g.Service == nil {
			g.Service = new(string)
		}
		if g.Port == 0 {
			return errors.New("grpc.port must be a number from 1 to 65535")
		}
	}
	if handlers != 1 {
		return fmt.Errorf("entry must have exactly one of httpGet, tcpSocket and grpc, and has %d", handlers)
	}
	if p.TimeoutSeconds < 0 {
		return fmt.Errorf("timeoutSeconds %d must not be negative", p.TimeoutSeconds)
	}
	if p.TimeoutSeconds == 0 && !slot.IsHook() {
		p.TimeoutSeconds = 1
	}
	return nil
}
