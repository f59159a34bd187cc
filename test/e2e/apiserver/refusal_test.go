package apiserver

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// refusals lists the reasons for which rewrite-probes may refuse a workload that
// the API server accepts. Each has the condition that the workload must meet,
// repeated here in terms of the API.
var refusals = map[string]func(template podTemplate) bool{
	"annotation-invalid": func(p podTemplate) bool {
		value, set := p.Metadata.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"]
		_, err := strconv.ParseBool(value)
		return set && err != nil
	},
	// istio-proxy cannot make such a probe, or its author leaves it alone, and the manifest
	// does not say that the injector does; or only Istio's injector serves it: a tcpSocket probe with
	// a host, and a tcpSocket hook.
	"rewriter-needed": func(p podTemplate) bool {
		// Their webhooks come before Istio's.
		hasMore := p.Metadata.Annotations["dapr.io/enabled"] == "true" || p.Metadata.Annotations["sidecar.opentelemetry.io/inject"] == "true"
		return hasMore || p.Metadata.Annotations["rewrite-probes.io/skip-containers"] != "" || slices.ContainsFunc(p.Spec.Containers, func(c container) bool {
			isIstios := func(p probe) bool { return p.HTTPGet.Protocol != "" || p.TCPSocket.Host != "" }
			hasHook := c.Lifecycle.PostStart.TCPSocket.Port != nil || c.Lifecycle.PreStop.TCPSocket.Port != nil
			return hasHook || slices.ContainsFunc(c.probes(), isIstios)
		})
	},
	// Who edited the pod template has left a part of an original alone.
	"original-replaced": func(p podTemplate) bool {
		return p.Metadata.Annotations["rewrite-probes.io/originals"] != ""
	},
	// istio-proxy answers where the pod's own configuration has moved it, and that is captured.
	"probe-port-captured": func(p podTemplate) bool {
		return strings.Contains(p.Metadata.Annotations["proxy.istio.io/config"], "statusPort:")
	},
	// Open Service Mesh's proxy, and not ours, answers on these ports of a pod that has it already.
	"port-taken": func(p podTemplate) bool {
		return p.meshes()["openservicemesh.io"] && slices.ContainsFunc(p.Spec.Containers, func(c container) bool {
			return slices.ContainsFunc(c.probes(), func(p probe) bool {
				port, _ := p.HTTPGet.Port.(int)
				return 15901 <= port && port <= 15904
			})
		})
	},
	"name-taken": func(p podTemplate) bool {
		isTaken := func(c container) bool { return c.Name == "probe-proxy" }
		return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), isTaken)
	},
	"two-meshes":    func(p podTemplate) bool { return len(p.meshes()) > 1 },
	"options-unfit": func(p podTemplate) bool { return len(p.meshes()) == 1 && !p.meshes()["istio.io"] },
	"port-list-unreadable": func(p podTemplate) bool {
		for _, key := range []string{"config.linkerd.io/skip-inbound-ports", "traffic.sidecar.istio.io/excludeInboundPorts"} {
			for port := range strings.SplitSeq(p.Metadata.Annotations[key], ",") {
				if _, err := strconv.Atoi(strings.TrimSpace(port)); err != nil && port != "" {
					return true
				}
			}
		}
		return false
	},
}

// meshes returns the meshes that are named in the template's labels and
// annotations, by their domain, and Open Service Mesh if its proxy is in the pod.
func (p podTemplate) meshes() map[string]bool {
	found := make(map[string]bool)
	if slices.ContainsFunc(p.Spec.Containers, func(c container) bool { return c.Name == "envoy" }) {
		found["openservicemesh.io"] = true
	}
	for _, keys := range []map[string]string{p.Metadata.Labels, p.Metadata.Annotations} {
		for key := range keys {
			for _, mesh := range []string{"istio.io", "linkerd.io", "kuma.io", "consul.hashicorp.com", "openservicemesh.io", "flomesh.io"} {
				if domain, _, _ := strings.Cut(key, "/"); strings.HasSuffix(domain, mesh) {
					found[mesh] = true
				}
			}
		}
	}
	return found
}

// podTemplate is the part of a pod template that says whether it is refused.
type podTemplate struct {
	Metadata struct{ Labels, Annotations map[string]string }
	Spec     struct {
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
	}
}

type container struct {
	Name  string
	Ports []struct {
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PostStart probe `yaml:"postStart"`
		PreStop   probe `yaml:"preStop"`
	}
}

func (c container) probes() []probe {
	return []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe}
}

type probe struct {
	HTTPGet struct {
		Protocol string
		Port     any
	} `yaml:"httpGet"`
	TCPSocket struct {
		Host string
		Port any
	} `yaml:"tcpSocket"`
}

// failureReason is the reason key at the end of an error of rewrite-probes.
var failureReason = regexp.MustCompile(`(?m)^error: .* \[([a-z-]+)\]$`)

// notAllowed returns why a refusal is not allowed; "" if it is.
func notAllowed(o object, refusal error) string {
	reasons := failureReason.FindAllStringSubmatch(refusal.Error(), -1)
	if len(reasons) == 0 {
		return "names no reason"
	}
	text := o.text
	if pod, ok := o.pod(); ok {
		text = pod.text
	}
	var template podTemplate
	if err := yaml.Unmarshal(text, &template); err != nil {
		return err.Error()
	}
	for _, r := range reasons {
		if allowed := refusals[r[1]]; allowed == nil || !allowed(template) {
			return fmt.Sprintf("is not allowed for the reason %s", r[1])
		}
	}
	return ""
}
