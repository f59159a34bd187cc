package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Problem is an option that does not fit the mesh.
type Problem struct {
	Path field.Path // in the spec of the functionConfig: probeProxy.name
	Text string     // begins with the value
}

// Problems returns what does not fit the mesh of the options: who answers, the
// port, a uid or gid, and names that belong to a mesh or to us. If the mesh is
// found out for each template, the options must fit Istio, because a template
// that names no mesh is rewritten for Istio.
func Problems(o *Options) []Problem {
	return problemsIn(o, meshOf(o))
}

// meshOf returns the mesh of the options. If each template has its own, it is that of
// templates that name none.
func meshOf(o *Options) *serviceMesh {
	if o.Mesh == MeshAuto {
		return serviceMeshes[0]
	}
	return meshNamed(o.Mesh)
}

// problemsIn returns what does not fit a mesh.
func problemsIn(o *Options, d *serviceMesh) []Problem {
	var problems []Problem
	add := func(at field.Path, format string, args ...any) {
		problems = append(problems, Problem{at, fmt.Sprintf(format, args...)})
	}
	if all := d.answerers(); !slices.Contains(all, o.AnsweredBy) {
		in := "with `mesh: " + d.name + "`"
		if o.Mesh == MeshAuto {
			in = "in " + d.title
		}
		hint := ""
		if o.AnsweredBy == AnsweredByEnvoy {
			hint = "; an Envoy answers only with `mesh: " + openServiceMesh.name + "`"
		}
		add(
			field.NewPath("answeredBy"),
			"%q must be %s %s%s",
			o.AnsweredBy,
			field.Enumerate(all, "or"),
			in,
			hint,
		)
	}
	switch {
	case slices.Contains(d.reserved, o.Port):
		add(
			field.NewPath("port"),
			"\"%d\" is one of %s's own ports (%s) and must be another",
			o.Port,
			d.title,
			joinPorts(d.reserved),
		)
	case d.port != 0 && o.Port != prober.DefaultPort:
		add(field.NewPath("port"), "\"%d\" must not be given: in this mesh it is always %d", o.Port, d.port)
	}
	for _, x := range serviceMeshes {
		if x.isProxy(&pod.Container{Name: o.ProbeProxy.Name}) &&
			(x == d || !x.commonName) {
			add(field.NewPath("probeProxy", "name"), "%q is the name of %s's own sidecar; choose another", o.ProbeProxy.Name, x.title)
		}
	}
	for _, key := range []string{"runAsUser", "runAsGroup"} {
		if v, _ := o.ProbeProxy.SecurityContext.Get(key); v == int(d.uid) {
			add(field.NewPath("probeProxy", "securityContext", key), "\"%d\" must not be the id of %s's own proxy, whose connections do not reach the app", v, d.title)
		}
	}
	for i, item := range o.ProbeProxy.Env {
		env, _ := item.(field.Map)
		name := field.As[string](env, "name")
		if name == prober.EnvName {
			add(field.NewPath("probeProxy").Item("env", i).Key("name"), "%q is written by rewrite-probes itself", name)
		}
	}
	return problems
}
