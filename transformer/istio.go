package transformer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// istio is Istio's convention: every rewritten probe becomes an httpGet of a
// path that names its container and slot, on the port of Istio's status
// server, and one env var carries the originals.
type istio struct{}

// The labels and annotations of Istio.
const (
	istioRewrite      = "sidecar.istio.io/rewriteAppHTTPProbers"
	istioInject       = "sidecar.istio.io/inject"
	istioNative       = "sidecar.istio.io/nativeSidecar"
	istioStatusPort   = "status.sidecar.istio.io/port"
	istioIncludePorts = "traffic.sidecar.istio.io/includeInboundPorts"
	istioExcludePorts = "traffic.sidecar.istio.io/excludeInboundPorts"
	istioProxyConfig  = "proxy.istio.io/config"
	istioInterception = "sidecar.istio.io/interceptionMode"
	istioNetBind      = "sidecar.istio.io/capNetBindService"
	istioInjection    = "istio-injection"
	istioRevision     = "istio.io/rev"
	istioTemplates    = "inject.istio.io/templates"
)

const istioProxyName = "istio-proxy"

// istioReserved are the ports of Istio's own processes in a pod, but for the
// status server's.
var istioReserved = []int{15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090}

// istioNeverCaptured are the ports, with the status server's, that the mesh
// leaves alone where it captures all others.
var istioNeverCaptured = []int{15021, 15090}

// istioNoCapture are the injection templates of Istio that have no init
// container which captures the pod's connections.
var istioNoCapture = []string{"gateway", "grpc-agent", "grpc-simple", "kube-gateway", "waypoint"}

// istioNeverInjected are the namespaces that Istio's injector passes over.
var istioNeverInjected = []string{"kube-system", "kube-public", "kube-node-lease"}

func (istio) answerers() []string {
	return []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByIstioProxy}
}

func (istio) checkPort(port int) error {
	if slices.Contains(istioReserved, port) {
		return fmt.Errorf("port %d is one of Istio's own (%s) and must be another", port, joinPorts(istioReserved))
	}
	return nil
}

func (istio) ports(a answerer) []int { return []int{a.port} }

func (istio) healthPort(o *Options) int { return o.Port }

func (istio) args(o *Options) field.List {
	if o.Port == prober.DefaultPort {
		return nil
	}
	return field.List{portFlag + "=" + strconv.Itoa(o.Port)}
}

func (istio) proxyID() int64 { return prober.IstioProxyID }

// limit: probe-proxy makes whatever the kubelet dials; Istio's agent knows
// neither grpc.mode nor httpGet.protocol.
func (istio) limit(w *work, slots []*slot) {
	for _, s := range slots {
		if w.mesh.answerer.who == AnsweredByIstioProxy && s.newerThanProxies() != "" {
			w.leaveToProbeProxy(s, istioProxyName)
		}
	}
}

func joinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(p)
	}
	return strings.Join(words, ", ")
}

func (istio) isProxy(c *Container) bool { return c.Name == istioProxyName }

// declare: without imagePullPolicy the API server's default for an untagged
// image, Always, would be forced on the image that the injector puts in.
func (istio) declare() field.Map {
	return field.Map{
		{Key: "name", Value: istioProxyName},
		{Key: "image", Value: "auto"},
		{Key: "imagePullPolicy", Value: "IfNotPresent"},
	}
}

// privileged: with each of these Istio's template runs istio-proxy as root.
func (istio) privileged(annotations field.KeyValues) bool {
	config := annotations.Get(istioProxyConfig)
	return annotations.Get(istioInterception) == "TPROXY" || annotations.Get(istioNetBind) == "true" ||
		strings.Contains(config, "TPROXY") || strings.Contains(config, "IPTABLES_TRACE_LOGGING")
}

func (istio) assign(slots []*slot, a answerer) []*Handler {
	handlers := make([]*Handler, len(slots))
	for i, s := range slots {
		key := prober.Key(s.container.Name, s.name)
		h := HTTPGet{Path: &key, Port: field.IntOrString{Int: int64(a.port)}}
		if o := s.original.HTTPGet; o != nil {
			h.Scheme, h.HTTPHeaders = o.Scheme, o.HTTPHeaders
			if text(o.Scheme) == "HTTPS" {
				plain := "HTTP"
				h.Scheme = &plain
			}
		}
		handlers[i] = &Handler{HTTPGet: &h}
	}
	return handlers
}

func (istio) looksRewritten(h *HTTPGet) bool {
	_, _, ok := prober.ParseKey(text(h.Path))
	return ok
}

func (istio) envName() string { return prober.EnvName }

func (istio) encode(slots []*slot, _ answerer) string {
	probers := make(map[string]*prober.Prober, len(slots))
	for _, s := range slots {
		probers[prober.Key(s.container.Name, s.name)] = s.prober()
	}
	return encodeEnv(probers)
}

func (istio) decode(c *Container) (map[string]*prober.Prober, bool, error) {
	return decodeEnv(c, prober.EnvName, prober.Decode)
}

// original: a path belongs to the slot that it names. One that names a
// container which is gone belongs to whoever uses it, since a renamed
// container keeps the paths of its old name.
func (istio) original(originals map[string]*prober.Prober, s *slot, names []string) (string, *prober.Prober) {
	path := text(s.current.HTTPGet.Path)
	container, _, _ := prober.ParseKey(path)
	if path != prober.Key(s.container.Name, s.name) && slices.Contains(names, container) {
		return "", nil
	}
	return path, originals[path]
}

func (istio) parseKey(key string) (string, prober.Slot, bool) { return prober.ParseKey(key) }

func (d istio) listens(w *work, c *Container) []int {
	if !d.isProxy(c) {
		return []int{probeProxyPort(c)}
	}
	return []int{istioStatusOr(w.annotations()), prober.DefaultPort, w.p.opts.Port}
}

// istioStatus gives the port of Istio's status server where the annotation
// moves it; 0 where it does not. With white space around the number, Istio
// takes the pod and sends its probes to port 0.
func istioStatus(annotations field.KeyValues) (int, error) {
	v, ok := annotations.Lookup(istioStatusPort)
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 65535 || slices.Contains(istioReserved, n) {
		return 0, errors.New("must be a port from 1 to 65535 that is none of " + joinPorts(istioReserved))
	}
	return n, nil
}

// istioStatusOr gives the port of Istio's status server, where the annotation
// moves it or not.
func istioStatusOr(annotations field.KeyValues) int {
	if n, err := istioStatus(annotations); n != 0 && err == nil {
		return n
	}
	return prober.DefaultPort
}

func (d istio) survey(w *work) mesh {
	in := d.injection(w)
	m := mesh{present: in == injected, collisions: d.collisions(w)}
	m.optOut, m.passesProbes = d.optOut(w)
	// What we excluded ourselves may be captured from now on.
	m.captures = d.captures(d.undo(w.annotations(), m, w.past(d), w.forms.annotations))
	d.checkPortLists(w)
	d.checkInjectSwitch(w)
	m.proxyFirst = w.annotations().Get(istioNative) == "true"
	if !m.proxyFirst && !istioHolds(w.annotations().Get(istioProxyConfig)) {
		m.proxyLate = "istio-proxy must start first: it does as a native sidecar, and with `holdApplicationUntilProxyStarts: true` in the annotation `" + istioProxyConfig + "`"
	}
	status, err := istioStatus(w.annotations())
	m.answerer, m.assumed = d.answerer(w, in, status, err != nil)
	if m.answerer.who == AnsweredByIstioProxy {
		m.conflicts = d.proxyConflicts(w, err)
		return m
	}
	if status = istioStatusOr(w.annotations()); m.present && m.answerer.port == status {
		m.conflicts = append(m.conflicts, w.finding("port-collision", nil, "",
			"port %d is answered by istio-proxy in this pod, and probe-proxy cannot listen there too; the functionConfig must have `answeredBy: istio-proxy`, or for `port` another one, such as 15099", status))
	}
	if ports, all, ok := listedPorts(w.annotations(), istioIncludePorts); ok && !all && slices.Contains(ports, m.answerer.port) {
		m.conflicts = append(m.conflicts, w.annotationFinding("probe-port-captured", istioIncludePorts,
			"must not have %d, the port of probe-proxy: the mesh would capture the rewritten probes", m.answerer.port))
	}
	return m
}

// istioHolds tells whether a ProxyConfig, in YAML or JSON, starts the proxy
// before the other containers.
func istioHolds(config string) bool {
	_, v, _ := strings.Cut(config, "holdApplicationUntilProxyStarts")
	return strings.HasPrefix(strings.TrimLeft(v, `": `), "true")
}

func (d istio) proxyConflicts(w *work, badStatus error) []Finding {
	var found []Finding
	if badStatus != nil {
		found = append(found, w.annotationFinding("status-port-invalid", istioStatusPort, "%v", badStatus))
	}
	for i := range w.in.Template.Spec.InitContainers {
		if c := &w.in.Template.Spec.InitContainers[i]; d.isProxy(c) && c.Image == "auto" {
			found = append(found, w.finding("proxy-in-init-containers", w.spec.Key("initContainers").Index(i), c.Name,
				"stands for the injected istio-proxy, which only an injector in native-sidecar mode finds here; under `containers` either mode does"))
		}
	}
	return found
}

// istioInjectSwitch gives the switch of a template: the label where it is
// there, even empty, else the annotation. The injector takes "true" and
// "false" and does with any other value what it does without one.
func istioInjectSwitch(w *work) (kind, value string) {
	kind = "labels"
	value, labelled := w.in.Template.Metadata.Labels.Lookup(istioInject)
	if !labelled {
		kind, value = "annotations", w.annotations().Get(istioInject)
	}
	return kind, value
}

// checkInjectSwitch warns of a value that switches nothing.
func (istio) checkInjectSwitch(w *work) {
	if kind, v := istioInjectSwitch(w); v != "" && v != "true" && v != "false" {
		w.say(w.metadataFinding("inject-unclear", w.metadata.Key(kind, istioInject), v, "must be \"true\" or \"false\"; with any other value Istio does what it does without one"))
	}
}

// optOut finds why the probes of the pod need no rewriting, or must have none.
// passes is set if they work as they are.
func (d istio) optOut(w *work) (f *Finding, passes bool) {
	const what = "the mesh does not capture this pod"
	ours := slices.ContainsFunc(w.past(d), func(a answerer) bool { return d.isMarked(w.annotations(), d.injection(w) == injected, a) })
	if f := w.switchedOff(istioRewrite, "istio-opt-out", optOutPlace{metadata: &w.in.Template.Metadata, path: w.metadata}); f != nil && !ours {
		return f, false
	}
	if _, misplaced := w.in.Workload.Annotations.Lookup(istioRewrite); misplaced && w.hasOwnMetadata() && w.metadata != nil {
		w.say(w.metadataFinding("annotation-misplaced", field.NewPath("metadata", "annotations").Key(istioRewrite), w.in.Workload.Annotations.Get(istioRewrite),
			"has no effect here; it must stand under `%s`", w.metadata.Key("annotations")))
	}
	if kind, v := istioInjectSwitch(w); v == "false" {
		f := w.metadataFinding("injection-off", w.metadata.Key(kind, istioInject), v, "switches injection off, so "+what)
		return &f, true
	}
	if f, passes := d.otherTemplate(w); f != nil {
		return f, passes
	}
	if slices.Contains(istioNeverInjected, w.in.NamespaceName) {
		f := w.finding("namespace-not-injected", nil, "", "namespace %q is never injected, so %s", w.in.NamespaceName, what)
		return &f, true
	}
	if ns := w.in.Namespace; ns != nil && ns.Labels.Get(istioInjection) == "disabled" {
		f := w.finding("namespace-not-injected", nil, "", "Namespace %q has the label `%s: disabled`, so %s", ns.Name, istioInjection, what)
		return &f, true
	}
	if w.p.opts.Istio.InjectorRewrites && d.injection(w) == injected {
		f := w.finding("injector-rewrites", nil, "", "Istio's injector rewrites the probes of this pod (`istio.injectorRewrites` of the functionConfig)")
		return &f, true
	}
	f = d.passesProbes(w)
	return f, f != nil
}

// otherTemplate returns a finding if an annotation has the injector use other
// templates than that of the sidecar: those that capture nothing, or some of
// which only the mesh's config says what they are. passes is set for the former.
func (d istio) otherTemplate(w *work) (_ *Finding, passes bool) {
	v, set := w.annotations().Lookup(istioTemplates)
	if !set {
		return nil, false
	}
	unknown := false
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if name == "sidecar" {
			return nil, false
		}
		unknown = unknown || !slices.Contains(istioNoCapture, name)
	}
	if !unknown {
		f := w.annotationFinding("not-sidecar-template", istioTemplates, "injects no sidecar that captures what comes in")
		return &f, !unknown
	}
	if _, declared := w.proxyPlace(); declared {
		return nil, false
	}
	f := w.annotationFinding("unknown-template", istioTemplates, "does not name `sidecar`, so it is not known whether an istio-proxy is injected, and none can be declared; declare the container istio-proxy if the template has it")
	return &f, !unknown
}

// captures: where includeInboundPorts lists ports, Istio captures those and
// looks at no exclusion. Where the status server has moved away from 15020,
// istio-init's rules capture that port like any other; those of Istio's CNI
// plugin do not.
func (istio) captures(annotations field.KeyValues) func(int) bool {
	include, all, listed := listedPorts(annotations, istioIncludePorts)
	exclude, _, _ := listedPorts(annotations, istioExcludePorts)
	status := istioStatusOr(annotations)
	return func(port int) bool {
		if listed && !all {
			return slices.Contains(include, port)
		}
		return port != status && !slices.Contains(istioNeverCaptured, port) && !slices.Contains(exclude, port)
	}
}

// listedPorts reads an annotation that lists ports. all is set for "*"; what
// is no port is left out.
func listedPorts(annotations field.KeyValues, key string) (ports []int, all, ok bool) {
	v, ok := annotations.Lookup(key)
	if !ok || strings.TrimSpace(v) == "*" {
		return nil, ok, ok
	}
	for item := range strings.SplitSeq(v, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(item)); err == nil {
			ports = append(ports, n)
		}
	}
	return ports, false, ok
}

// checkPortLists warns of what no port list can hold; the injector would
// refuse such a pod.
func (istio) checkPortLists(w *work) {
	for _, key := range []string{istioIncludePorts, istioExcludePorts} {
		v := strings.TrimSpace(w.annotations().Get(key))
		if v == "" || v == "*" && key == istioIncludePorts {
			continue
		}
		for item := range strings.SplitSeq(v, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(item))
			if err != nil || n < 1 || n > 65535 {
				w.say(w.annotationFinding("port-list-invalid", key, "must be ports joined by commas, and %q is none", item))
				break
			}
		}
	}
}

// isMarked reports whether Istio's own rewriter must stay off where an answerer
// answers: its injector may see the pod.
func (d istio) isMarked(annotations field.KeyValues, present bool, a answerer) bool {
	return a.who == AnsweredByIstioProxy || d.runsNextToProxy(annotations, a) || present
}

// runsNextToProxy reports whether probe-proxy answers on another port than
// istio-proxy, which then must not capture it.
func (istio) runsNextToProxy(annotations field.KeyValues, a answerer) bool {
	return a.who == AnsweredByProbeProxy &&
		(a.port != prober.DefaultPort || istioStatusOr(annotations) != prober.DefaultPort || hasPort(annotations, a.port))
}

func (d istio) undo(annotations field.KeyValues, m mesh, past []answerer, kept field.KeyValues) field.KeyValues {
	out := annotations
	for _, a := range past {
		if v, set := out.Lookup(istioRewrite); set && d.isMarked(annotations, m.present, a) && isFalse(v) {
			if v, set = kept.Lookup(istioRewrite); set {
				out = out.With(istioRewrite, v)
			} else {
				out = out.Without(istioRewrite)
			}
		}
		if d.runsNextToProxy(annotations, a) && !hasPort(kept, a.port) {
			out = withoutPort(out, a.port, kept)
		}
	}
	return out
}

// annotate: Istio's own rewriter must stay off, and the mesh must not capture
// the port of a probe-proxy that runs next to its proxy.
func (d istio) annotate(user, have field.KeyValues, m mesh, now answerer, _ []*slot) field.KeyValues {
	out := user
	if d.isMarked(user, m.present, now) {
		// A value of the user's that means the same stays as it is written.
		off := have.Get(istioRewrite)
		if !isFalse(off) {
			off = "false"
		}
		out = out.With(istioRewrite, off)
	}
	include, set := out.Lookup(istioIncludePorts)
	if d.runsNextToProxy(user, now) && now.port != istioStatusOr(user) && (!set || strings.TrimSpace(include) == "*") {
		out = withPort(out, now.port)
	}
	return out
}

func isFalse(v string) bool {
	on, err := strconv.ParseBool(v)
	return err == nil && !on
}

func (istio) annotated(field.KeyValues) (map[string]*prober.Prober, error) { return nil, nil }

func (istio) beside(*work, []*slot) *Beside { return nil }

// hasPort reports whether a port is among those that the mesh does not capture.
func hasPort(annotations field.KeyValues, port int) bool {
	for item := range strings.SplitSeq(annotations.Get(istioExcludePorts), ",") {
		if strings.TrimSpace(item) == strconv.Itoa(port) {
			return true
		}
	}
	return false
}

// withPort returns the annotations with the port among those that the mesh
// does not capture.
func withPort(annotations field.KeyValues, port int) field.KeyValues {
	if hasPort(annotations, port) {
		return annotations
	}
	v := annotations.Get(istioExcludePorts)
	if strings.TrimSpace(v) != "" {
		v += ","
	}
	return annotations.With(istioExcludePorts, v+strconv.Itoa(port))
}

// withoutPort undoes withPort. kept has the user's value if it was one that
// lists nothing.
func withoutPort(annotations field.KeyValues, port int, kept field.KeyValues) field.KeyValues {
	v, ok := annotations.Lookup(istioExcludePorts)
	if !ok {
		return annotations
	}
	items := slices.DeleteFunc(strings.Split(v, ","), func(item string) bool {
		return strings.TrimSpace(item) == strconv.Itoa(port)
	})
	if user, set := kept.Lookup(istioExcludePorts); set && len(items) == 0 {
		return annotations.With(istioExcludePorts, user)
	}
	if len(items) == 0 {
		return annotations.Without(istioExcludePorts)
	}
	return annotations.With(istioExcludePorts, strings.Join(items, ","))
}
