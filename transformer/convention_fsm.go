package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// fsmConvention is the convention of Flomesh Service Mesh (fsm v1.5.1): the ports of
// [osmConvention], one path, and headers that say where the probe goes. They say it
// of every container, so that all HTTPS probes can be told apart and made.
type fsmConvention struct{ osmConvention }

func (fsmConvention) skipUnsupported(b *planBuilder, sites []*handlerSite) {
	for _, s := range sites {
		if kind, _ := s.original.kind(); s.name.IsHook() || kind != kindHTTPGet && kind != kindTCPSocket {
			skipWithoutForm(b, s, kind, flomesh)
		}
	}
}

func (fsmConvention) assign(sites []*handlerSite, _ answerer) []*Handler {
	handlers := make([]*Handler, len(sites))
	for i, s := range sites {
		h := HTTPGet{Port: field.IntOrString{Int: int64(prober.OSMPort(s.name))}}
		says := func(header, value string) {
			h.HTTPHeaders = append(h.HTTPHeaders, HTTPHeader{Name: header, Value: value})
		}
		port, path, plain := strconv.Itoa(s.port), prober.FSMPath, "HTTP"
		switch o := s.original.HTTPGet; {
		case o == nil:
			h.Port.Int, h.Scheme = prober.OSMHealthcheckPort, &plain
			says(prober.FSMTCPPortHeader, port)
		case s.isTLS():
			h.Scheme, h.HTTPHeaders = &plain, slices.Clone(o.HTTPHeaders)
			says(prober.FSMTCPPortHeader, port)
			says(prober.FSMHTTPPathHeader, pathOf(o))
		default:
			h.Scheme, h.HTTPHeaders = o.Scheme, slices.Clone(o.HTTPHeaders)
			says(prober.FSMHTTPPortHeader, port)
			says(prober.FSMHTTPPathHeader, pathOf(o))
		}
		h.Path = &path
		handlers[i] = &Handler{HTTPGet: &h}
	}
	return handlers
}

// pathOf returns the path of a request, with the API's default filled in.
func pathOf(h *HTTPGet) string {
	if p := text(h.Path); p != "" {
		return p
	}
	return "/"
}

// unrewritten returns the request without the headers that say where it goes.
func (fsmConvention) unrewritten(h *HTTPGet) *HTTPGet {
	out := *h
	out.HTTPHeaders = slices.DeleteFunc(slices.Clone(h.HTTPHeaders), isFSMHeader)
	if len(out.HTTPHeaders) == 0 {
		out.HTTPHeaders = nil
	}
	return &out
}

func isFSMHeader(x HTTPHeader) bool {
	return slices.ContainsFunc([]string{prober.FSMHTTPPortHeader, prober.FSMHTTPPathHeader, prober.FSMTCPPortHeader}, func(name string) bool {
		return strings.EqualFold(x.Name, name)
	})
}

// saidBy returns what a rewritten request says of its original; nil if it says
// nothing, or too little to make the original of it: FSM's own injector keeps
// only the port of an HTTPS probe.
func (fsmConvention) saidBy(h *HTTPGet) *prober.Prober {
	if text(h.Path) != prober.FSMPath || h.Port.IsString {
		return nil
	}
	value := func(name string) string {
		i := slices.IndexFunc(h.HTTPHeaders, func(x HTTPHeader) bool { return strings.EqualFold(x.Name, name) })
		if i < 0 {
			return ""
		}
		return h.HTTPHeaders[i].Value
	}
	tcp, okTCP := portIn(value(prober.FSMTCPPortHeader))
	http, okHTTP := portIn(value(prober.FSMHTTPPortHeader))
	path := value(prober.FSMHTTPPathHeader)
	switch {
	case okHTTP && !okTCP:
		if path == "" {
			path = "/" // as FSM writes an absent one
		}
		return &prober.Prober{HTTPGet: &prober.HTTPGet{Path: path, Port: http, Scheme: "HTTP"}}
	case okTCP && !okHTTP && path != "":
		return &prober.Prober{HTTPGet: &prober.HTTPGet{Path: path, Port: tcp, Scheme: "HTTPS"}}
	case okTCP && !okHTTP && h.Port.Int == prober.OSMHealthcheckPort:
		return &prober.Prober{TCPSocket: &prober.TCPSocket{Port: tcp}}
	}
	return nil
}

func portIn(text string) (prober.Port, bool) {
	n, err := strconv.Atoi(text)
	return prober.Port(n), err == nil && n > 0 && n <= 65535
}

func (fsmConvention) looksRewritten(h *HTTPGet) bool {
	return text(h.Path) == prober.FSMPath && slices.ContainsFunc(h.HTTPHeaders, isFSMHeader)
}

func (fsmConvention) byPath() bool { return false }

func (fsmConvention) envName() string { return prober.FSMEnvName }

func (fsmConvention) encode(sites []*handlerSite) string {
	probers := make(map[string]*prober.Prober, len(sites))
	for _, s := range sites {
		probers[prober.FSMKey(s.name, s.container.Name)] = s.prober()
	}
	return encodeEnv(probers)
}

func (fsmConvention) decode(c *Container) (map[string]*prober.Prober, bool, error) {
	return decodeEnv(c, prober.FSMEnvName, prober.DecodeFSM)
}

func (fsmConvention) parseKey(key string) (string, prober.ProbeType, bool) {
	return prober.ParseFSMKey(key)
}

// original: the probe's own headers win over its entry, so that a change that
// was made after the rewriting is known.
func (d fsmConvention) original(originals map[string]*prober.Prober, s *handlerSite, _ []string) (string, *prober.Prober) {
	p := d.saidBy(s.current.HTTPGet)
	if p == nil || s.name.IsHook() {
		return "", nil
	}
	key := prober.FSMKey(s.name, s.container.Name)
	if entry := originals[key]; entry != nil && entry.HTTPGet != nil && p.HTTPGet != nil {
		p.HTTPGet.Protocol = entry.HTTPGet.Protocol
	}
	return key, p
}
