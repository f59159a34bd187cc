// Package reason is the registry of reason keys: what a finding is about, how
// severe it is, and what to do. Each key is in it once.
package reason

import (
	"slices"
	"strings"
)

// A Severity is one of the severities of a KRM function's results.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Rank orders severities, the worst first.
func (s Severity) Rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	}
	return 2
}

// A Doc explains a reason key to people.
type Doc struct {
	Key      string
	Severity Severity
	Cause    string // one sentence
	Cure     string // one sentence
}

// ofPlan are the reasons that a plan can have, sorted.
var ofPlan = []Doc{
	{"aims-at-probe-port", Warning, "The probe goes to the port of the rewritten probes already, and is not one of them.", "Set `port` in the functionConfig to another port, or give the probe the port of the app."},
	{"ambient", Info, "The pod has no sidecar of Istio's, and Istio's ambient mode lets the kubelet's probes through.", "Nothing to do."},
	{"annotation-invalid", Error, "An annotation that holds a boolean has a value that is none, and guessing could do the opposite of what was meant.", "Write \"true\" or \"false\"."},
	{"annotation-misplaced", Warning, "`sidecar.istio.io/rewriteAppHTTPProbers` stands on the workload, where Istio does not look.", "Move it to the pod template, or use `rewrite-probes.io/rewrite`, which works in both places."},
	{"annotations-unknown", Error, "The pod template is a pod's spec without metadata, and what is to answer the probes needs an annotation of the pods.", "Exclude the object, or set `answeredBy: probe-proxy` with the probe port that the mesh leaves alone."},
	{"container-name", Warning, "The container's name is empty, has a slash or is that of another container, so no path can name its probes.", "Give the container a name of its own."},
	{"dangling", Warning, "The probe looks rewritten, and the original that belongs to it is in no env var of the pod.", "Give the probe its original back, or the sidecar its env var."},
	{"env-unreadable", Error, "The env var with the originals of rewritten probes cannot be read, so they cannot be given back.", "Repair the value, or delete the container or env var and give the probes their originals."},
	{"handler-unknown", Warning, "The probe or hook has a field, or a value of one, that this version does not know and could not carry.", "Use a newer version of rewrite-probes, remove the field, or correct its name."},
	{"hook-never-works", Warning, "The kubelet runs httpGet, exec and sleep hooks only; any other always fails, with or without a mesh.", "Make it an httpGet or exec hook."},
	{"host-network", Info, "The pod uses the node's network, which no mesh captures.", "Nothing to do."},
	{"host-set", Warning, "The probe goes to a host of its own choice and not to the pod, so the sidecar cannot make it in the kubelet's stead.", "Remove `host`; Pod Security refuses it as well."},
	{"init-container", Warning, "Probes and hooks stand on an init container that is no native sidecar; the API server refuses that.", "Remove them, or set `restartPolicy: Always`."},
	{"inject-unclear", Warning, "`sidecar.istio.io/inject` is neither \"true\" nor \"false\", and Istio does as if it were not there.", "Write \"true\" or \"false\"."},
	{"injection-off", Info, "The template switches the injection of the mesh's proxy off, so nothing captures its probes.", "Nothing to do."},
	{"injector-rewrites", Info, "The functionConfig says that Istio's injector rewrites the probes of the pods that it injects.", "Take `istio.injectorRewrites` out of the functionConfig to have the probes rewritten in the manifests."},
	{"istio-opt-out", Info, "The template has `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"`.", "Remove the annotation to have the probes rewritten."},
	{"job-never-finishes", Error, "The pod is to finish, and an ordinary container probe-proxy would keep it running.", "Set `probeProxy.placement: native`."},
	{"linkerd", Info, "The pod is in Linkerd's mesh, which lets the kubelet's probes through.", "Nothing to do."},
	{"name-taken", Error, "A container of the app has the name of the container to be added.", "Set `probeProxy.name`, or rename the container."},
	{"namespace-not-injected", Info, "The namespace is one where the mesh injects no proxy, so nothing captures the probes.", "Nothing to do."},
	{"no-network", Info, "The handler is exec or sleep: the kubelet runs it in the container, and the mesh does not see it.", "Nothing to do."},
	{"not-one-handler", Warning, "The probe or hook has no handler or several; the API server refuses that.", "Give it exactly one."},
	{"not-rewritten", Info, "There is nothing to restore: the probe is not a rewritten one.", "Nothing to do."},
	{"not-selected", Info, "The functionConfig's `rewrite` does not name this kind of handler.", "Add it to `rewrite`."},
	{"not-sidecar-template", Info, "`inject.istio.io/templates` has Istio inject something that captures no connections, such as grpc-agent or a gateway, so the probes work as they are.", "Nothing to do."},
	{"opt-out", Info, "The template, the workload or its Namespace has `rewrite-probes.io/rewrite: \"false\"`.", "Remove the annotation to have the probes rewritten."},
	{"originals-ambiguous", Error, "The probe looks rewritten, and which of the originals that the template carries is its own cannot be known; another run would remove them.", "Give the probe the path of its original, or the original back, or remove what carries the wrong one."},
	{"osm-injector", Warning, "Open Service Mesh injects its proxy into the pod and rewrites the probes itself; those that are rewritten already it sends to themselves.", "Leave the object to the injector with `rewrite-probes.io/rewrite: \"false\"`, or switch the injection off with `openservicemesh.io/sidecar-injection: disabled`."},
	{"osm-no-form", Warning, "In the dialect osm neither grpc probes nor hooks are rewritten; under strict mTLS the probe fails.", "Make it exec, or exclude the port with `openservicemesh.io/inbound-port-exclusion-list`."},
	{"osm-one-https", Warning, "In the dialect osm one port passes all HTTPS probes of one type on, and another of them goes to another port of the app.", "Give the probes of that type the same port, or make one HTTP or exec."},
	{"port-collision", Error, "Istio's sidecar answers on its status port in this pod, and probe-proxy was to listen there too.", "Set `answeredBy: istio-proxy`, or `port` to another port."},
	{"port-invalid", Warning, "The probe's port is missing or not between 1 and 65535.", "Write the port of the app."},
	{"port-list-invalid", Warning, "An annotation that lists ports holds something else, and the mesh refuses such pods.", "Write port numbers joined by commas."},
	{"port-not-captured", Info, "The mesh does not capture the probe's port, so the probe works as it is.", "Nothing to do."},
	{"port-taken", Error, "A container of the app declares the port where rewritten probes are answered.", "Set `port` in the functionConfig to another port."},
	{"port-unresolved", Warning, "The probe names a port that its container does not have; the kubelet cannot make it with or without a mesh.", "Declare the port under `ports` of the same container, or write its number."},
	{"post-start-order", Warning, "The hook runs before the next container starts, and it is not known whether istio-proxy is up by then.", "Hold the application until the proxy starts, or use native sidecars."},
	{"probe-port-captured", Error, "The template has the mesh capture the port of probe-proxy, so that the kubelet could not reach it.", "Take the port out of `traffic.sidecar.istio.io/includeInboundPorts`."},
	{"probes-made-elsewhere", Info, "The kind's controller makes other probes for the pods of those in the template: Knative Serving's queue-proxy makes readiness probes inside the pod, and liveness probes get the port of the app whatever port they name.", "Leave the rewriting to Istio's injector, which sees the pod as it is; do not set `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` there."},
	{"proxy-cannot-answer", Warning, "The probe is gRPC over TLS or HTTP/2 without TLS (Kubernetes 1.37), which the mesh's proxy, where it answers, cannot make.", "Set `answeredBy: probe-proxy`, which can."},
	{"proxy-container", Info, "The container is the mesh's own proxy, whose ports the mesh does not capture.", "Nothing to do."},
	{"proxy-in-init-containers", Warning, "An istio-proxy with `image: auto` stands under initContainers; an injector in ordinary mode adds a second one, which the API server refuses.", "Declare it under `containers`."},
	{"proxy-uid", Error, "probe-proxy would run under the uid or gid of the mesh's proxy, whose connections to the app are treated otherwise.", "Set `probeProxy.securityContext.runAsUser` or `runAsGroup`."},
	{"scheme-invalid", Warning, "The probe's scheme is neither HTTP nor HTTPS; the API server refuses that.", "Write HTTP or HTTPS, in capitals."},
	{"skipped-container", Info, "The annotation `rewrite-probes.io/skip-containers` names the container.", "Take it out of the annotation to have its probes rewritten."},
	{"starts-before-answerer", Warning, "The native sidecar starts before the container that answers rewritten probes, and the pod would wait for it for ever.", "Use probe-proxy with `placement: native`, which starts first."},
	{"status-port-invalid", Error, "`status.sidecar.istio.io/port` is no port on which Istio's sidecar could answer rewritten probes.", "Write a port that is free, or remove the annotation."},
	{"timeout-invalid", Warning, "The probe's timeout is negative or too large; the API server refuses that.", "Write the timeout in seconds."},
	{"unknown-container", Warning, "`rewrite-probes.io/skip-containers` names a container that the pod does not have.", "Correct the name."},
	{"unknown-template", Warning, "`inject.istio.io/templates` names templates of the mesh's own and not `sidecar`, so it is not known whether an istio-proxy answers in the pod.", "Add `sidecar` to the list, or declare the container istio-proxy with `image: auto` in the pod template."},
	{"windows", Info, "The pod runs on Windows, where no mesh has a sidecar.", "Nothing to do."},
}

// ofRun are the reasons that only a whole run can have, sorted.
var ofRun = []Doc{
	{"envoy-config", Info, "The ConfigMap that tells Envoy of the probes was added, changed or taken away.", "Nothing to do."},
	{"envoy-config-stale", Warning, "The probes are rewritten, but the ConfigMap that tells Envoy of them is not in the same file or list, or says something else.", "Run rewrite-probes over the manifest again."},
	{"envoy-config-taken", Error, "An object of the name that is needed for what Envoy is told is there already, and is none of ours.", "Rename it, or give it the label `app.kubernetes.io/managed-by: rewrite-probes` to have it replaced."},
	{"envoy-unfit", Error, "The object has several pod templates or no name, so no ConfigMap can be its own.", "Use `answeredBy: probe-proxy` for it."},
	{"helm-template", Warning, "A file below a folder is no YAML yet, but a Helm template.", "Render the chart and pipe the result through rewrite-probes, or use it as Helm's post-renderer."},
	{"injection-assumed", Warning, "With `answeredBy: auto` who answers depends on whether Istio injects its sidecar, and neither the pod template nor a Namespace among the manifests says it.", "Set `answeredBy`, list the namespaces under `istio.injectedNamespaces` of the functionConfig (an empty list where there is no Istio), or give the Namespace too."},
	{"invalid-manifest", Error, "The object is not what the API server would take: a field has the wrong type, or a key stands twice.", "Fix the field that the message names."},
	{"kind-misspelt", Warning, "The API server has no such kind in that group, and one that makes pods has nearly the same name.", "Write the kind that the message proposes."},
	{"no-manifest", Info, "A file below a folder holds no Kubernetes object: it is empty, a list, or has no kind.", "Nothing to do."},
	{"patch", Warning, "A kustomize patch is no whole object: the container that answers its probes must know those of the object that it is merged into.", "Use rewrite-probes as a kustomize function, or pipe the output of kustomize build through it."},
	{"patch-without-probes", Info, "A kustomize patch that changes no probe is no whole object, and is passed over.", "Nothing to do."},
	{"path-finds-nothing", Warning, "An entry of `podTemplates` names a kind of which there are objects, and finds a pod template in none of them.", "Correct the path: it must lead to a mapping with `spec`, or with a list `containers`."},
	{"restored", Info, "The probe was given back its original handler.", "Nothing to do."},
	{"rewritten", Info, "The probe or hook was rewritten.", "Nothing to do."},
	{"unknown-kind", Warning, "An object of a kind that is not known holds something that looks like a container with probes.", "If pods get these probes as they are, name the kind and the path under spec.podTemplates of the functionConfig, as the message shows; else exclude the object, and rewrite what is made of it."},
	{"unreadable", Error, "A file, or stdin, cannot be read as Kubernetes manifests: it is missing, no UTF-8 text, no YAML, or holds something else.", "Fix the line that the message names; `--ignore` leaves files out."},
	{"unreleased-image", Info, "This build of rewrite-probes is no release, so that no image of probe-proxy belongs to it, and the one that is written is that of the release to come.", "Set `probeProxy.image` in the functionConfig, or use a release."},
	{"unseen-probe", Warning, "An object holds something that looks like a container with probes outside its known pod templates, such as an ephemeral container or a second template.", "Remove the probes, or name the path under spec.podTemplates of the functionConfig, as the message shows."},
	{"would-fail", Error, "Found by check: the probe or hook fails under strict mTLS, because nobody rewrote it.", "Run rewrite-probes over the manifest; with kustomize, give --enable-alpha-plugins and --enable-exec, without which an exec function is passed over silently."},
	{"would-falsely-pass", Error, "Found by check: the tcpSocket probe reaches the mesh's proxy instead of the app, and passes whether or not the app listens.", "Run rewrite-probes over the manifest; with kustomize, give --enable-alpha-plugins and --enable-exec, without which an exec function is passed over silently."},
	{"written-anew", Warning, "Lines were changed that hold no probe: an alias was written out because its anchor has another value now, or the YAML is too unusual to change single lines. No value is different, but comments and quotes may be.", "Look at the named lines in the diff; write them without aliases or in a plainer form of YAML."},
}

// OfPlan returns the reasons that a plan for one pod template can have.
func OfPlan() []Doc { return slices.Clone(ofPlan) }

// OfRun returns the reasons that only a whole run can have.
func OfRun() []Doc { return slices.Clone(ofRun) }

// All returns every reason, sorted by key.
func All() []Doc {
	all := append(OfPlan(), ofRun...)
	slices.SortFunc(all, func(a, b Doc) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// SeverityOf returns the severity of a reason; "" for a key that is none.
func SeverityOf(key string) Severity {
	for _, list := range [][]Doc{ofPlan, ofRun} {
		if i, found := slices.BinarySearchFunc(list, key, func(d Doc, key string) int { return strings.Compare(d.Key, key) }); found {
			return list[i].Severity
		}
	}
	return ""
}
