// Package redirection has what the mesh stand-in of the end-to-end tests knows of
// each mesh: the rules that redirect a pod's connections, and where they lead.
// test/conformance/mesh and meshes compare the rules with those of the mesh's own code.
package redirection

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.rules
var files embed.FS

// A Mesh is one whose redirection the stand-in can apply.
type Mesh struct {
	Name              string // as in `mesh:` of the functionConfig
	UID               int    // the proxy's, which is not redirected
	Inbound, Outbound int    // the proxy's ports
	Annotation        string // the pod's list of ports that are not captured
	Default           string // that list for pods without the annotation
}

// Meshes are the meshes that have rules here.
var Meshes = []Mesh{
	{Name: "istio", UID: 1337, Inbound: 15006, Outbound: 15001, Annotation: "traffic.sidecar.istio.io/excludeInboundPorts"},
	{Name: "linkerd", UID: 2102, Inbound: 4143, Outbound: 4140, Annotation: "config.linkerd.io/skip-inbound-ports", Default: "4567,4568"},
	{Name: "kuma", UID: 5678, Inbound: 15006, Outbound: 15001, Annotation: "traffic.kuma.io/exclude-inbound-ports"},
	{Name: "consul", UID: 5995, Inbound: 20000, Outbound: 15001, Annotation: "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"},
}

// Named returns the mesh of that name.
func Named(name string) (Mesh, error) {
	i := slices.IndexFunc(Meshes, func(m Mesh) bool { return m.Name == name })
	if i < 0 {
		return Mesh{}, fmt.Errorf("there are no rules of a mesh %q", name)
	}
	return Meshes[i], nil
}

// Rules returns the mesh's rules in the form of iptables-restore; the excluded
// ports are not captured.
func (m Mesh) Rules(excluded ...string) (string, error) {
	t, err := template.ParseFS(files, m.Name+".rules")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, excluded)
	return b.String(), err
}

// IPv6Rules returns the same rules in the form of ip6tables-restore.
func (m Mesh) IPv6Rules(excluded ...string) (string, error) {
	rules, err := m.Rules(excluded...)
	return strings.NewReplacer("127.0.0.1/32", "::1/128", "127.0.0.6/32", "::6/128").Replace(rules), err
}
