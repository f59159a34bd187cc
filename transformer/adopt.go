package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An adopter understands probes that a mesh's own tool has rewritten, and that
// no container of the template carries originals for. found reports whether a
// probe is one; original is nil if the template does not say what it was.
type adopter func(b *planBuilder, s *handlerSite) (original *Handler, found bool)

// adopters are those of all meshes.
var adopters = []adopter{adoptOSM, adoptFSM, adoptKuma, adoptConsul}

// adopt sets the original of a probe to the one that a mesh's own tool has left in the
// template.
func (b *planBuilder) adopt(s *handlerSite) {
	for _, a := range adopters {
		original, found := a(b, s)
		if !found {
			continue
		}
		s.lost = original == nil
		if original != nil {
			s.original, s.alreadyRewritten, s.foreign = original, true, true
			s.form = namedForm(original, s.form)
		}
		return
	}
}

// adoptOSM: the header of a tcpSocket probe has its port; the originals of other
// probes are in the configuration of the proxy.
func adoptOSM(_ *planBuilder, s *handlerSite) (*Handler, bool) {
	port, ok := osmHealthcheckOf(s.current.HTTPGet)
	if !ok || s.name.IsHook() {
		return nil, false
	}
	return &Handler{TCPSocket: &TCPSocket{Port: field.IntOrString{Int: int64(port)}}}, true
}

// namedForm returns the form of an original whose port is a name, which the env
// var cannot carry; nil if it can carry the original. read is the form of the
// probe as it was read.
func namedForm(original *Handler, read field.Map) field.Map {
	if original.HTTPGet == nil || !original.HTTPGet.Port.IsString {
		return nil
	}
	form := slices.Clone(read)
	for i := range form {
		if form[i].Key == "port" {
			form[i].Value = original.HTTPGet.Port.Str
		}
	}
	return form
}

func adoptFSM(_ *planBuilder, s *handlerSite) (*Handler, bool) {
	h := s.current.HTTPGet
	p := fsmConvention{}.saidBy(h)
	if p == nil || s.name.IsHook() {
		return nil, false // it is said to dangle if it looks rewritten
	}
	return handlerOf(p, fsmConvention{}.unrewritten(h)), true
}

// kumaHeader is what the names of Kuma's headers begin with
// (pkg/plugins/runtime/k8s/probes/headers.go).
const kumaHeader = "X-Kuma-Probes-"

// adoptKuma reads the path and the headers of a probe that goes to Kuma's probe
// proxy (pkg/plugins/runtime/k8s/probes/probe_converter.go:31-131). Its injector
// notes the port of that in the pod's annotations, and so that of virtual probes,
// which have no headers.
func adoptKuma(b *planBuilder, s *handlerSite) (*Handler, bool) {
	h := s.current.HTTPGet
	goesTo := func(key string) bool {
		n, ok := portIn(b.annotations().Get(key))
		return ok && !h.Port.IsString && h.Port.Int == int64(n)
	}
	if s.name.IsHook() || !goesTo(kumaProbeProxyPort) && !(goesTo(kumaVirtualProbePort) && b.annotations().Get("kuma.io/virtual-probes") == "enabled") {
		return nil, false
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(text(h.Path), "/"), "/")
	number := kind
	if kind == "tcp" || kind == "grpc" {
		number = rest
	}
	port, ok := portIn(number)
	if !ok {
		return nil, true
	}
	at := field.IntOrString{Int: int64(port)}
	own := HTTPGet{Port: at}
	var service string
	for _, x := range h.HTTPHeaders {
		name, isKumas := strings.CutPrefix(x.Name, kumaHeader)
		value := x.Value
		switch {
		case !isKumas:
			own.HTTPHeaders = append(own.HTTPHeaders, x)
		case name == "Host":
			own.HTTPHeaders = append(own.HTTPHeaders, HTTPHeader{Name: name, Value: value})
		case name == "Scheme":
			own.Scheme = &value
		case name == "GRPC-Service":
			service = value
		}
	}
	switch kind {
	case "tcp":
		return &Handler{TCPSocket: &TCPSocket{Port: at}}, true
	case "grpc":
		g := &GRPC{Port: at}
		if service != "" {
			g.Service = &service
		}
		return &Handler{GRPC: g}, true
	}
	path := "/" + rest
	own.Path = &path
	return &Handler{HTTPGet: &own}, true
}

// consulOriginalPod is the annotation in which Consul's injector keeps the pod as
// it was (constants/annotations_and_labels.go:202).
const consulOriginalPod = "consul.hashicorp.com/original-pod"

// consulStarts are the first ports of Consul's ranges, a port for each container
// (webhook/mesh_webhook.go:41-51).
var consulStarts = map[prober.ProbeType]int64{prober.Liveness: 20300, prober.Readiness: 20400, prober.Startup: 20500}

// adoptConsul: Consul's injector changes nothing but the port.
func adoptConsul(b *planBuilder, s *handlerSite) (*Handler, bool) {
	h := s.current.HTTPGet
	start, ok := consulStarts[s.name]
	if !ok || h.Port.IsString || h.Port.Int < start || h.Port.Int >= start+100 || s.at.init {
		return nil, false
	}
	said, kept := b.annotations().Lookup(consulOriginalPod)
	if _, injected := b.annotations().Lookup("consul.hashicorp.com/connect-inject-status"); !kept && !injected {
		return nil, false
	}
	port, ok := consulPort(said, s.container.Name, s.path[len(s.path)-1].Key)
	if !ok {
		return nil, true
	}
	own := *h
	own.Port = port
	return &Handler{HTTPGet: &own}, true
}

// consulPort returns the port of an httpGet probe of a pod in JSON.
func consulPort(pod, container, probe string) (port field.IntOrString, ok bool) {
	v, err := field.DecodeJSON(pod)
	at := func(v field.Value, key string) field.Value {
		m, _ := v.(field.Map)
		v, _ = m.Get(key)
		return v
	}
	containers, _ := at(at(v, "spec"), "containers").(field.List)
	for _, c := range containers {
		if at(c, "name") != container || err != nil {
			continue
		}
		switch port := at(at(at(c, probe), kindHTTPGet), "port").(type) {
		case int:
			return field.IntOrString{Int: int64(port)}, true
		case string:
			return field.IntOrString{Str: port, IsString: true}, true
		}
	}
	return field.IntOrString{}, false
}
