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
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// AnsweredBy names who answers the rewritten probe of a group.
const AnsweredBy = "pilot-agent"

// ConfigAnnotation is the annotation of a group with the agent's configuration,
// in YAML.
const ConfigAnnotation = "proxy.istio.io/config"

// The other annotations of a group.
const (
	fromAnnotation      = "rewrite-probes.io/probe-from" // the workload whose probe the group takes
	originalsAnnotation = "rewrite-probes.io/originals"  // what an exact restore needs
)

// A Group is a WorkloadGroup and what is known of its surroundings.
type Group struct {
	Metadata  transformer.Metadata
	Namespace *transformer.Metadata // of the Namespace object, nil if unknown
	Spec      Spec
	// Source is the object as it was read.
	Source transformer.Source
	// Texts is as in [transformer.Input], and not nil.
	Texts func(edits []field.Edit) field.KeyValues
	// Workloads returns the workloads of the group's namespace that have a kind
	// and a name.
	Workloads func(kind, name string) []Workload
}

// A Spec is the part of a WorkloadGroup's spec that is read.
type Spec struct {
	Metadata struct {
		Labels      field.KeyValues `json:"labels"`
		Annotations field.KeyValues `json:"annotations"`
	} `json:"metadata"`
	Template struct {
		ServiceAccount string          `json:"serviceAccount"`
		Network        string          `json:"network"`
		Locality       string          `json:"locality"`
		Weight         int             `json:"weight"`
		Labels         field.KeyValues `json:"labels"`
		Ports          map[string]int  `json:"ports"`
	} `json:"template"`
	Probe *vmconfig.Probe `json:"probe"` // 0 and "" stand for fields that are not set
}

// A Workload is what a group may take its probe from.
type Workload struct {
	Name   string // as messages have it
	Probes []transformer.OriginalProbe
	Err    error // why its probes are not known
}

// none describes the probe of a group without one.
const none = "none"

var probePath = field.NewPath("spec", "probe")

// A builder makes the plan of one group.
type builder struct {
	g        *Group
	config   agentConfig
	record   record
	findings []transformer.Finding

	source   field.Map // the probe as it was read
	probe    *vmconfig.Probe
	entry    *prober.Prober // of the env var, if the probe is our rewriting
	dangling bool
	original *vmconfig.Probe // as its author wrote it
	written  written         // likewise, the part that the rewriting changes

	derived *vmconfig.Probe // from the workload that the annotation names
	place   bool            // the derived probe is to be written
	remove  bool            // the probe, which an earlier run derived, is to go
	target  *prober.Prober  // the entry of the rewritten probe, nil if it is not rewritten
}

// newBuilder reads the group.
func newBuilder(g *Group) *builder {
	b := &builder{g: g, probe: g.Spec.Probe, original: g.Spec.Probe}
	v, _ := g.Source(probePath)
	b.source, _ = v.(field.Map)
	var path field.Path
	var err error
	if b.config, path, err = readAgentConfig(g); err != nil {
		b.add(transformer.NewFinding("vm-config-invalid", path, "%v", err))
	}
	if b.record, err = readRecord(g.Metadata.Annotations); err != nil {
		b.add(transformer.NewFinding("env-unreadable", annotationPath(originalsAnnotation), "%v; the original of the rewritten probe cannot be known", err))
	}
	b.written = writtenIn(b.source)
	b.recognise()
	return b
}

func annotationPath(key string) field.Path { return field.NewPath("metadata", "annotations", key) }

func (b *builder) add(f transformer.Finding) { b.findings = append(b.findings, f) }

func (b *builder) failed() bool {
	return slices.ContainsFunc(b.findings, func(f transformer.Finding) bool { return f.Severity == transformer.Error })
}

// recognise finds the original of a rewritten probe.
func (b *builder) recognise() {
	if b.probe == nil || b.probe.HTTPGet == nil {
		return
	}
	h := b.probe.HTTPGet
	if b.config.entry == nil || h.Path != b.config.key {
		_, of, ok := prober.ParseKey(h.Path)
		b.dangling = ok && of == prober.Readiness && h.Port == b.config.statusPort && b.config.probers[h.Path] == nil
		return
	}
	entry := *b.config.entry
	b.entry = &entry
	asWritten := b.record.probe
	if t := b.probe.TimeoutSeconds; t != outerTimeout(entry.TimeoutSeconds) && t > 0 {
		entry.TimeoutSeconds = max(1, t-1) // it was edited since
		if asWritten != nil {
			asWritten = &written{asWritten.kind, asWritten.handler, field.Map{{Key: timeoutSeconds, Value: entry.TimeoutSeconds}}}
		}
	}
	b.written = writtenBy(&entry)
	if asWritten != nil && reflect.DeepEqual(asWritten.entry(), &entry) {
		b.written = *asWritten
	}
	original := *b.probe
	original.TimeoutSeconds = entry.TimeoutSeconds
	original.HTTPGet, original.GRPC = nil, nil
	if entry.GRPC != nil {
		original.GRPC = &vmconfig.GRPC{Port: int(entry.GRPC.Port), Service: *entry.GRPC.Service}
	} else {
		original.HTTPGet = &vmconfig.HTTPGet{
			Path: entry.HTTPGet.Path, Port: int(entry.HTTPGet.Port), Scheme: entry.HTTPGet.Scheme, Host: h.Host, HTTPHeaders: h.HTTPHeaders,
		}
	}
	b.original = &original
}

// Plan plans the rewriting of a group; rewrite has the handlers that are
// rewritten, as [transformer.Options] has them.
func Plan(g *Group, rewrite []string) transformer.Plan {
	b := newBuilder(g)
	off, invalid := transformer.OptOut(&g.Metadata, g.Namespace)
	b.findings = append(b.findings, invalid...)
	if off != nil {
		return b.undoBecause(off)
	}
	b.derive()
	why := ""
	if b.original != nil && !b.failed() {
		why = b.classify(rewrite)
	}
	plan := transformer.Plan{}
	if b.target != nil && !b.failed() && b.entry == nil && !b.place {
		plan.Repairs = append(plan.Repairs, mistake(b.original))
	}
	if !b.failed() {
		probe := b.probeEdits()
		plan.Edits = append(probe, b.annotationEdits(probe, &plan.Answer)...)
	}
	if b.target != nil && !b.failed() {
		plan.Answer.By, plan.Answer.Port = AnsweredBy, b.config.statusPort
	}
	return b.finish(plan, why)
}

// Restore plans the inverse.
func Restore(g *Group) transformer.Plan {
	b := newBuilder(g)
	return b.undo("not-rewritten")
}

// undoBecause restores a group that has opted out.
func (b *builder) undoBecause(off *transformer.Finding) transformer.Plan {
	verb := "left alone"
	switch {
	case b.isDerived():
		verb = "taken out again"
	case b.entry != nil:
		verb = "restored"
	}
	if b.original != nil {
		off.Message += "; its probe is " + verb
		b.add(*off)
	}
	return b.undo("opt-out")
}

func (b *builder) undo(why string) transformer.Plan {
	if b.dangling {
		b.add(transformer.NewFinding("dangling", probePath, danglingText))
		why = "dangling"
	}
	plan := transformer.Plan{}
	b.remove = b.isDerived()
	if !b.failed() {
		plan.Edits = append(b.undoEdits(), b.annotationEdits(nil, &plan.Answer)...)
	}
	return b.finish(plan, why)
}

// finish adds the verdict and the findings.
func (b *builder) finish(plan transformer.Plan, why string) transformer.Plan {
	slices.SortStableFunc(b.findings, func(x, y transformer.Finding) int { return x.Severity.Rank() - y.Severity.Rank() })
	plan.Findings = b.findings
	if b.original == nil {
		return plan
	}
	v := transformer.Verdict{
		Container: b.g.Metadata.Name, ProbeType: prober.Readiness, Field: probePath,
		Before: describe(b.original), State: transformer.LeftAlone, Reason: why, StrictTLS: transformer.Unaffected,
	}
	switch {
	case b.failed():
		v.Reason = b.findings[0].Reason
		if b.target != nil || b.entry != nil || b.place || b.remove {
			v.State = transformer.Refused
		}
	case b.target != nil:
		v.State, v.Reason, v.After = transformer.Rewritten, "", fmt.Sprintf(":%d%s", b.config.statusPort, b.key())
		if len(plan.Edits) > 0 {
			v.State = transformer.WouldRewrite
		}
	case b.place:
		v.State, v.Reason, v.Before, v.After = transformer.WouldRewrite, "", none, describe(b.original)
	case b.remove:
		v.State, v.Before, v.After = transformer.WouldRestore, describe(b.probe), none
	case b.entry != nil:
		v.State, v.Before, v.After = transformer.WouldRestore, describe(b.probe), describe(b.original)
	}
	plan.Probes = []transformer.Verdict{v}
	return plan
}

// key returns the path at which the group's probe is answered.
func (b *builder) key() string { return prober.Key(b.g.Metadata.Name, prober.Readiness) }

// describe returns the handler of a probe in a few words.
func describe(p *vmconfig.Probe) string {
	h := &transformer.Handler{}
	port := func(n int) field.IntOrString { return field.IntOrString{Int: int64(n)} }
	if p.HTTPGet != nil {
		h.HTTPGet = &transformer.HTTPGet{Path: &p.HTTPGet.Path, Port: port(p.HTTPGet.Port), Host: p.HTTPGet.Host, Scheme: &p.HTTPGet.Scheme}
	}
	if p.TCPSocket != nil {
		h.TCPSocket = &transformer.TCPSocket{Port: port(p.TCPSocket.Port), Host: p.TCPSocket.Host}
	}
	if p.GRPC != nil {
		h.GRPC = &transformer.GRPC{Port: port(p.GRPC.Port), Service: &p.GRPC.Service}
	}
	if p.Exec != nil {
		h.Exec = &transformer.Exec{}
	}
	return h.String()
}

// inJSON returns a probe on one line, for messages.
func inJSON(p *vmconfig.Probe) string {
	b, _ := json.Marshal(p) // types of strings and numbers alone cannot fail
	return string(b)
}
