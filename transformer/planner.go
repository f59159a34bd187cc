package transformer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts    Options
	dialect *dialect
	// dialects are those in which a template may have been rewritten before, the
	// planner's own first; conventions are the same, in groups with one convention
	// each.
	dialects    []*dialect
	conventions [][]*dialect
	// others returns the planners of the other meshes, each made once, or says why
	// the options do not fit the mesh. It is nil unless the mesh is found out for
	// each template.
	others map[*dialect]func() (*Planner, error)
	// sidecar is probe-proxy as the options say, without the originals: as a
	// native sidecar (true) and as an ordinary container.
	sidecar map[bool]field.Map
}

// New returns a planner. It is an error if the options have [Options.Problems].
func New(o Options) (*Planner, error) {
	if problems := o.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Text)
	}
	if err := o.ProbeProxy.check(); err != nil {
		return nil, err
	}
	p := newPlanner(o, o.dialect())
	if o.Mesh != MeshAuto {
		return p, nil
	}
	p.others = make(map[*dialect]func() (*Planner, error))
	for _, d := range p.dialects[1:] {
		p.others[d] = sync.OnceValues(func() (*Planner, error) {
			if problems := o.problemsIn(d); len(problems) > 0 {
				return nil, fmt.Errorf("`%s`: %s", problems[0].Path, problems[0].Text)
			}
			return newPlanner(o, d), nil
		})
	}
	return p, nil
}

// newPlanner returns the planner of one mesh.
func newPlanner(o Options, d *dialect) *Planner {
	if byDefault := Defaults().ProbeProxy.Name; o.ProbeProxy.Name == byDefault {
		o.ProbeProxy.Name = d.sidecarName(o.AnsweredBy, byDefault)
	}
	p := &Planner{opts: o, dialect: d, dialects: allDialects(d)}
	p.conventions = byConvention(p.dialects)
	p.sidecar = map[bool]field.Map{true: p.sidecarBase(true), false: p.sidecarBase(false)}
	return p
}

// Plan plans the rewriting of one template. A template that was rewritten
// before is brought to the planner's options, or restored if it has opted out.
func (p *Planner) Plan(in Input) Plan {
	b := p.builderFor(&in)
	b.findings = append(b.findings, b.detected.unclear...)
	b.mesh = b.p.dialect.inspect(b)
	b.detected.addTo(&b.mesh)
	b.classify()
	toRewrite := b.toRewrite()
	if len(toRewrite) > 0 && !b.failed() {
		b.check(toRewrite)
	}
	return b.finish(toRewrite)
}

// Restore plans the inverse: the original probes come back, and all that we
// added goes, whether the template has opted out or not.
func (p *Planner) Restore(in Input) Plan {
	b := p.builderFor(&in)
	read := b.findings
	b.mesh = b.p.dialect.inspect(b)
	b.findings = read // what the mesh's labels and annotations say does not matter here
	for _, s := range b.sites {
		if b.isDangling(s) {
			b.skip(s, "dangling", s.path, "%s", danglingText)
		} else if !s.alreadyRewritten {
			s.reason = "not-rewritten"
		}
	}
	return b.finish(nil)
}

const danglingText = "looks like a rewritten probe, but no container of the pod carries an original for it; it must be given its original back"

// isDangling reports whether a probe looks rewritten and was not recognised.
func (b *planBuilder) isDangling(s *handlerSite) bool {
	h := s.current.HTTPGet
	return s.lost || !s.alreadyRewritten && h != nil && slices.ContainsFunc(b.p.dialects, func(d *dialect) bool { return d.looksRewritten(h) })
}

// skip leaves a probe alone and reports the reason.
func (b *planBuilder) skip(s *handlerSite, reason string, path field.Path, format string, args ...any) {
	s.reason = reason
	b.addFinding(containerFinding(reason, path, s.container.Name, format, args...))
}

// classify decides for every probe and hook whether it is rewritten.
func (b *planBuilder) classify() {
	sources := b.optOutSources()
	off := b.optOut(sources)
	skip := b.skipped(sources)
	names := b.containerNames()
	concerned := false // off is the reason of a probe
	for _, s := range b.sites {
		kind, ok := s.original.kind()
		switch {
		case b.in.Shape.ProbesMadeBy != "" && !b.isDangling(s):
			s.reason, concerned = off.Reason, true
		case ok && s.original.dialer() == nil:
			s.reason = "no-network"
		case b.hasUnknown(s):
		case !ok:
			b.skip(s, "not-one-handler", s.path, "must have exactly one handler (exec, httpGet, tcpSocket, grpc, and for hooks sleep), and has %s", s.original)
		case b.p.dialect.isProxy(s.container):
			s.reason = "proxy-container"
		case b.isDangling(s):
			b.skip(s, "dangling", s.path, "%s", danglingText)
		case off != nil:
			s.reason, concerned = off.Reason, true
		case skip[s.container.Name]:
			s.reason = "skipped-container"
			b.addFinding(containerFinding(s.reason, s.path, s.container.Name, "container %q is named by the annotation `%s`", s.container.Name, ownSkipContainers))
		case !b.selected(s, kind):
			s.reason = "not-selected"
		case s.name.IsHook() && kind != kindHTTPGet:
			b.skip(s, "hook-never-works", s.path.Key(kind), "the kubelet has no %s hooks: this one always fails", kind)
		case s.at.init && !isSidecar(s.at, s.container):
			b.skip(s, "init-container", s.path, "the API server allows probes and hooks on an init container only with `restartPolicy: Always`")
		case !onlyOnce(names, s.container.Name) || s.container.Name == "" || strings.Contains(s.container.Name, "/"):
			b.skip(s, "container-name", b.containerPath(s.at).Key("name"), "%q must be the name of this container alone, without a slash", s.container.Name)
		default:
			b.classifyEndpoint(s, kind)
		}
	}
	b.p.dialect.skipUnsupported(b, b.undecided())
	b.skipNewer(b.undecided())
	if off != nil && concerned {
		verb := "left alone"
		if b.hasOurs() {
			verb = "restored"
		}
		off.Message += "; its probes are " + verb
		b.addFinding(*off)
	}
}

// onlyOnce reports whether one of the names is used once.
func onlyOnce(names []string, name string) bool {
	i := slices.Index(names, name)
	return !slices.Contains(names[i+1:], name)
}

// selected reports whether [Options].Rewrite names the handler, or there is another
// reason to leave it alone.
func (b *planBuilder) selected(s *handlerSite, kind string) bool {
	if s.name.IsHook() && kind == kindHTTPGet {
		kind = rewriteHooks
	} else if s.name.IsHook() {
		return true // hook-never-works is the better reason
	}
	return slices.Contains(b.p.opts.Rewrite, kind)
}

// classifyEndpoint decides by what a handler dials, and when.
func (b *planBuilder) classifyEndpoint(s *handlerSite, kind string) {
	port, host := s.original.dialer().endpoint()
	if host != "" {
		b.skip(s, "host-set", s.path.Key(kind, "host"), "%q is where the probe goes, so it is left alone; without `host` it goes to the pod and can be rewritten", host)
		return
	}
	if kind == kindHTTPGet {
		if scheme := text(s.original.HTTPGet.Scheme); scheme != "" && scheme != "HTTP" && scheme != "HTTPS" {
			b.skip(s, "scheme-invalid", s.path.Key(kind, "scheme"), "%q must be HTTP or HTTPS", scheme)
			return
		}
	}
	if s.timeout < 0 || s.timeout > math.MaxInt32 {
		b.skip(s, "timeout-invalid", s.path.Key("timeoutSeconds"), "%d must be a number of seconds from 1 to %d", s.timeout, math.MaxInt32)
		return
	}
	n, err := resolve(*port, s.container)
	if err != nil {
		b.skipPort(s, kind, *port, err)
		return
	}
	s.port = n
	a := b.mesh.answerer
	switch {
	case slices.Contains(b.p.dialect.ports(a), n):
		b.skip(s, "aims-at-probe-port", s.path.Key(kind, "port"), "%s is the port of the rewritten probes, and the probe is not one of them", port)
	case !b.mesh.captures(n):
		b.skip(s, "port-not-captured", s.path.Key(kind, "port"), "the mesh does not capture port %d, so the probe works as it is", n)
	case !b.answeredInTime(s):
		b.skip(s, "starts-before-answerer", s.path, "container %q starts before the one that answers rewritten probes, so this one is left alone; %s", s.container.Name, b.startsEarlierCure(s))
	}
}

func (b *planBuilder) skipPort(s *handlerSite, kind string, port field.IntOrString, err error) {
	reason := "port-unresolved"
	if _, numeric := err.(outOfRange); numeric {
		reason = "port-invalid"
	}
	b.skip(s, reason, s.path.Key(kind, "port"), "%v; the probe is left alone", err)
	f := &b.findings[len(b.findings)-1]
	if port != (field.IntOrString{}) {
		f.Current = port.Value()
	}
	if n, err := strconv.Atoi(port.Str); err == nil && n > 0 {
		f.Proposed = n
	}
}

// answeredInTime reports whether the answerer runs when the kubelet starts the
// probe. This matters for init containers, since the pod waits for each of them
// and would wait for ever, and for postStart hooks.
func (b *planBuilder) answeredInTime(s *handlerSite) bool {
	if !s.at.init {
		// probe-proxy would have to be first.
		return s.name != prober.PostStart || !b.firstIsApp() || b.native() || !b.answeredByUs(s)
	}
	if b.answeredByUs(s) {
		return b.native()
	}
	if b.mesh.proxyFirst {
		return true
	}
	at, ok := b.proxyPlace()
	return ok && s.at.startsAfter(at)
}

func (b *planBuilder) startsEarlierCure(s *handlerSite) string {
	if b.in.Shape.NoNativeSidecars {
		return "a " + b.in.Kind + " can have no native sidecars, which would start first"
	}
	if b.answeredByUs(s) {
		return "`placement: native` starts probe-proxy first"
	}
	if b.p.dialect.hasFixedPorts() {
		return "probe-proxy, with `answeredBy: probe-proxy` and `placement: native`, would start first"
	}
	return "probe-proxy with `placement: native`, on a port of its own, would start first"
}

// proxyPlace returns where the template has the mesh's proxy, unless we declared
// it.
func (b *planBuilder) proxyPlace() (at containerRef, ok bool) {
	eachContainer(&b.in.Template.Spec, func(p containerRef, c *Container) {
		if b.p.dialect.isProxy(c) && !b.isOurs(p) && (!ok || !p.init) {
			at, ok = p, true
		}
	})
	return at, ok
}

// toRewrite returns the probes that are rewritten, each with its target.
func (b *planBuilder) toRewrite() []*handlerSite {
	toRewrite := b.undecided()
	for i, h := range b.p.dialect.assign(toRewrite, b.mesh.answerer) {
		toRewrite[i].target = h
	}
	return toRewrite
}

// undecided returns the probes for which there is no reason to leave them alone.
func (b *planBuilder) undecided() []*handlerSite {
	var sites []*handlerSite
	for _, s := range b.sites {
		if s.reason == "" {
			sites = append(sites, s)
		}
	}
	return sites
}

// check reports what prevents the rewriting of the template.
func (b *planBuilder) check(toRewrite []*handlerSite) {
	b.findings = append(b.findings, b.mesh.conflicts...)
	b.findings = append(b.findings, b.mesh.warnings...)
	b.checkPaths(toRewrite)
	a := b.mesh.answerer
	ports := b.p.dialect.ports(a)
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		if b.isOurs(at) {
			return
		}
		if b.adds(toRewrite) && c.Name == b.p.opts.ProbeProxy.Name {
			b.addFinding(containerFinding("name-taken", b.containerPath(at).Key("name"), c.Name, "%q is the name of the container to be added; one of the two must have another (`probeProxy.name`)", c.Name))
		}
		if a.who != AnsweredByProbeProxy && b.p.dialect.isProxy(c) {
			return
		}
		for i, p := range c.Ports {
			if slices.Contains(ports, int(p.ContainerPort)) && (p.Protocol == "" || p.Protocol == "TCP") {
				b.addFinding(containerFinding("port-taken", b.containerPath(at).Key("ports").Index(i).Key("containerPort"), c.Name, "%d is the port where rewritten probes are answered; the app must have another%s", p.ContainerPort, b.p.portCure()))
			}
		}
	})
	if b.adds(toRewrite) {
		b.checkProbeProxy()
	}
	b.checkBareSpec(toRewrite)
	if a.who == AnsweredByProbeProxy {
		return
	}
	at, declared := b.proxyPlace()
	for _, s := range toRewrite {
		if s.name == prober.PostStart && b.mesh.proxyLate != "" && !(declared && s.at.startsAfter(at)) {
			b.addFinding(containerFinding("post-start-order", s.path, s.container.Name,
				"a postStart hook runs before the next container starts, and %s", b.mesh.proxyLate))
		}
	}
}

// checkBareSpec refuses a rewriting that needs annotations if it is not known where
// the pods get theirs from.
func (b *planBuilder) checkBareSpec(toRewrite []*handlerSite) {
	if !b.in.Shape.BareSpec {
		return
	}
	needed := b.p.dialect.annotate(nil, nil, b.mesh.answerer)
	if c := b.companion(); c != nil {
		needed = c.carry(needed, toRewrite)
	}
	if len(needed) == 0 {
		return
	}
	b.addFinding(NewFinding("annotations-unknown", b.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s: %s`, which the pods need; the object must be excluded, or probe-proxy must answer on a port that needs no annotation", needed[0].Key, needed[0].Value))
}

// portCure returns the other cure for a port that is taken; "" if there is none.
func (p *Planner) portCure() string {
	if p.dialect.hasFixedPorts() {
		return ""
	}
	return ", or the functionConfig another `port`"
}

// finish plans the edits and returns the plan.
func (b *planBuilder) finish(toRewrite []*handlerSite) Plan {
	plan := Plan{Probes: make([]Verdict, 0, len(b.sites))}
	failed := b.failed()
	if !failed {
		b.editAll(toRewrite)
		plan.Edits, plan.Repairs, plan.Companion = b.edits, b.mesh.collisions, b.companionObject(toRewrite)
	}
	for _, s := range b.sites {
		plan.Probes = append(plan.Probes, b.verdict(s, failed))
	}
	slices.SortStableFunc(b.findings, func(x, y Finding) int { return cmp.Compare(x.Severity.Rank(), y.Severity.Rank()) })
	plan.Findings = b.findings
	plan.Answer = b.answer(toRewrite)
	return plan
}

// answer returns who answers the probes that the plan rewrites.
func (b *planBuilder) answer(toRewrite []*handlerSite) Answer {
	a := Answer{Injected: b.mesh.injectorRewrites}
	if len(toRewrite) == 0 || b.failed() {
		return a
	}
	a.By, a.Mesh, a.Assumed = b.mesh.answerer.who, b.detected.title, b.mesh.assumed
	if ports := b.p.dialect.ports(b.mesh.answerer); len(ports) == 1 {
		a.Port = ports[0]
	}
	a.AddsAnnotations = b.addedAnnotations
	container := b.p.opts.ProbeProxy.Name
	if !b.adds(toRewrite) {
		container = field.As[string](b.p.dialect.proxyPlaceholder(), "name")
	}
	if !slices.Contains(b.containerNames(), container) {
		a.AddsContainer = container
	}
	return a
}

// companionObject returns the companion that the workload needs, or the one that
// it no longer needs.
func (b *planBuilder) companionObject(toRewrite []*handlerSite) *Companion {
	if c := b.companion(); c != nil && len(toRewrite) > 0 {
		if o := c.make(b, toRewrite); o != nil {
			return o
		}
	}
	if len(b.annotationHolders) > 0 {
		return b.annotationHolders[0].dialect.companion.make(b, nil)
	}
	return nil
}

// companion returns the maker of the companion from which the answerer reads the
// originals; nil if it reads them from the env var.
func (b *planBuilder) companion() companionMaker {
	if c := b.p.dialect.companion; c != nil && c.needed(b.mesh.answerer) {
		return c
	}
	return nil
}

// verdict returns what becomes of a probe, for the plan.
func (b *planBuilder) verdict(s *handlerSite, failed bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.init, ProbeType: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason,
	}
	v.StrictTLS, v.Why = b.outcome(s)
	switch {
	case failed && (s.target != nil || s.alreadyRewritten):
		v.State, v.Reason = Refused, b.firstError()
	case s.target != nil:
		v.After = address(s.target)
		v.State = WouldRewrite
		if len(s.changes()) == 0 {
			v.State = Rewritten
		}
	case s.alreadyRewritten:
		v.Before, v.After, v.State = s.current.String(), s.original.String(), WouldRestore
	}
	return v
}

// address returns where a handler goes: its description without the handler's name.
func address(h *Handler) string {
	_, words, _ := strings.Cut(h.String(), " ")
	return words
}

// firstError returns the reason of the first error; "" if there is none.
func (b *planBuilder) firstError() string {
	for _, f := range b.findings {
		if f.Severity == Error {
			return f.Reason
		}
	}
	return ""
}

// outcome returns what a probe, as it was read, does under strict mTLS, and why
// if that is not what it does without a mesh.
func (b *planBuilder) outcome(s *handlerSite) (Outcome, string) {
	kind, ok := s.current.kind()
	d := s.current.dialer()
	if !ok || d == nil {
		return Unaffected, ""
	}
	port, host := d.endpoint()
	switch {
	case s.alreadyRewritten || host != "" || b.p.dialect.isProxy(s.container):
		return Unaffected, ""
	case b.isDangling(s):
		return Fails, "nothing in the pod has its original"
	case s.at.init && !isSidecar(s.at, s.container) || s.name.IsHook() && kind != kindHTTPGet:
		return Unaffected, "" // it fails without a mesh too
	case b.mesh.captures == nil || !b.capturesPod():
		return Unaffected, ""
	}
	n, err := resolve(*port, s.container)
	switch {
	case err != nil || !b.mesh.captures(n):
		return Unaffected, ""
	case b.mesh.outcome != nil:
		return b.mesh.outcome(s)
	case kind == kindTCPSocket:
		return FalselyPasses, whyAccepted
	}
	return Fails, whyNoCertificate
}

// What becomes of the kubelet's connection to a proxy that only accepts mTLS.
const (
	whyNoCertificate = "the kubelet has no client certificate"
	whyAccepted      = "the mesh's own proxy accepts the connection"
)

// capturesPod reports whether the mesh captures any connection to the pod.
func (b *planBuilder) capturesPod() bool {
	spec := &b.in.Template.Spec
	if spec.HostNetwork || isWindows(spec) {
		return false
	}
	return !b.mesh.passesProbes
}
