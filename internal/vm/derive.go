package vm

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// derive takes the probe from the workload that the annotation names. If the
// group has none, or the one that an earlier run took, it becomes the group's.
func (b *builder) derive() {
	ref, set := b.g.Metadata.Annotations.Lookup(fromAnnotation)
	if !set {
		return
	}
	path := annotationPath(fromAnnotation)
	workload, from, err := b.find(ref)
	if err == nil {
		b.derived, err = b.translate(from)
		if err != nil {
			err = fmt.Errorf("%s, container %q: %w", workload.Name, from.Container, err)
		}
	}
	if err != nil {
		b.add("vm-source-unknown", path, "%q: %v", ref, err).Current = ref
		return
	}
	b.derived = effective(b.derived)
	switch {
	case b.original != nil && reflect.DeepEqual(effective(b.original), b.derived):
	case b.original == nil || b.isDerived():
		b.writesDerived, b.original = true, b.derived
	default:
		b.add("vm-source-differs", probePath, "is %s, but %s, container %q, has %s; one of them must go, or the annotation `%s`",
			inJSON(effective(b.original)), workload.Name, from.Container, inJSON(b.derived), fromAnnotation)
		return
	}
	if b.derived.Exec != nil {
		b.add("vm-source-exec", path, "%q has an exec probe, whose command %q must be on the machine as it is in the container", ref, b.derived.Exec.Command)
	}
}

// find returns the readiness probe that a reference names, and its workload.
func (b *builder) find(ref string) (w Workload, from *transformer.OriginalProbe, err error) {
	parts := strings.Split(ref, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return w, nil, fmt.Errorf("must be KIND/NAME or KIND/NAME/CONTAINER, such as Deployment/reviews")
	}
	all := b.g.Workloads(parts[0], parts[1])
	switch {
	case len(all) == 0:
		return w, nil, fmt.Errorf("the input has no workload of that kind and name in the group's namespace")
	case len(all) > 1:
		return w, nil, fmt.Errorf("the input has %d workloads of that kind and name in the group's namespace; there must be one", len(all))
	case all[0].Err != nil:
		return w, nil, fmt.Errorf("the probes of %s cannot be known: %w", all[0].Name, all[0].Err)
	}
	w = all[0]
	var probes []transformer.OriginalProbe
	var containers []string
	for _, p := range w.Probes {
		if len(parts) == 2 || p.Container == parts[2] {
			probes = append(probes, p)
		}
		containers = append(containers, fmt.Sprintf("%q", p.Container))
	}
	switch {
	case len(probes) == 1:
		return w, &probes[0], nil
	case len(containers) == 0:
		return w, nil, fmt.Errorf("%s has no readinessProbe", w.Name)
	case len(probes) == 0:
		return w, nil, fmt.Errorf("%s has no container %q with a readinessProbe, only %s", w.Name, parts[2], strings.Join(containers, ", "))
	}
	return w, nil, fmt.Errorf("%s has %d readiness probes, of %s; the annotation must name the container: %s/CONTAINER", w.Name, len(containers), strings.Join(containers, ", "), strings.Join(parts[:2], "/"))
}

// translate returns a container's probe in the form of a group's.
func (b *builder) translate(from *transformer.OriginalProbe) (*vmconfig.Probe, error) {
	p := vmconfig.DefaultProbe()
	for key, n := range map[string]*int{
		"initialDelaySeconds": &p.InitialDelaySeconds, timeoutSeconds: &p.TimeoutSeconds, "periodSeconds": &p.PeriodSeconds,
		"successThreshold": &p.SuccessThreshold, "failureThreshold": &p.FailureThreshold,
	} {
		if v := field.As[int](from.Timing, key); v != 0 {
			*n = v
		}
	}
	h := from.Handler
	if h.Kind() == "" || h.Sleep != nil {
		return nil, fmt.Errorf("its probe must have exactly one handler, and has %s", h)
	}
	var err error
	switch {
	case h.HTTPGet != nil:
		request := *h.HTTPGet
		if request.Protocol != "" && request.Protocol != prober.HTTP1 {
			return nil, fmt.Errorf("its probe has `httpGet.protocol: %s`, which a WorkloadGroup cannot have", request.Protocol)
		}
		request.Protocol, request.HTTPHeaders = "", headers(&request)
		p.HTTPGet = &request
		p.HTTPGet.Port, err = b.resolve(h.HTTPGet.Port, from)
	case h.TCPSocket != nil:
		p.TCPSocket = &prober.TCPSocket{Host: h.TCPSocket.Host}
		p.TCPSocket.Port, err = b.resolve(h.TCPSocket.Port, from)
	case h.GRPC != nil:
		p.GRPC = &prober.GRPC{Service: h.GRPC.Service}
		if h.GRPC.Mode != "" && h.GRPC.Mode != prober.GRPCPlaintext {
			return nil, fmt.Errorf("its probe has `grpc.mode: %s`, which a WorkloadGroup cannot have", h.GRPC.Mode)
		}
		p.GRPC.Port, err = b.resolve(h.GRPC.Port, from)
	case h.Exec != nil:
		p.Exec = (*vmconfig.Exec)(h.Exec)
	}
	return &p, err
}

// headers returns the headers of a request. The kubelet takes host for Host,
// Istio's agent does not.
func headers(h *transformer.HTTPGet) []transformer.HTTPHeader {
	var all []transformer.HTTPHeader
	for _, x := range h.HTTPHeaders {
		if strings.EqualFold(x.Name, "Host") {
			x.Name = "Host"
		}
		all = append(all, x)
	}
	return all
}

// resolve returns the number of a port, which may be named in the group's
// template or in the container.
func (b *builder) resolve(port field.IntOrString, from *transformer.OriginalProbe) (field.IntOrString, error) {
	if !port.IsString {
		return port, nil
	}
	if n, found := b.g.Spec.Template.Ports[port.Str]; found {
		return field.Number(n), nil
	}
	for _, p := range from.Ports {
		if p.Name == port.Str {
			return field.Number(p.ContainerPort), nil
		}
	}
	return port, fmt.Errorf("its probe names the port %q, which neither `spec.template.ports` of the group nor the container has", port.Str)
}
