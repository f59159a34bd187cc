package transformer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts    Options
	dialect dialect
	// dialects are those in which a template may have been rewritten before,
	// first the planner's own.
	dialects []dialect
	// sidecar is probe-proxy as the options want it, but for its env and port,
	// as a native sidecar or not.
	sidecar map[bool]field.Map
}

// New gives a planner. What a schema cannot tell of the options is an error:
// a port that the mesh uses itself, an env var of ours, the uid of the mesh.
func New(o Options) (*Planner, error) {
	d, ok := dialects[o.Dialect]
	if !ok {
		return nil, fmt.Errorf("dialect %q must be one of %s", o.Dialect, strings.Join(slices.Sorted(maps.Keys(dialects)), ", "))
	}
	if !slices.Contains(d.answerers(), o.AnsweredBy) {
		return nil, fmt.Errorf("answeredBy %q must be one of %s in the dialect %s", o.AnsweredBy, strings.Join(d.answerers(), ", "), o.Dialect)
	}
	if o.Port < 1 || o.Port > 65535 {
		return nil, fmt.Errorf("port %d must be a port from 1 to 65535", o.Port)
	}
	if err := d.checkPort(o.Port); err != nil {
		return nil, err
	}
	if o.AnsweredBy == AnsweredByEnvoy && o.ProbeProxy.Name == Defaults().ProbeProxy.Name {
		o.ProbeProxy.Name = osmHealthcheckName
	}
	p := &Planner{opts: o, dialect: d, dialects: allDialects(d)}
	if err := p.checkSidecar(); err != nil {
		return nil, err
	}
	p.sidecar = map[bool]field.Map{true: p.sidecarBase(true), false: p.sidecarBase(false)}
	return p, nil
}

// Plan plans the rewriting of one template: what carries it already is
// brought to the planner's options, and a template that has opted out is
// given back its originals.
func (p *Planner) Plan(in Input) Plan {
	w := newWork(p, &in)
	w.mesh = p.dialect.survey(w)
	w.judge()
	chosen := w.chosen()
	if len(chosen) > 0 && !w.failed() {
		w.check(chosen)
	}
	return w.finish(chosen)
}

// Restore plans the inverse: the original probes, and nothing of ours left.
// Opt-outs have no say in it.
func (p *Planner) Restore(in Input) Plan {
	w := newWork(p, &in)
	said := w.findings
	w.mesh = p.dialect.survey(w)
	w.findings, w.restoring = said, true
	for _, s := range w.slots {
		if w.dangles(s) {
			w.leave(s, "dangling", s.path, "%s", danglingText)
		} else if !s.carried {
			s.reason = "not-rewritten"
		}
	}
	return w.finish(nil)
}

const danglingText = "looks like a rewritten probe, but no container of the pod carries an original for it; it must be given its original back"

// dangles reports whether a probe looks rewritten and was not recognised.
func (w *work) dangles(s *slot) bool {
	h := s.current.HTTPGet
	return !s.carried && h != nil && slices.ContainsFunc(w.p.dialects, func(d dialect) bool { return d.looksRewritten(h) })
}

// leave notes why a slot is left alone, and says so.
func (w *work) leave(s *slot, reason string, path field.Path, format string, args ...any) {
	s.reason = reason
	w.say(w.finding(reason, path, s.container.Name, format, args...))
}

// judge decides for every slot whether it is rewritten.
func (w *work) judge() {
	off := w.optOut()
	skip := w.skipped()
	names := w.containerNames()
	concerned := false // by an opt-out
	for _, s := range w.slots {
		kind, ok := s.original.kind()
		switch {
		case w.in.Shape.ProbesMadeBy != "" && !w.dangles(s):
			s.reason, concerned = off.Reason, true
		case kind == kindExec || kind == kindSleep:
			s.reason = "no-network"
		case w.hasUnknown(s):
		case !ok:
			w.leave(s, "not-one-handler", s.path, "must have exactly one handler (exec, httpGet, tcpSocket, grpc, and for hooks sleep), and has %s", s.original)
		case w.p.dialect.isProxy(s.container):
			s.reason = "proxy-container"
		case w.dangles(s):
			w.leave(s, "dangling", s.path, "%s", danglingText)
		case off != nil:
			s.reason, concerned = off.Reason, true
		case skip[s.container.Name]:
			s.reason = "skipped-container"
			w.say(w.finding(s.reason, s.path, s.container.Name, "container %q is named by the annotation `%s`", s.container.Name, ownSkipContainers))
		case !w.selected(s, kind):
			s.reason = "not-selected"
		case s.name.IsHook() && kind != kindHTTPGet:
			w.leave(s, "hook-never-works", s.path.Key(kind), "the kubelet has no %s hooks: this one always fails", kind)
		case s.at.init && !isSidecar(s.at, s.container):
			w.leave(s, "init-container", s.path, "the API server allows probes and hooks on an init container only with `restartPolicy: Always`")
		case !onlyOnce(names, s.container.Name) || s.container.Name == "" || strings.Contains(s.container.Name, "/"):
			w.leave(s, "container-name", w.containerPath(s.at).Key("name"), "%q must be the name of this container alone, without a slash", s.container.Name)
		default:
			w.judgeEndpoint(s, kind)
		}
	}
	w.p.dialect.limit(w, w.unreasoned())
	if off != nil && concerned {
		verb := "left alone"
		if w.carrying() {
			verb = "restored"
		}
		off.Message += "; its probes are " + verb
		w.say(*off)
	}
}

func onlyOnce(names []string, name string) bool {
	i := slices.Index(names, name)
	return !slices.Contains(names[i+1:], name)
}

// selected tells whether the options want the slot rewritten.
func (w *work) selected(s *slot, kind string) bool {
	r := w.p.opts.Rewrite
	if s.name.IsHook() {
		return r.Lifecycle || kind != kindHTTPGet
	}
	switch kind {
	case kindHTTPGet:
		return r.HTTPGet
	case kindTCPSocket:
		return r.TCPSocket
	}
	return r.GRPC
}

// judgeEndpoint looks at what a handler dials, and when.
func (w *work) judgeEndpoint(s *slot, kind string) {
	port, host, _ := s.original.endpoint()
	path := s.path.Key(kind)
	if host != "" {
		w.leave(s, "host-set", path.Key("host"), "%q is where the probe goes, so it is left alone; without `host` it goes to the pod and can be rewritten", host)
		return
	}
	if kind == kindHTTPGet {
		if scheme := text(s.original.HTTPGet.Scheme); scheme != "" && scheme != "HTTP" && scheme != "HTTPS" {
			w.leave(s, "scheme-invalid", path.Key("scheme"), "%q must be HTTP or HTTPS", scheme)
			return
		}
	}
	if s.timeout < 0 || s.timeout > math.MaxInt32 {
		w.leave(s, "timeout-invalid", s.path.Key("timeoutSeconds"), "%d must be a number of seconds from 1 to %d", s.timeout, math.MaxInt32)
		return
	}
	n, err := resolve(port, s.container)
	if err != nil {
		w.leavePort(s, kind, port, err)
		return
	}
	s.port = n
	a := w.mesh.answerer
	switch {
	case slices.Contains(w.p.dialect.ports(a), n):
		w.leave(s, "aims-at-probe-port", path.Key("port"), "%s is the port of the rewritten probes, and the probe is not one of them", port)
	case !w.mesh.captures(n):
		w.leave(s, "port-not-captured", path.Key("port"), "the mesh does not capture port %d, so the probe works as it is", n)
	case !w.answeredInTime(s):
		w.leave(s, "starts-before-answerer", s.path, "container %q starts before the one that answers rewritten probes, so this one is left alone; %s", s.container.Name, w.startsEarlierCure(s))
	}
}

func (w *work) leavePort(s *slot, kind string, port field.IntOrString, err error) {
	reason := "port-unresolved"
	if _, numeric := err.(outOfRange); numeric {
		reason = "port-invalid"
	}
	w.leave(s, reason, s.path.Key(kind, "port"), "%v; the probe is left alone", err)
	f := &w.findings[len(w.findings)-1]
	f.Current = port.Value()
	if n, err := strconv.Atoi(port.Str); err == nil && n > 0 {
		f.Proposed = n
	}
}

// answeredInTime tells whether the answerer runs when the kubelet starts to
// use the slot. Only init containers matter: the pod waits for each of them,
// and would wait for ever.
func (w *work) answeredInTime(s *slot) bool {
	if !s.at.init {
		// probe-proxy would have to be first.
		return s.name != prober.PostStart || !w.in.Shape.FirstIsApp || w.native() || !w.answeredByUs(s)
	}
	if w.answeredByUs(s) {
		return w.native()
	}
	if w.mesh.proxyFirst {
		return true
	}
	at, ok := w.proxyPlace()
	return ok && s.at.startsAfter(at)
}

func (w *work) startsEarlierCure(s *slot) string {
	if w.in.Shape.NoNativeSidecars {
		return "a " + w.in.Kind + " can have no native sidecars, which would start first"
	}
	if w.answeredByUs(s) {
		return "`placement: native` starts probe-proxy first"
	}
	if w.mesh.answerer.who == AnsweredByEnvoy {
		return "probe-proxy, with `answeredBy: probe-proxy` and `placement: native`, would start first"
	}
	return "probe-proxy with `placement: native`, on a port of its own, would start first"
}

// proxyPlace gives the place of the mesh's proxy in the template, unless it
// is one that was declared by us.
func (w *work) proxyPlace() (at place, ok bool) {
	containers(&w.in.Template.Spec, func(p place, c *Container) {
		if w.p.dialect.isProxy(c) && !w.isOurs(p) && (!ok || !p.init) {
			at, ok = p, true
		}
	})
	return at, ok
}

// chosen gives the slots that are rewritten, each with what it becomes.
func (w *work) chosen() []*slot {
	chosen := w.unreasoned()
	for i, h := range w.p.dialect.assign(chosen, w.mesh.answerer) {
		chosen[i].becomes = h
	}
	return chosen
}

// unreasoned gives the slots that there is no reason yet to leave alone.
func (w *work) unreasoned() []*slot {
	var slots []*slot
	for _, s := range w.slots {
		if s.reason == "" {
			slots = append(slots, s)
		}
	}
	return slots
}

// check says what keeps a template from being rewritten as it must be.
func (w *work) check(chosen []*slot) {
	w.findings = append(w.findings, w.mesh.conflicts...)
	w.findings = append(w.findings, w.mesh.warnings...)
	w.checkPaths(chosen)
	a := w.mesh.answerer
	ports := w.p.dialect.ports(a)
	containers(&w.in.Template.Spec, func(at place, c *Container) {
		if w.isOurs(at) {
			return
		}
		if w.adds(chosen) && c.Name == w.p.opts.ProbeProxy.Name {
			w.say(w.finding("name-taken", w.containerPath(at).Key("name"), c.Name, "%q is the name of the container to be added; one of the two must have another (`probeProxy.name`)", c.Name))
		}
		if a.who != AnsweredByProbeProxy && w.p.dialect.isProxy(c) {
			return
		}
		for i, p := range c.Ports {
			if slices.Contains(ports, int(p.ContainerPort)) && (p.Protocol == "" || p.Protocol == "TCP") {
				w.say(w.finding("port-taken", w.containerPath(at).Key("ports").Index(i).Key("containerPort"), c.Name, "%d is the port where rewritten probes are answered; the app must have another%s", p.ContainerPort, w.p.portCure()))
			}
		}
	})
	if w.adds(chosen) {
		w.checkProbeProxy()
	}
	w.checkBareSpec(chosen)
	if a.who == AnsweredByProbeProxy {
		return
	}
	at, declared := w.proxyPlace()
	for _, s := range chosen {
		if s.name == prober.PostStart && w.mesh.proxyLate != "" && !(declared && s.at.startsAfter(at)) {
			w.say(w.finding("post-start-order", s.path, s.container.Name,
				"a postStart hook runs before the next container starts, and %s", w.mesh.proxyLate))
		}
	}
}

// checkBareSpec refuses a rewriting that needs annotations where it is not
// known from where the pods get them.
func (w *work) checkBareSpec(chosen []*slot) {
	if !w.in.Shape.BareSpec {
		return
	}
	needed := w.p.dialect.annotate(nil, nil, w.mesh, w.mesh.answerer, chosen)
	if len(needed) == 0 {
		return
	}
	w.say(w.finding("annotations-unknown", w.spec, "", "is a pod's spec without metadata, and the pods need the annotation `%s: %s`, which has no known place; the probes must be left to another rewriter, or probe-proxy must answer them without the mesh's proxy in the manifest", needed[0].Key, needed[0].Value))
}

// portCure says what else helps where a port is taken.
func (p *Planner) portCure() string {
	if len(p.dialect.ports(answerer{port: p.opts.Port})) > 1 {
		return "" // the convention's are fixed
	}
	return ", or the functionConfig another `port`"
}

// finish gives the plan.
func (w *work) finish(chosen []*slot) Plan {
	plan := Plan{Probes: make([]Verdict, 0, len(w.slots))}
	if !w.failed() {
		w.editAll(chosen)
	}
	failed := w.failed() // encoding may fail too
	for _, s := range w.slots {
		plan.Probes = append(plan.Probes, w.verdict(s, failed))
	}
	slices.SortStableFunc(w.findings, func(a, b Finding) int { return cmp.Compare(a.Severity.Rank(), b.Severity.Rank()) })
	plan.Findings = w.findings
	if !failed {
		plan.Beside = w.beside(chosen)
	}
	if !failed {
		plan.Edits = w.edits
		plan.Repairs = w.mesh.collisions
	}
	plan.Answer = w.answer(chosen)
	return plan
}

// answer says who answers the probes that the plan rewrites.
func (w *work) answer(chosen []*slot) Answer {
	a := Answer{Injected: w.mesh.present && w.p.opts.Dialect == "istio"}
	if len(chosen) == 0 || w.failed() {
		return a
	}
	a.By, a.Assumed = w.mesh.answerer.who, w.mesh.assumed
	if ports := w.p.dialect.ports(w.mesh.answerer); len(ports) == 1 {
		a.Port = ports[0]
	}
	a.AddsAnnotations = w.addedAnnotations
	container := w.p.opts.ProbeProxy.Name
	if !w.adds(chosen) {
		declared, _ := w.p.dialect.declare().Get("name")
		container, _ = declared.(string)
	}
	there := false
	containers(&w.in.Template.Spec, func(_ place, c *Container) { there = there || c.Name == container })
	if !there {
		a.AddsContainer = container
	}
	return a
}

// beside gives the object that the workload needs beside it, or the one that
// must go with the rewriting that needed it.
func (w *work) beside(chosen []*slot) *Beside {
	b := w.p.dialect.beside(w, chosen)
	if b == nil && len(w.annotated) > 0 {
		b = envoyConfigMap(w.in.Kind, w.in.Workload.Name, w.in.NamespaceName, "")
		b.Value = nil
	}
	return b
}

// verdict says what becomes of a slot.
func (w *work) verdict(s *slot, failed bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.init, Slot: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason, StrictTLS: w.outcome(s),
	}
	switch {
	case failed && (s.becomes != nil || s.carried):
		v.State, v.Reason = Refused, w.firstError()
	case s.becomes != nil:
		v.After = address(s.becomes)
		v.State = WouldRewrite
		if len(s.changes()) == 0 {
			v.State = Rewritten
		}
	case s.carried:
		v.Before, v.After, v.State = s.current.String(), s.original.String(), WouldRestore
	}
	return v
}

func address(h *Handler) string {
	_, words, _ := strings.Cut(h.String(), " ")
	return words
}

func (w *work) firstError() string {
	for _, f := range w.findings {
		if f.Severity == Error {
			return f.Reason
		}
	}
	return ""
}

// outcome says what a slot as it was read does under strict mTLS.
func (w *work) outcome(s *slot) Outcome {
	kind, ok := s.current.kind()
	port, host, dials := s.current.endpoint()
	switch {
	case !ok || !dials || s.carried || host != "" || w.p.dialect.isProxy(s.container):
		return Unaffected
	case w.dangles(s):
		return Fails
	case s.at.init && !isSidecar(s.at, s.container) || s.name.IsHook() && kind != kindHTTPGet:
		return Unaffected // it never works
	case w.mesh.captures == nil || !w.capturesPod():
		return Unaffected
	}
	n, err := resolve(port, s.container)
	switch {
	case err != nil || !w.mesh.captures(n):
		return Unaffected
	case kind == kindTCPSocket:
		return FalselyPasses
	}
	return Fails
}

// capturesPod reports whether the mesh takes what comes in to the pod at all.
func (w *work) capturesPod() bool {
	spec := &w.in.Template.Spec
	if spec.HostNetwork || isWindows(spec) {
		return false
	}
	return !w.mesh.passesProbes
}
