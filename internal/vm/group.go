// Package vm plans the rewriting of WorkloadGroups: Istio's groups of virtual
// machines, each with one probe that Istio's agent on the machine makes.
//
// An https or grpc probe, which the agent gets wrong, is sent to the agent's own
// status server, which makes the original as the kubelet would. The plan has the
// form of a pod template's, so that nobody else needs to know of groups. The
// package knows nothing of files.
package vm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// answeredBy names who answers the rewritten probe of a group.
const answeredBy = "pilot-agent"

// ConfigAnnotation is the annotation of a group with the agent's configuration,
// in YAML.
const ConfigAnnotation = "proxy.istio.io/config"

// fromAnnotation is the annotation that names the workload whose probe the group takes.
const fromAnnotation = transformer.ProbeFromAnnotation

// A Group is a WorkloadGroup and what is known of its surroundings.
type Group struct {
	Metadata field.Metadata
	Around   surroundings.Surroundings // what other manifests say about the group
	Spec     Spec
	// Source is the object as it was read.
	Source transformer.Source
	// Texts and Notes are as in [transformer.Input].
	Texts []field.WrittenText
	Notes *transformer.Notes
	// Probes returns the readiness probes of the workload in the group's namespace that
	// has a kind and a name, and how messages name the workload.
	Probes func(kind, name string) (probes []transformer.OriginalProbe, workload string, err error)
}

// A Spec is the part of a WorkloadGroup's spec that is read.
type Spec struct {
	Metadata field.Metadata `json:"metadata"` // of the WorkloadEntries
	Template struct {
		ServiceAccount string          `json:"serviceAccount"`
		Network        string          `json:"network"`
		Locality       string          `json:"locality"`
		Labels         field.KeyValues `json:"labels"`
		Ports          map[string]int  `json:"ports"`
	} `json:"template"`
	Probe *vmconfig.Probe `json:"probe"` // 0 and "" stand for fields that are not set
}

var probePath = field.NewPath("spec", "probe")

// A builder makes the plan of one group.
type builder struct {
	g        *Group
	config   agentConfig
	record   transformer.Record
	findings []transformer.Finding

	source      field.Map // the probe as it was read
	probe       *vmconfig.Probe
	isRewritten bool            // the probe is our rewriting, and its original is known
	dangling    bool            // it looks like that, and is not
	original    *vmconfig.Probe // as its author wrote it, or derived; nil if the group has or gets none
	written     field.Map       // as its author wrote it, the part that the rewriting changes

	derived *vmconfig.Probe  // the original, if it comes from the workload that the annotation names
	target  *prober.Original // the entry of the rewritten probe, nil if it is not rewritten
}

// newBuilder reads the group.
func newBuilder(g *Group) *builder {
	config, path, err := readAgentConfig(g)
	b := &builder{g: g, config: config, probe: g.Spec.Probe, original: g.Spec.Probe}
	if err != nil {
		b.add(reason.VMConfigInvalid, path, "%v", err)
	}
	v, _ := g.Source(probePath)
	b.source, _ = v.(field.Map)
	if b.record, err = transformer.ReadRecord(g.annotations()); err != nil {
		b.add(reason.EnvUnreadable, annotationPath(transformer.OriginalsAnnotation), "the original probe is unknown: %v", err)
	}
	b.written = writtenIn(field.WithWholeNumbers(b.source))
	b.recognise()
	return b
}

// noted returns the metadata of the group and of its Namespace, which is empty if it is not known.
func (g *Group) noted() (group, namespace *field.NotedMetadata) {
	around := g.Around
	var keys *field.MetadataKeys
	if n := g.Notes; n != nil {
		around, keys = around.Note(&n.Asked), &n.Workload
	}
	around.CountKeys(transformer.IsOfMesh)
	ns, _ := around.Namespaced()
	return new(g.Metadata.Note(keys)), &ns
}

func (g *Group) annotations() field.Noted {
	group, _ := g.noted()
	return group.Annotations
}

// Reads names what the plan of a group is made from, besides the workload that an annotation names. The
// group must have notes.
func Reads(g *Group) transformer.Reads {
	return transformer.Reads{
		Fields:    append(g.Notes.Workload.Paths(field.NewPath("metadata")), field.NewPath("spec")),
		Kinds:     g.Notes.Kinds,
		Namespace: g.Notes.Namespace,
	}
}

func annotationPath(key string) field.Path {
	return field.NewPath("metadata", "annotations", key)
}

func (b *builder) add(key reason.Key, path field.Path, format string, args ...any) *transformer.Finding {
	b.findings = append(b.findings, transformer.NewFinding(key, path, format, args...))
	return &b.findings[len(b.findings)-1]
}

// addDangling reports a rewritten probe without its original.
func (b *builder) addDangling() {
	f := b.add(reason.Dangling, probePath, danglingText)
	f.Text.Fix = "Write the original probe back"
}

func (b *builder) failed() bool {
	return transformer.FirstError(b.findings) != nil
}

// recognise finds the original of a rewritten probe.
func (b *builder) recognise() {
	if b.probe == nil || b.probe.HTTPGet == nil {
		return
	}
	h := b.probe.HTTPGet
	if b.config.entry == nil || h.Path != b.config.key {
		_, of, ok := prober.ParseKey(h.Path)
		isForAgent := h.Port == field.Number(b.config.statusPort)
		b.dangling = ok &&
			of == prober.Readiness &&
			isForAgent &&
			b.config.probers[h.Path] == nil
		return
	}
	e := b.config.entry
	entry := entryOf(&vmconfig.Probe{
		HTTPGet:        e.HTTPGet,
		GRPC:           e.GRPC,
		TimeoutSeconds: e.TimeoutSeconds,
	})
	if entry.HTTPGet != nil {
		entry.HTTPGet.Host = "" // the rewritten probe has it
	}
	asWritten := b.record.Section(recordProbe)
	if t := b.probe.TimeoutSeconds; t != outerTimeout(entry.TimeoutSeconds) && t > 0 {
		entry.TimeoutSeconds = max(1, t-1) // it was edited since
		asWritten = withTimeout(asWritten, entry.TimeoutSeconds)
	}
	original := *b.probe
	original.TimeoutSeconds = entry.TimeoutSeconds
	b.written, original.HTTPGet, original.GRPC = writtenBy(entry), entry.HTTPGet, entry.GRPC
	if p, err := probeIn(asWritten); err == nil && reflect.DeepEqual(entryOf(p), entry) {
		b.written, original.HTTPGet, original.GRPC = asWritten, p.HTTPGet, p.GRPC
	}
	if o := original.HTTPGet; o != nil {
		o.Host, o.HTTPHeaders, o.Protocol = h.Host, h.HTTPHeaders, h.Protocol
	}
	b.isRewritten, b.original = true, &original
}

// Plan plans the rewriting of a group; rewrite has the handlers that are
// rewritten, as [transformer.Options] has them.
func Plan(g *Group, rewrite []string) transformer.Plan {
	b := newBuilder(g)
	off, invalid := transformer.OptOut(g.noted())
	b.findings = append(b.findings, invalid...)
	if off != nil {
		return b.undoBecause(off)
	}
	b.derive()
	var why reason.Key
	if b.original != nil && !b.failed() {
		why = b.classify(rewrite)
	}
	return b.plan(why)
}

// repairs returns what Istio's agent does wrong with a probe that is rewritten.
func (b *builder) repairs() []transformer.Finding {
	switch {
	case b.target == nil ||
		b.probe == nil ||
		b.failed():
		return nil
	case !b.isRewritten && b.probe.GRPC != nil:
		return []transformer.Finding{transformer.NewFinding(reason.VMGRPCRefused, probePath.Key(grpc),
			"istiod refuses a WorkloadGroup with a grpc probe, and Istio's agent crashes if the service is not serving")}
	case !b.isRewritten && isHTTPS(b.probe):
		return []transformer.Finding{transformer.NewFinding(reason.VMHTTPSVerified, probePath.Key(httpGet, "scheme"),
			"Istio's agent verifies the certificate of an HTTPS probe, and the kubelet does not").
			Why("A self-signed certificate, or one for another address, fails")}
	case b.isRewritten &&
		hasHost(b.target) &&
		b.config.group.ProxyMetadata.Get(localhostEnv) != "true":
		return []transformer.Finding{transformer.NewFinding(reason.VMConfigInvalid, annotationPath(ConfigAnnotation),
			"without `proxyMetadata.%s: \"true\"`, the agent's status server does not ask %s", localhostEnv, b.target.HTTPGet.Host)}
	}
	return nil
}

// Restore plans the inverse.
func Restore(g *Group) transformer.Plan {
	return newBuilder(g).undo(reason.NotRewritten)
}

// undoBecause restores a group that has opted out.
func (b *builder) undoBecause(off *transformer.Finding) transformer.Plan {
	verb := "not rewritten"
	switch {
	case b.isDerived():
		verb = "taken out again"
	case b.isRewritten:
		verb = "restored"
	}
	if b.probe != nil {
		off.Text.What += ". Its probe is " + verb
		b.findings = append(b.findings, *off)
	}
	return b.undo(reason.OptOut)
}

func (b *builder) undo(why reason.Key) transformer.Plan {
	if b.dangling {
		b.addDangling()
		why = reason.Dangling
	}
	if b.isDerived() {
		b.original = nil
	}
	return b.plan(why)
}

// plan returns the plan for what has been decided; why is the reason if the probe is left alone.
func (b *builder) plan(why reason.Key) transformer.Plan {
	plan := transformer.Plan{Repairs: b.repairs()}
	if !b.failed() {
		plan.Edits = append(b.probeEdits(), b.annotationEdits(&plan.Answer)...)
	}
	if b.target != nil && !b.failed() {
		plan.Answer.By = answeredBy
		plan.Answer.Port = b.config.statusPort
	}
	slices.SortStableFunc(b.findings, func(x, y transformer.Finding) int {
		return x.Severity.Rank() - y.Severity.Rank()
	})
	plan.Findings = b.findings
	if b.original != nil || b.probe != nil {
		plan.Probes = []transformer.Verdict{b.verdict(why, len(plan.Edits) > 0)}
	}
	return plan
}

// verdict returns what becomes of the probe; edited is whether the plan has edits.
func (b *builder) verdict(why reason.Key, edited bool) transformer.Verdict {
	v := transformer.Verdict{
		Container: b.g.Metadata.Name, ProbeType: prober.Readiness, Field: probePath,
		Before: describe(b.original), State: transformer.LeftAlone, Reason: why, StrictTLS: world.Unaffected,
	}
	switch {
	case b.failed():
		v.Reason = b.findings[0].Reason
		if b.target != nil || b.isRewritten || b.derived != nil || b.original == nil {
			v.State = transformer.Refused
		}
	case b.target != nil:
		v.State = transformer.Rewritten
		v.Reason = reason.None
		v.After = fmt.Sprintf(":%d%s", b.config.statusPort, b.key())
		if edited {
			v.State = transformer.WouldRewrite
		}
	case b.isRewritten || b.original == nil:
		v.State = transformer.WouldRestore
		v.Before = describe(b.probe)
		v.After = describe(b.original)
	case b.derived != nil && edited:
		v.State = transformer.WouldRewrite
		v.Reason = reason.None
		v.Before = describe(b.probe)
		v.After = describe(b.original)
	}
	if v.State == transformer.WouldRewrite && b.probe == nil {
		v.Absent = true
		v.Before = describe(nil)
	}
	return v
}

// key returns the path at which the group's probe is answered.
func (b *builder) key() string {
	return prober.Key(b.g.Metadata.Name, prober.Readiness)
}

// handlerOf returns the handler of a probe as that of a container.
func handlerOf(p *vmconfig.Probe) *pod.Handler {
	return &pod.Handler{
		Exec:      (*pod.Exec)(p.Exec),
		HTTPGet:   p.HTTPGet,
		TCPSocket: p.TCPSocket,
		GRPC:      p.GRPC,
	}
}

func describe(p *vmconfig.Probe) string {
	if p == nil {
		return "none"
	}
	return handlerOf(p).String()
}

// inJSON returns a probe on one line, for messages.
func inJSON(p *vmconfig.Probe) string {
	b, _ := json.Marshal(p) // types of strings and numbers alone cannot fail
	return string(b)
}
