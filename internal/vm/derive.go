package vm

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// derive takes the probe from the workload that the annotation names. If the
// group has none, or the one that an earlier run took, it becomes the group's.
func (b *builder) derive() {
	ref, set := b.g.annotations().Lookup(fromAnnotation)
	if !set {
		return
	}
	path := annotationPath(fromAnnotation)
	from, where, err := b.find(ref)
	var p *vmconfig.Probe
	if err == nil {
		if p, err = b.translate(from); err != nil {
			err = fmt.Errorf("%s: %w", where, err)
		}
	}
	switch {
	case err != nil:
		b.add(reason.VMSourceUnknown, path, "%q: %v", ref, err).Current = ref
		return
	case b.original == nil || b.isDerived():
		b.original = p
		b.derived = p
	case !reflect.DeepEqual(effective(b.original), p):
		b.add(reason.VMSourceDiffers, probePath, "it is %s, but %s has %s",
			inJSON(effective(b.original)), where, inJSON(p))
		return
	}
	if p.Exec != nil {
		b.add(reason.VMSourceExec, path, "%q has an exec probe, so the machine needs its command %q", ref, p.Exec.Command)
	}
}

// isDerived reports whether the probe is the one that an earlier run took from
// a workload.
func (b *builder) isDerived() bool {
	_, from := b.g.annotations().Lookup(fromAnnotation)
	noted := b.record.Section(recordDerived)
	p, err := probeIn(noted)
	if !from || noted == nil || err != nil || b.original == nil {
		return false
	}
	return reflect.DeepEqual(effective(b.original), effective(p))
}

// find returns the readiness probe that a reference names, and where it is.
func (b *builder) find(ref string) (from *transformer.OriginalProbe, where string, err error) {
	kind, rest, _ := strings.Cut(ref, "/")
	name, container, named := strings.Cut(rest, "/")
	if kind == "" ||
		name == "" ||
		named && container == "" ||
		strings.Contains(container, "/") {
		return nil, where, errors.New("must be KIND/NAME or KIND/NAME/CONTAINER, such as Deployment/reviews")
	}
	all, workload, err := b.g.Probes(kind, name)
	if err != nil {
		return nil, where, err
	}
	var containers []string
	var probes []*transformer.OriginalProbe
	for i, p := range all {
		containers = append(containers, fmt.Sprintf("%q", p.Container))
		if !named || p.Container == container {
			probes = append(probes, &all[i])
		}
	}
	switch {
	case len(probes) == 1:
		return probes[0], fmt.Sprintf("%s, container %q", workload, probes[0].Container), nil
	case len(all) == 0:
		return nil, where, fmt.Errorf("%s has no readinessProbe", workload)
	}
	return nil, where, fmt.Errorf(
		"%s has a readinessProbe in %s. Name one of these containers: %s/%s/CONTAINER",
		workload,
		strings.Join(containers, ", "),
		kind,
		name,
	)
}

// translate returns a container's probe in the form of a group's, with every default.
func (b *builder) translate(from *transformer.OriginalProbe) (*vmconfig.Probe, error) {
	p, err := probeIn(from.Probe)
	if err != nil {
		return nil, err
	}
	var port *field.IntOrString
	switch {
	case p.HTTPGet != nil:
		port = &p.HTTPGet.Port
		if p.HTTPGet.Protocol == prober.HTTP1 {
			p.HTTPGet.Protocol = ""
		}
		for i, x := range p.HTTPGet.HTTPHeaders {
			if strings.EqualFold(x.Name, "Host") { // the kubelet takes host for Host, Istio's agent does not
				p.HTTPGet.HTTPHeaders[i].Name = "Host"
			}
		}
	case p.TCPSocket != nil:
		port = &p.TCPSocket.Port
	case p.GRPC != nil:
		port = &p.GRPC.Port
		if p.GRPC.Mode == prober.GRPCPlaintext {
			p.GRPC.Mode = ""
		}
	}
	if port != nil && port.IsString {
		n, named := b.g.Spec.Template.Ports[port.Str]
		if !named && from.PortErr != nil {
			return nil, fmt.Errorf("%w, and `spec.template.ports` of the group has none", from.PortErr)
		}
		*port = field.Number(cmp.Or(n, from.Port))
	}
	q := p.WithDefaults()
	return &q, q.Validate(field.NewPath("readinessProbe"))
}
