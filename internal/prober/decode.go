package prober

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An EntryError says why one entry of an env value cannot be used.
type EntryError struct {
	Key string
	Err error
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("%q: %v", e.Key, e.Err)
}

// Encode returns the env value of the probers on one line, sorted by key, in
// the form that Istio's injector writes. Without probers it returns "": then
// no env var is written.
func Encode(probers map[string]*Original) string {
	if len(probers) == 0 {
		return ""
	}
	return encodeUsual(probers)
}

// Decode reads an env value and fills in the API's defaults (timeoutSeconds 1
// for probes, path "/", scheme HTTP, service ""). A value that is not a JSON
// object is an error. An entry that cannot be used is left out and reported in
// bad, sorted by key; the other entries are not affected.
func Decode(value string) (probers map[string]*Original, bad []*EntryError, err error) {
	if probers = decodeGood(value); probers != nil {
		return probers, nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &raw); err != nil {
		const form = "must be a JSON object of paths and probers"
		if other, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			return nil, nil, fmt.Errorf("%s %s, not a JSON %s", EnvName, form, other.Value)
		}
		return nil, nil, fmt.Errorf("%s %s: %w", EnvName, form, err)
	}
	probers = make(map[string]*Original, len(raw))
	for key, msg := range raw {
		p, err := decodeEntry(key, msg)
		if err != nil {
			bad = append(bad, &EntryError{Key: key, Err: err})
			continue
		}
		probers[key] = p
	}
	slices.SortFunc(
		bad,
		func(a, b *EntryError) int {
			return strings.Compare(a.Key, b.Key)
		},
	)
	return probers, bad, nil
}

// decodeGood reads an env value in the usual form, all of whose entries can be used; nil if
// anything else comes.
func decodeGood(value string) map[string]*Original {
	probers := decodeUsual(value)
	for key, p := range probers {
		_, probeType, ok := ParseKey(key)
		if !ok || p == nil || p.complete(probeType) != nil {
			return nil
		}
	}
	return probers
}

func decodeEntry(key string, msg json.RawMessage) (*Original, error) {
	_, probeType, ok := ParseKey(key)
	if !ok {
		return nil, errors.New("path must be /app-health/<container>/{readyz,livez,startupz} or /app-lifecycle/<container>/{prestopz,poststartz}")
	}
	if bytes.Equal(bytes.TrimSpace(msg), []byte("null")) {
		return nil, errors.New("entry must be an object, not null")
	}
	var p Original
	if err := DecodeStrictly(msg, &p); err != nil {
		return nil, err
	}
	return &p, p.complete(probeType)
}

// DecodeStrictly decodes one JSON value, and refuses fields that v lacks. Such a field
// changes what the kubelet would have done, so that a probe without it could pass falsely.
func DecodeStrictly(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("field %s is not known to this version, which could not probe as the kubelet does", name)
		}
		return err
	}
	if len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// complete sets the API's defaults and checks what remains.
func (p *Original) complete(probeType ProbeType) error {
	handlers := p.handlers()
	if len(handlers) != 1 {
		return fmt.Errorf("entry must have exactly one of httpGet, tcpSocket and grpc, and has %d", len(handlers))
	}
	if err := handlers[0].complete(); err != nil {
		return err
	}
	if p.TimeoutSeconds < 0 || p.TimeoutSeconds > math.MaxInt32 {
		return fmt.Errorf("timeoutSeconds %d must be a number from 0 to %d", p.TimeoutSeconds, math.MaxInt32)
	}
	if p.TimeoutSeconds == 0 && !probeType.IsHook() {
		p.TimeoutSeconds = 1
	}
	return nil
}

func (h *HTTPGet) complete() error {
	h.Path = cmp.Or(h.Path, "/")
	h.Scheme = strings.ToUpper(cmp.Or(h.Scheme, "HTTP"))
	switch {
	case h.Scheme != "HTTP" && h.Scheme != "HTTPS":
		return fmt.Errorf("httpGet.scheme %q must be HTTP or HTTPS", h.Scheme)
	case h.Protocol != "" &&
		h.Protocol != HTTP1 &&
		h.Protocol != HTTP2:
		return fmt.Errorf("httpGet.protocol %q must be %s or %s", h.Protocol, HTTP1, HTTP2)
	case h.Protocol == HTTP2 && h.Scheme != "HTTP":
		return fmt.Errorf("httpGet.protocol %s needs the scheme HTTP, and it is %s", HTTP2, h.Scheme)
	}
	return completePort("httpGet", &h.Port)
}

func (t *TCPSocket) complete() error {
	return completePort("tcpSocket", &t.Port)
}

func (g *GRPC) complete() error {
	if g.Service == nil {
		g.Service = new(string)
	}
	if g.Mode != "" &&
		g.Mode != GRPCPlaintext &&
		g.Mode != GRPCTLS {
		return fmt.Errorf("grpc.mode %q must be %s or %s", g.Mode, GRPCTLS, GRPCPlaintext)
	}
	return completePort("grpc", &g.Port)
}

// completePort makes a number of a string of digits, as Istio does.
func completePort(handler string, port *field.IntOrString) error {
	n, err := strconv.Atoi(port.String())
	if err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%s.port %q must be a number from 1 to 65535", handler, port)
	}
	*port = field.Number(n)
	return nil
}
