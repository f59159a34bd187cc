package transformer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// fsmConvention is the convention of Flomesh Service Mesh (fsm v1.5.1): the ports
// of [osmConvention], one path, and headers that say where the probe goes. So the
// HTTPS probes of one type need not go to the same port, and probe-proxy makes them
// itself.
type fsmConvention struct{}

var flomeshConvention = &convention{fixedPorts: osmPorts, format: prober.FSM, conventionRules: fsmConvention{}}

func (fsmConvention) skipUnsupported(b *planBuilder, sites []*handlerSite) {
	for _, s := range sites {
		skipInexpressible(b, s)
	}
}

func (fsmConvention) assign(s *handlerSite, _ []*handlerSite, _ answerer) *HTTPGet {
	h := &HTTPGet{Path: prober.FSMPath, Port: field.Number(prober.OSMPort(s.name)), Scheme: "HTTP"}
	h.HTTPHeaders = []HTTPHeader{{Name: prober.FSMTCPPortHeader, Value: strconv.Itoa(s.port)}}
	o := s.original.HTTPGet
	if o == nil {
		h.Port.Int = prober.OSMHealthcheckPort
		return h
	}
	if !s.isHTTPS() {
		h.Scheme, h.HTTPHeaders[0].Name = o.Scheme, prober.FSMHTTPPortHeader
	}
	path := HTTPHeader{Name: prober.FSMHTTPPathHeader, Value: cmp.Or(o.Path, "/")}
	h.HTTPHeaders = append(slices.Concat(o.HTTPHeaders, h.HTTPHeaders), path)
	return h
}

func (fsmConvention) unrewritten(h *HTTPGet) *HTTPGet {
	out := *h
	out.HTTPHeaders = slices.DeleteFunc(slices.Clone(h.HTTPHeaders), isFSMHeader)
	return &out
}

func isFSMHeader(x HTTPHeader) bool {
	return slices.ContainsFunc([]string{prober.FSMHTTPPortHeader, prober.FSMHTTPPathHeader, prober.FSMTCPPortHeader}, func(name string) bool {
		return strings.EqualFold(x.Name, name)
	})
}

// originalIn returns the original that the headers of a rewritten request describe;
// nil if they describe none, or not all of it: FSM's own injector keeps only the
// port of an HTTPS probe.
func (fsmConvention) originalIn(h *HTTPGet) *prober.Prober {
	if h.Path != prober.FSMPath || h.Port.IsString {
		return nil
	}
	tcp, okTCP := portIn(headerIn(h, prober.FSMTCPPortHeader))
	http, okHTTP := portIn(headerIn(h, prober.FSMHTTPPortHeader))
	path := headerIn(h, prober.FSMHTTPPathHeader)
	switch {
	case okHTTP && !okTCP:
		return &prober.Prober{HTTPGet: &HTTPGet{Path: cmp.Or(path, "/"), Port: http, Scheme: "HTTP"}}
	case okTCP && !okHTTP && path != "":
		return &prober.Prober{HTTPGet: &HTTPGet{Path: path, Port: tcp, Scheme: "HTTPS"}}
	case okTCP && !okHTTP && h.Port.Int == prober.OSMHealthcheckPort:
		return &prober.Prober{TCPSocket: &TCPSocket{Port: tcp}}
	}
	return nil
}

// portIn returns the port that a text is; ok is false if it is none.
func portIn(text string) (port field.IntOrString, ok bool) {
	if text == "" { // of most headers and annotations; an error of strconv takes memory
		return port, false
	}
	n, err := strconv.Atoi(text)
	return field.Number(n), err == nil && n > 0 && n <= 65535
}

func (fsmConvention) looksRewritten(h *HTTPGet) bool {
	return h.Path == prober.FSMPath && slices.ContainsFunc(h.HTTPHeaders, isFSMHeader)
}

func (fsmConvention) key(s *handlerSite) string { return prober.FSMKey(s.container.Name, s.name) }

// original: the probe's own headers win over its entry, so that later manual edits
// are kept.
func (d fsmConvention) original(originals map[string]*prober.Prober, s *handlerSite, _ []string) (string, *prober.Prober) {
	p := d.originalIn(s.current.HTTPGet)
	if p == nil || s.name.IsHook() {
		return "", nil
	}
	key := prober.FSMKey(s.container.Name, s.name)
	if entry := originals[key]; entry != nil && entry.HTTPGet != nil && p.HTTPGet != nil {
		p.HTTPGet.Protocol = entry.HTTPGet.Protocol
	}
	return key, p
}
