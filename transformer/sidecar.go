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

// nobody is the uid and gid of probe-proxy, as in distroless images.
const nobody = 65532

// portEnv is the env var of probe-proxy for its port, and portFlag the flag.
const (
	portEnv  = "PROBE_PROXY_PORT"
	portFlag = "--port"
)

// hooksFlag makes a probe-proxy that is an ordinary container wait for the
// preStop hooks of its pod. The kubelet ends all ordinary containers at the
// same time, and calls their hooks then; 10 s are enough on a busy node. Once a
// hook has come, probe-proxy no longer waits.
const hooksFlag = "--hooks-within=10s"

// sidecarDefaults returns the defaults of the container for a uid: the resources
// that docs/probe-proxy.md measures, and what the Pod Security level "restricted"
// demands. The options are merged over them.
//
// The container declares no ports. The kubelet needs only their numbers, and tools
// that scrape every declared port would find one more.
func sidecarDefaults(user int) (resources, securityContext field.Map) {
	resources = field.Map{
		{Key: "requests", Value: field.Map{{Key: "cpu", Value: "5m"}, {Key: "memory", Value: "16Mi"}}},
		{Key: "limits", Value: field.Map{{Key: "memory", Value: "32Mi"}}},
	}
	securityContext = field.Map{
		{Key: "runAsUser", Value: user},
		{Key: "runAsGroup", Value: nobody},
		{Key: "runAsNonRoot", Value: true},
		{Key: "readOnlyRootFilesystem", Value: true},
		{Key: "allowPrivilegeEscalation", Value: false},
		{Key: "capabilities", Value: field.Map{{Key: "drop", Value: field.List{"ALL"}}}},
		{Key: "seccompProfile", Value: field.Map{{Key: "type", Value: "RuntimeDefault"}}},
	}
	return resources, securityContext
}

// ownedKeys are the fields of the container that the options decide. Others,
// such as volumeMounts, are kept.
var ownedKeys = []string{
	"name", "image", "imagePullPolicy", "restartPolicy", "command", "args", "env", "startupProbe", "livenessProbe", "readinessProbe", "resources", "securityContext",
}

// check returns what is wrong with the container in every mesh.
func (s *ProbeProxy) check() error {
	switch {
	case s.Name == "":
		return errors.New("probeProxy.name must not be empty")
	case s.Image == "":
		return errors.New("probeProxy.image must not be empty")
	case s.Placement != PlacementNative && s.Placement != PlacementContainer:
		return fmt.Errorf("probeProxy.placement %q must be %s or %s", s.Placement, PlacementNative, PlacementContainer)
	}
	for _, item := range s.Env {
		if env, _ := item.(field.Map); field.As[string](env, "name") == "" {
			return errors.New("probeProxy.env must be a list of env vars, each with a name")
		}
	}
	return nil
}

// sidecarBase returns the part of the container that is the same in all
// templates.
func (p *Planner) sidecarBase(native bool) field.Map {
	s := p.opts.ProbeProxy
	resources, securityContext := sidecarDefaults(p.dialect.sidecarUser())
	m := field.Map{{Key: "name", Value: s.Name}, {Key: "image", Value: s.Image}}
	if s.ImagePullPolicy != "" {
		m = append(m, field.Entry{Key: "imagePullPolicy", Value: s.ImagePullPolicy})
	}
	if native {
		m = append(m, field.Entry{Key: "restartPolicy", Value: "Always"})
	}
	args := p.dialect.args(&p.opts)
	if !native {
		args = append(args, hooksFlag)
	}
	if len(args) > 0 {
		m = append(m, field.Entry{Key: "args", Value: args})
	}
	m = append(m,
		field.Entry{Key: "env", Value: mergeEnv(field.List{field.Map{
			{Key: "name", Value: "POD_IP"},
			{Key: "valueFrom", Value: field.Map{{Key: "fieldRef", Value: field.Map{{Key: "fieldPath", Value: "status.podIP"}}}}},
		}}, s.Env)},
		// Every second for a minute: an image on the node is up at once.
		field.Entry{Key: "startupProbe", Value: append(p.ownProbe(prober.HealthPath), field.Map{
			{Key: "periodSeconds", Value: 1},
			{Key: "failureThreshold", Value: 60},
		}...)},
	)
	if s.LivenessProbe {
		m = append(m, field.Entry{Key: "livenessProbe", Value: append(p.ownProbe(prober.HealthPath), field.Entry{Key: "timeoutSeconds", Value: livenessTimeout})})
	}
	if s.ReadinessProbe {
		m = append(m, field.Entry{Key: "readinessProbe", Value: p.ownProbe(prober.ReadyPath)})
	}
	for _, e := range []struct {
		key             string
		defaults, given field.Map
	}{{"resources", resources, s.Resources}, {"securityContext", securityContext, s.SecurityContext}} {
		if v := merge(e.defaults, e.given); len(v) > 0 {
			m = append(m, field.Entry{Key: e.key, Value: v})
		}
	}
	return m
}

// livenessTimeout is in seconds: a node that is short of CPU must not make the
// kubelet restart a probe-proxy that is well.
const livenessTimeout = 10

// ownProbe returns the handler of a probe that asks probe-proxy itself.
func (p *Planner) ownProbe(path string) field.Map {
	return field.Map{{Key: "httpGet", Value: field.Map{{Key: "path", Value: path}, {Key: "port", Value: p.dialect.healthPort(&p.opts)}}}}
}

// probeProxy returns the container that answers for the originals.
func (b *planBuilder) probeProxy(originals string) field.Map {
	p := b.p
	m := slices.Clone(p.sidecar[b.native()])
	for i := range m {
		if m[i].Key == "env" {
			env := slices.Clone(m[i].Value.(field.List))
			m[i].Value = append(env, p.envVar(originals))
		}
	}
	return m
}

// sidecarContext returns the securityContext of probe-proxy.
func (b *planBuilder) sidecarContext() field.Map {
	return field.As[field.Map](b.p.sidecar[b.native()], "securityContext")
}

// envVar returns the env var that carries the originals.
func (p *Planner) envVar(originals string) field.Map {
	return field.Map{{Key: "name", Value: p.dialect.format().EnvName}, {Key: "value", Value: originals}}
}

// probeProxyPort returns the port on which a probe-proxy listens.
func probeProxyPort(c *Container) int {
	for i, arg := range c.Args {
		v, ok := strings.CutPrefix(arg, portFlag+"=")
		if arg == portFlag && i+1 < len(c.Args) {
			v, ok = c.Args[i+1], true
		}
		if n, err := strconv.Atoi(v); ok && err == nil {
			return n
		}
	}
	for _, e := range c.Env {
		if n, err := strconv.Atoi(text(e.Value)); e.Name == portEnv && err == nil {
			return n
		}
	}
	return prober.DefaultPort
}

// isOurs reports whether we added the container: a probe-proxy is known by its
// name or its startup probe, a mesh's proxy by having only what we declare for
// it. declared is set if the template says that we declared the proxy: then its
// image may be any.
func (p *Planner) isOurs(k *originalsHolder, declared bool) bool {
	if !k.proxy {
		c := k.container
		return c.Name == p.opts.ProbeProxy.Name || c.Name == Defaults().ProbeProxy.Name ||
			c.StartupProbe != nil && c.StartupProbe.HTTPGet != nil && text(c.StartupProbe.HTTPGet.Path) == prober.HealthPath
	}
	placeholder := k.dialect.proxyPlaceholder()
	size := len(placeholder) + 1 // env
	if context, ok := k.raw.Get("securityContext"); ok && isRestrictedContext(context) {
		size++
	}
	if len(k.raw) != size || len(k.container.Env) != 1 {
		return false
	}
	for _, e := range placeholder {
		if v, _ := k.raw.Get(e.Key); v != e.Value && !(declared && e.Key == "image") {
			return false
		}
	}
	return true
}

// checkProbeProxy adds findings if probe-proxy cannot run in this pod.
func (b *planBuilder) checkProbeProxy() {
	spec := &b.in.Template.Spec
	if !b.native() {
		policy := spec.RestartPolicy
		if policy == "Never" || policy == "OnFailure" || b.in.JobLike {
			b.addFinding(NewFinding("job-never-finishes", b.spec,
				"the pod has to finish, and with probe-proxy as an ordinary container it never would; probe-proxy must be a native sidecar (`placement: native`)"))
		}
	}
	if spec.SecurityContext == nil {
		return
	}
	for _, id := range []struct {
		key   string
		value *int64
	}{{"runAsUser", spec.SecurityContext.RunAsUser}, {"runAsGroup", spec.SecurityContext.RunAsGroup}} {
		if _, set := b.sidecarContext().Get(id.key); !set && id.value != nil && *id.value == b.p.dialect.proxyID() {
			b.addFinding(NewFinding("proxy-uid", b.spec.Key("securityContext", id.key),
				"is %d, the mesh's own, and probe-proxy would inherit it; `probeProxy.securityContext.%s` must be another", *id.value, id.key))
		}
	}
}
