package transformer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts   Options
	mesh   *serviceMesh
	meshes []*serviceMesh // all of them, the planner's own first
	// What follows is made when it is needed: the planners with the same options for the other
	// meshes, and the container probe-proxy without what a template adds to it.
	others            func() map[*serviceMesh]*Planner
	sidecar, ordinary func() field.Map // as a native sidecar, and as an ordinary container
}

// New returns a planner. It is an error if the options have [Options.Problems].
func New(o Options) (*Planner, error) {
	if problems := o.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Text)
	}
	return newPlanner(o, o.serviceMesh()), nil
}

func newPlanner(o Options, d *serviceMesh) *Planner {
	others := slices.DeleteFunc(slices.Clone(serviceMeshes), func(x *serviceMesh) bool { return x == d })
	p := &Planner{opts: o, mesh: d, meshes: append([]*serviceMesh{d}, others...)}
	p.others = sync.OnceValue(func() map[*serviceMesh]*Planner {
		planners := make(map[*serviceMesh]*Planner)
		for _, x := range others {
			planners[x] = newPlanner(p.opts, x)
		}
		return planners
	})
	p.sidecar = sync.OnceValue(func() field.Map { return p.fixedContainer(true) })
	p.ordinary = sync.OnceValue(func() field.Map { return p.fixedContainer(false) })
	return p
}

// Plan plans the rewriting of one template. A template that was rewritten
// before is brought to the planner's options, or restored if it has opted out.
func (p *Planner) Plan(in Input) Plan {
	b := p.builderFor(&in)
	b.findings = append(b.findings, b.detected.unclear...)
	b.inspection = b.p.mesh.inspect(b)
	b.inspection.conflicts = append(b.inspection.conflicts, b.detected.conflicts...)
	b.inspection.optOut = cmp.Or(b.inspection.optOut, b.detected.optOut)
	b.classify()
	var toRewrite []*handlerSite
	if b.answersItself() {
		b.excludePorts(b.undecided())
	} else {
		b.skipNewer()
		toRewrite = b.undecided()
		for _, s := range toRewrite {
			s.target = &pod.Handler{HTTPGet: s.rewritten(b.inspection.answerer.port)}
		}
	}
	if len(toRewrite) > 0 && !b.failed() {
		b.check(toRewrite)
	}
	if !b.in.OnlyEdits {
		b.findExecWorkarounds()
	}
	return b.finish(toRewrite)
}

// Restore plans the inverse: the original probes come back, and all that we
// added goes, whether the template has opted out or not.
func (p *Planner) Restore(in Input) Plan {
	b := p.builderFor(&in)
	read := b.findings
	b.inspection = b.p.mesh.inspect(b)
	b.findings = read // what the mesh's labels and annotations say does not matter here
	for _, s := range b.sites {
		if s.isDangling() {
			b.skip(s, "dangling", s.path, danglingText)
		} else if !s.alreadyRewritten {
			s.reason = "not-rewritten"
		}
	}
	return b.finish(nil)
}

const danglingText = "looks like a rewritten probe, but no container of the pod carries an original for it; it must be given its original back"

// isDangling reports whether a probe looks rewritten and was not recognised.
func (s *handlerSite) isDangling() bool {
	h := s.current.HTTPGet
	if h == nil || s.alreadyRewritten {
		return s.lost
	}
	_, _, ok := prober.ParseKey(h.Path)
	return s.lost || ok || presentKey(h.Path) != "" || isHealthcheck(h)
}

// skip leaves a probe alone and reports the reason.
func (b *planBuilder) skip(s *handlerSite, reason string, path field.Path, format string, args ...any) {
	s.reason = reason
	b.addFinding(containerFinding(reason, path, s.container.Name, format, args...))
}

func (b *planBuilder) classify() {
	sources := b.optOutSources()
	off := b.optOut(sources)
	skip := b.skipped(sources)
	offApplies := false // off is the reason of a probe
	for _, s := range b.sites {
		kind := s.original.Kind()
		switch {
		case b.in.Shape.ProbesMadeBy != "" && !s.isDangling():
			s.reason, offApplies = off.Reason, true
		case kind != "" && !s.original.Dials():
			s.reason = "no-network"
		case b.hasUnknown(s):
		case kind == "":
			b.skip(s, "not-one-handler", s.path, "must have exactly one handler (exec, httpGet, tcpSocket, grpc, and for hooks sleep), and has %s", s.original)
		case b.p.mesh.isProxy(s.container):
			s.reason = "proxy-container"
		case s.isDangling():
			b.skip(s, "dangling", s.path, danglingText)
		case off != nil:
			s.reason, offApplies = off.Reason, true
		case slices.Contains(skip, s.container.Name):
			s.reason = "skipped-container"
			b.addFinding(containerFinding(s.reason, s.path, s.container.Name, "container %q is named by the annotation `%s`", s.container.Name, ownSkipContainers))
		case !b.selected(s, kind):
			s.reason = "not-selected"
		default:
			b.classifySelected(s, kind)
		}
	}
	if offApplies {
		b.reportOptOut(*off)
	}
}

func (b *planBuilder) reportOptOut(off Finding) {
	verb := "left alone"
	if b.hasOurs() {
		verb = "restored"
	}
	off.Message += "; its probes are " + verb
	b.addFinding(off)
}

// classifySelected decides for a probe or hook that nobody has opted out.
func (b *planBuilder) classifySelected(s *handlerSite, kind string) {
	first := slices.Index(b.names, s.container.Name)
	switch {
	case s.name.IsHook() && kind != pod.KindHTTPGet:
		b.skip(s, "hook-never-works", s.path.Key(kind), "the kubelet has no %s hooks: this one always fails", kind)
	case s.at.Init && !pod.IsSidecar(s.at, s.container):
		b.skip(s, "init-container", s.path, "the API server allows probes and hooks on an init container only with `restartPolicy: Always`")
	case slices.Contains(b.names[first+1:], s.container.Name) || s.container.Name == "" || strings.Contains(s.container.Name, "/"):
		b.skip(s, "container-name", b.containerPath(s.at).Key("name"), "%q must be the name of this container alone, without a slash", s.container.Name)
	case pod.IsVariable(s.container.Name):
		b.skip(s, "variable", b.containerPath(s.at).Key("name"), "%q has what looks like a variable, and rewritten probes and their originals are known by this name; rewrite-probes must run after the substitution, and the probe is left alone", s.container.Name)
	default:
		b.classifyEndpoint(s, kind)
	}
}

// selected reports whether [Options].Rewrite names the handler, or there is another
// reason to leave it alone.
func (b *planBuilder) selected(s *handlerSite, kind string) bool {
	if s.name.IsHook() && kind == pod.KindHTTPGet {
		kind = rewriteHooks
	} else if s.name.IsHook() {
		return true // hook-never-works is the better reason
	}
	return slices.Contains(b.p.opts.Rewrite, kind)
}

// classifyEndpoint decides by what a handler dials, and when.
func (b *planBuilder) classifyEndpoint(s *handlerSite, kind string) {
	port, host := s.original.Endpoint()
	key, text := s.original.Carried()
	scheme := ""
	if s.original.HTTPGet != nil {
		scheme = s.original.HTTPGet.Scheme
	}
	a := b.inspection.answerer
	switch {
	case host != "":
		b.skip(s, "host-set", s.path.Key(kind, "host"), "%q is where the probe goes, so it is left alone; without `host` it goes to the pod and can be rewritten", host)
	case pod.IsVariable(text):
		b.skip(s, "variable", s.path.Key(kind, key), "%q has what looks like a variable, which nothing would substitute in the env var that carries the original; rewrite-probes must run after the substitution, and the probe is left alone", text)
	case !slices.Contains([]string{"", "HTTP", "HTTPS"}, scheme):
		b.skip(s, "scheme-invalid", s.path.Key(kind, "scheme"), "%q must be HTTP or HTTPS", scheme)
	case s.timeout < 0 || s.timeout > math.MaxInt32:
		b.skip(s, "timeout-invalid", s.path.Key("timeoutSeconds"), "%d must be a number of seconds from 1 to %d", s.timeout, math.MaxInt32)
	case s.portErr != nil:
		b.skipPort(s, kind, *port)
	case s.port == a.port:
		b.skip(s, "aims-at-probe-port", s.path.Key(kind, "port"), "%s is the port of the rewritten probes, and the probe is not one of them", port)
	case !b.inspection.captures(s.port):
		b.skip(s, "port-not-captured", s.path.Key(kind, "port"), "the mesh does not capture port %d, so the probe works as it is", s.port)
	case (s.at.Init || b.answeredByUs()) && b.lateIn(&b.inspection.facts, s, a) != "":
		b.skip(s, "starts-before-answerer", s.path, "container %q starts before the one that answers rewritten probes, so this one is left alone; %s", s.container.Name, b.startsEarlierCure(s))
	}
}

func (b *planBuilder) skipPort(s *handlerSite, kind string, port field.IntOrString) {
	reason := "port-unresolved"
	if _, numeric := s.portErr.(pod.OutOfRange); numeric {
		reason = "port-invalid"
	}
	b.skip(s, reason, s.path.Key(kind, "port"), "%v; the probe is left alone", s.portErr)
	f := &b.findings[len(b.findings)-1]
	if port != (field.IntOrString{}) {
		f.Current = port.Value()
	}
	if n, err := strconv.Atoi(port.Str); err == nil && n > 0 {
		f.Proposed = n
	}
}

// runsBefore reports whether, in a world in which the mesh's proxy is in the pod, an
// answerer runs when the kubelet makes a rewritten probe for the first time. This
// matters for native sidecars, since the pod waits for their startup probes and postStart
// hooks and would wait for ever, and liveness probes restart them, and for postStart
// hooks of any container.
func (b *planBuilder) runsBefore(w world.World, s *handlerSite, a answerer) bool {
	at, proxy := b.proxyOf(b.p.mesh.isProxy)
	switch {
	case a.who == AnsweredByApp || !s.atStart():
		return true
	case a.who == AnsweredByProbeProxy: // an ordinary probe-proxy would have to be first
		return b.native() || !s.at.Init && !b.firstIsApp()
	case proxy != nil && proxy.Image != autoImage: // the injector neither replaces nor moves it
		return s.at.StartsAfter(at)
	}
	return w.Native || !s.at.Init && w.Holds
}

func (b *planBuilder) startsEarlierCure(s *handlerSite) string {
	switch {
	case b.in.Shape.NoNativeSidecars:
		return "a " + b.in.Kind + " can have no native sidecars, which would start first"
	case b.answeredByUs():
		return "`placement: native` starts probe-proxy first"
	}
	return "probe-proxy with `placement: native`, on a port of its own, would start first"
}

// undecided returns the probes for which there is no reason to leave them alone.
func (b *planBuilder) undecided() []*handlerSite {
	return slices.DeleteFunc(slices.Clone(b.sites), func(s *handlerSite) bool { return s.reason != "" })
}

// check reports what prevents the rewriting of the template.
func (b *planBuilder) check(toRewrite []*handlerSite) {
	b.findings = append(b.findings, b.inspection.conflicts...)
	b.findings = append(b.findings, b.inspection.warnings...)
	b.checkPaths(toRewrite)
	a := b.inspection.answerer
	for at, c := range b.containers() {
		if b.answeredByUs() && c.Name == b.p.opts.ProbeProxy.Name {
			b.addFinding(containerFinding("name-taken", b.containerPath(at).Key("name"), c.Name, "%q is the name of the container to be added; one of the two must have another (`probeProxy.name`)", c.Name))
		}
		if !b.answeredByUs() && b.p.mesh.isProxy(c) {
			continue
		}
		for i, p := range c.Ports {
			if int(p.ContainerPort) == a.port && (p.Protocol == "" || p.Protocol == "TCP") {
				b.addFinding(containerFinding("port-taken", b.containerPath(at).Key("ports").Index(i).Key("containerPort"), c.Name, "%d is the port where rewritten probes are answered; the app must have another%s", p.ContainerPort, b.portCure()))
			}
		}
	}
	if b.answeredByUs() {
		b.checkOwnPort()
		b.checkProbeProxy(toRewrite)
	}
	b.checkBareSpec()
	b.checkIngresses(toRewrite)
	if !b.answeredByUs() {
		b.checkProxyLimits()
	}
	for _, s := range toRewrite {
		if unless := b.lateIn(&b.inspection.facts, s, a); unless != "" {
			b.addFinding(containerFinding("post-start-order", s.path, s.container.Name,
				"a postStart hook runs before the next container starts, and istio-proxy must run by then; it may not, if %s; probe-proxy runs (`answeredBy: probe-proxy`)", unless))
		}
	}
	b.checkLeftAlone()
}

// checkOwnPort refuses a probe-proxy on a port where the app listens, as one of its own
// probes shows: one of the two could not start.
func (b *planBuilder) checkOwnPort() {
	for _, s := range b.sites {
		if s.reason == "aims-at-probe-port" {
			b.addFinding(containerFinding("port-taken", s.path.Key(s.original.Kind(), "port"), s.container.Name, "%d is the port where rewritten probes are answered, and this probe says that the app listens there; the app must have another%s", s.port, b.portCure()))
		}
	}
}

// checkLeftAlone refuses to turn the mesh's own rewriter off while a probe stays as it
// is that the rewriter would have served.
func (b *planBuilder) checkLeftAlone() {
	f := &b.inspection.facts
	off, user := b.p.mesh.off, b.userAnnotations
	if off.key == "" || off.isOff(user) || f.Rewrites.Is == certain.Never || f.Injected.Is == certain.Never {
		return
	}
	serves, cures := "may serve it now", fmt.Sprintf("rewrite this one too, opt the whole pod out (`%s: \"false\"`), or set `istio: {injectorRewrites: false}` in the functionConfig if Istio's injector rewrites no probes", ownRewrite)
	switch {
	case b.p.mesh.serves != nil:
		cures = fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`); if that rewriter is off in the mesh, say so with the annotation `%s: %s`", ownRewrite, off.key, strconv.Quote(off.value))
	case f.Rewrites.Is != certain.Maybe:
		serves, cures = "serves it in an injected pod ("+f.Rewrites.At+")", fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`)", ownRewrite)
	}
	for _, s := range b.sites {
		if s.reason == "" || !b.servedByRewriter(s) || !off.isOff(b.p.mesh.annotate(user, nil, b.inspection.answerer)) {
			continue
		}
		b.addFinding(containerFinding("rewriter-needed", s.path, s.container.Name,
			"is left alone (%s), and %s's injector, which %s, must rewrite nothing in this pod if other probes are rewritten here; %s", s.reason, b.p.mesh.title, serves, cures))
	}
}

// servedByRewriter reports whether the mesh captures a probe, and the mesh's own
// rewriter serves it in one of the worlds.
func (b *planBuilder) servedByRewriter(s *handlerSite) bool {
	kind := s.original.Kind()
	port, host := s.original.Endpoint()
	if kind == "" || port == nil || b.p.mesh.isProxy(s.container) || s.isDangling() || s.neverWorks(kind) {
		return false
	}
	if host != "" || s.port == 0 && !pod.IsVariable(port.Str) || s.port > 0 && !b.inspection.captures(s.port) {
		return false
	}
	if b.p.mesh.serves != nil {
		return b.p.mesh.serves(s)
	}
	byProxy := answerer{who: AnsweredByIstioProxy}
	return slices.ContainsFunc(b.inspection.facts.Worlds(), func(w world.World) bool { return w.Rewrites && b.runsBefore(w, s, byProxy) })
}

// checkBareSpec refuses a rewriting that needs annotations if it is not known where
// the pods get theirs from.
func (b *planBuilder) checkBareSpec() {
	if !b.in.Shape.BareSpec || b.inspection.facts.Injected.Is == certain.Never {
		return
	}
	needed := b.p.mesh.annotate(nil, nil, b.inspection.answerer)
	if len(needed) == 0 {
		return
	}
	b.addFinding(NewFinding("annotations-unknown", b.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s: %s`, which the pods need in the mesh; the object must be excluded, or not be in the mesh, such as in a namespace that `istio.injectedNamespaces` does not name", needed[0].Key, needed[0].Value))
}

// portCure returns the other cure for a port that is taken; "" if there is none. The port
// on which istio-proxy answers is a fact of the mesh, which another `port` would only deny.
func (b *planBuilder) portCure() string {
	switch {
	case b.p.mesh.port != 0:
		return ""
	case b.p.opts.AnsweredBy == AnsweredByIstioProxy:
		return ", or probe-proxy must answer (`answeredBy: probe-proxy`)"
	}
	return ", or the functionConfig another `port`"
}

func (b *planBuilder) finish(toRewrite []*handlerSite) Plan {
	b.keepReplaced()
	plan := Plan{Probes: make([]Verdict, 0, len(b.sites))}
	failed := b.failed()
	if !failed {
		b.editAll(toRewrite)
		plan.Edits, plan.Repairs = b.edits, b.inspection.collisions
	}
	for _, s := range b.sites {
		plan.Probes = append(plan.Probes, b.verdict(s, failed))
	}
	slices.SortStableFunc(b.findings, func(x, y Finding) int { return cmp.Compare(x.Severity.Rank(), y.Severity.Rank()) })
	plan.Findings = b.findings
	plan.Answer = b.answer(toRewrite)
	if !b.in.OnlyEdits {
		plan.Known = b.known()
	}
	return plan
}

// answer returns who answers the probes that the plan rewrites.
func (b *planBuilder) answer(toRewrite []*handlerSite) Answer {
	a := Answer{Injected: b.inspection.facts.Injected.Is == certain.Always}
	if b.failed() || len(toRewrite)+len(b.excluded) == 0 {
		return a
	}
	a.By, a.Port = b.inspection.answerer.who, b.inspection.answerer.port
	a.Mesh, a.Because, a.AddsAnnotations = b.detected.title, b.inspection.because, b.addedAnnotations
	a.AppWouldDo = !b.in.OnlyEdits && a.By == AnsweredByProbeProxy && b.appWouldDo(toRewrite)
	container := istioProxyName
	if b.answeredByUs() {
		container = b.p.opts.ProbeProxy.Name
	}
	if len(toRewrite) > 0 && !slices.Contains(b.names, container) {
		a.AddsContainer = container
	}
	return a
}

func (b *planBuilder) verdict(s *handlerSite, failed bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.Init, ProbeType: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason,
	}
	if !b.in.OnlyEdits {
		f, unless := b.outcome(s)
		v.StrictTLS, v.Why, v.If = f.Outcome, f.Why, unless
	}
	switch {
	case failed && (s.target != nil || s.alreadyRewritten):
		v.State, v.Reason = Refused, FirstError(b.findings).Reason
	case s.target != nil:
		_, v.After, _ = strings.Cut(s.target.String(), " ") // without the handler's name
		v.State = WouldRewrite
		if len(s.changes) == 0 {
			v.State = Rewritten
		}
	case s.alreadyRewritten:
		v.Before, v.After, v.State = s.current.String(), s.original.String(), WouldRestore
	}
	return v
}

// outcome returns what becomes of a probe, as it was read, in the mesh, and if that is
// not so in every world, the fact that decides.
func (b *planBuilder) outcome(s *handlerSite) (f world.Fate, unless string) {
	kind := s.current.Kind()
	spec := &b.in.Template.Spec
	switch {
	case kind == "" || !s.current.Dials() || b.p.mesh.isProxy(s.container):
		return world.Spared, ""
	case s.isDangling():
		return world.Failing("nothing in the pod has its original"), ""
	case s.neverWorks(kind), s.dialed() == 0: // it fails without a mesh too
		return world.Spared, ""
	}
	if why := s.astray(spec); why != "" {
		return world.Failing(why), ""
	}
	switch {
	case pod.IsWindows(spec), (b.passesProbes() || spec.HostNetwork) && (s.holder == nil || !s.holder.proxy):
		f = world.Spared
	default:
		f, unless = b.inspection.outcome(s)
	}
	if f == world.Spared {
		return s.hurriedFate()
	}
	return f, unless
}

// Why the kubelet's connection to a proxy that only accepts mTLS does not do its work.
const (
	whyNoCertificate = "the kubelet has no client certificate"
	whyAccepted      = "the mesh's own proxy accepts the connection"
)
