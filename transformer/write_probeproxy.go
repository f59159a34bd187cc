package transformer

import (
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// hooksFlag makes a probe-proxy that is an ordinary container wait for the
// preStop hooks of its pod. The kubelet ends all ordinary containers at the
// same time, and calls their hooks then; 10 s are enough on a busy node.
const hooksFlag = "--hooks-within=10s"

// ownedKeys are the fields of the container that the options decide. Others,
// such as volumeMounts, are kept.
var ownedKeys = []string{
	"name", "image", "imagePullPolicy", "restartPolicy", "command", "args", "env",
	"lifecycle", "startupProbe", "livenessProbe", "readinessProbe", "resources", "securityContext",
}

// podIP is the env var by which probe-proxy knows where the app listens.
var podIP = field.Map{
	{Key: "name", Value: "POD_IP"},
	{Key: "valueFrom", Value: field.Map{
		{Key: "fieldRef", Value: field.Map{{Key: "fieldPath", Value: "status.podIP"}}},
	}},
}

// localIP stands for podIP where the app listens on the loopback interface alone.
func localIP(address string) field.Map {
	return field.Map{{Key: "name", Value: "POD_IP"}, {Key: "value", Value: address}}
}

// fixedContainer returns the container probe-proxy, as far as it is the same for all templates.
//
// The container declares no ports. The kubelet needs only their numbers, and tools
// that scrape every declared port would find one more.
func fixedContainer(in *setting, native bool) field.Map {
	s := in.opts.ProbeProxy
	m := field.Map{
		{Key: "name", Value: s.Name},
		{Key: "image", Value: s.ImageToRun()},
	}
	m = field.AppendSet(m, "imagePullPolicy", s.ImagePullPolicy)
	if native {
		m = append(m, field.Entry{Key: "restartPolicy", Value: "Always"})
	}
	var args field.List
	if port := in.answerPort(); port != prober.DefaultPort {
		args = field.List{portFlag + "=" + strconv.Itoa(port)}
	}
	if in.mesh.osmForm {
		args = append(args, osmFormFlag)
	}
	if !native {
		args = append(args, hooksFlag)
	}
	if s.Body != BodyFailures {
		args = append(args, bodyFlag+"="+s.Body)
	}
	if len(args) > 0 {
		m = append(m, field.Entry{Key: "args", Value: args})
	}
	postStart := field.Entry{Key: prober.PostStart.Field(), Value: waitHook(in.answerPort())}
	m = append(m,
		field.Entry{Key: "env", Value: mergeEnv(field.List{podIP}, s.Env)},
		field.Entry{
			Key:   "lifecycle",
			Value: field.Map{postStart},
		},
	)
	if s.LivenessProbe {
		liveness := ownProbe(in, prober.HealthPath)
		liveness = append(liveness, field.Entry{Key: "timeoutSeconds", Value: livenessTimeout})
		m = append(m, field.Entry{Key: "livenessProbe", Value: liveness})
	}
	if s.ReadinessProbe {
		m = append(m, field.Entry{Key: "readinessProbe", Value: ownProbe(in, prober.ReadyPath)})
	}
	return m
}

// probeProxy returns the container that answers for the originals.
func (w *draft) probeProxy(originals string, toRewrite []*site) field.Map {
	once := &w.ordinary
	if w.native() {
		once = &w.sidecar
	}
	once.Do(func() {
		once.m = fixedContainer(w.setting, w.native())
	})
	fixed := once.m
	env := slices.Clip(field.As[field.List](fixed, "env"))
	if local := w.localAddress(toRewrite); local != "" && field.Same(env[0], podIP) { // the options may have another
		env = append(field.List{localIP(local)}, env[1:]...)
	}
	m := field.Merge(fixed, field.Map{{Key: "env", Value: append(env, envVar(originals))}})
	if v := w.probeProxyResources(w.resources, toRewrite); len(v) > 0 {
		m = append(m, field.Entry{Key: "resources", Value: v})
	}
	if len(w.context) > 0 {
		m = append(m, field.Entry{Key: "securityContext", Value: w.context})
	}
	return m
}

// livenessTimeout is in seconds: a node that is short of CPU must not make the
// kubelet restart a probe-proxy that is well.
const livenessTimeout = 10

// waitHook returns the hook that holds the next container back until probe-proxy listens.
// It is no startupProbe, because of bugs of kubelets (docs/harm.md, "Start").
func waitHook(port int) field.Map {
	command := field.List{prober.Program, prober.WaitCommand, portFlag + "=" + strconv.Itoa(port)}
	return field.Map{{Key: "exec", Value: field.Map{{Key: "command", Value: command}}}}
}

// withLifecycle returns the container with what else an existing probe-proxy has in its lifecycle.
func withLifecycle(container, existing field.Map) field.Map {
	var others field.Map
	for _, e := range field.As[field.Map](existing, "lifecycle") {
		if e.Key != prober.PostStart.Field() {
			others = append(others, e)
		}
	}
	if others == nil {
		return container
	}
	return field.Merge(container, field.Map{{Key: "lifecycle", Value: others}})
}

// ownProbe returns the handler of a probe that asks probe-proxy itself.
func ownProbe(in *setting, path string) field.Map {
	get := field.Map{{Key: "path", Value: path}, {Key: "port", Value: in.answerPort()}}
	return field.Map{{Key: "httpGet", Value: get}}
}

// envVar returns the env var that carries the originals.
func envVar(originals string) field.Map {
	return field.Map{{Key: "name", Value: prober.EnvName}, {Key: "value", Value: originals}}
}
