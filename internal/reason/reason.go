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

// ranked are the severities, the worst first.
var ranked = []Severity{Error, Warning, Info}

// Rank orders severities, the worst first.
func (s Severity) Rank() int { return slices.Index(ranked, s) }

// A Doc explains a reason key to people.
type Doc struct {
	Key      string
	Severity Severity
	Cause    string // in full sentences
	Cure     string // in full sentences
}

// OfPlan are the reasons that a plan for one pod template can have, sorted.
var OfPlan = []Doc{
	{"aims-at-probe-port", Warning, "The probe already goes to the port of the rewritten probes, but is not one of them.", "Give the probe the port of the app, or set `port` in the functionConfig to another port; with `answeredBy: istio-proxy`, where `port` says where Istio's sidecar listens, set `answeredBy: probe-proxy` instead."},
	{"ambient", Info, "The pod is in Istio's ambient mode, without a sidecar. On the node, Istio's CNI agent gives the kubelet's connections the source address 169.254.7.127, which ztunnel lets through.", "Allow that address (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff) in NetworkPolicies; with Calico's eBPF mode use Calico 3.29 or later."},
	{"ambient-network-policy", Warning, "The pod is in Istio's ambient mode, and a NetworkPolicy among the manifests keeps out 169.254.7.127, the address from which the kubelet's probes come there. So the probes fail, unless the cluster's network plugin makes an exception.", "Add a rule with `from: [{ipBlock: {cidr: 169.254.7.127/32}}]` (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128) for the ports of the probes."},
	{"annotation-invalid", Error, "The value of a boolean annotation is neither true nor false. A guess could do the opposite of what was meant.", "Write \"true\" or \"false\"."},
	{"annotation-misplaced", Warning, "`sidecar.istio.io/rewriteAppHTTPProbers` is on the workload, where Istio does not read it.", "Move it to the pod template, or use `rewrite-probes.io/rewrite`, which works in both places."},
	{"annotations-unknown", Error, "The pod template is a pod spec without metadata, so the annotation that the answerer needs has no place.", "Exclude the object, or name the namespaces of the mesh under `istio.injectedNamespaces` if its own, which `metadata.namespace` must say, is not among them."},
	{"consul-uid", Warning, "Consul redirects what probe-proxy sends to the pod's own IP, so its tcpSocket probes pass whether or not the app listens.", "Leave `probeProxy.securityContext.runAsUser` at 5996, the uid of Consul's own init containers, or add its uid to the annotation `consul.hashicorp.com/transparent-proxy-exclude-uids`."},
	{"container-name", Warning, "The container's name is empty, contains a slash, or is used twice, so no path can name its probes.", "Give the container a unique name without a slash."},
	{"dangling", Warning, "The probe looks rewritten, but no env var of the pod has its original.", "Put the original probe back, or add its entry to the env var of the sidecar."},
	{"env-unreadable", Error, "The env var with the original probes cannot be read, so the originals cannot be restored.", "Correct the value, or delete the container or env var and write the original probes."},
	{"excluded-port", Info, "The app answers the probe itself (`answeredBy: app`), on a port that an annotation keeps out of the mesh.", "Nothing to do."},
	{"exec-workaround", Info, "The exec probe runs curl, wget, nc or grpc_health_probe against its own pod, as was needed while a mesh refused the kubelet's requests. It needs a shell or a tool in the image and starts a process each time.", "Write the probe that the message names (the proposed value) and run rewrite-probes: probe-proxy or the mesh's proxy then makes it inside the pod. The app must listen on the pod's IP."},
	{"fsm-injector", Warning, "Flomesh Service Mesh's injector rewrites the probes of this pod itself and would send rewritten ones to themselves. It leaves grpc probes and hooks to fail, and its proxy makes only the first container's probe of each type.", "Make grpc probes and hooks exec, or turn off the injection with `flomesh.io/sidecar-injection: disabled` and put the proxy into the manifest."},
	{"handler-unknown", Warning, "The probe or hook has a field or a value that this version does not know and could not preserve.", "Use a newer version of rewrite-probes, remove the field, or correct its name."},
	{"hook-never-works", Warning, "The kubelet runs httpGet, exec and sleep hooks only; any other always fails, with or without a mesh.", "Make it an httpGet or exec hook."},
	{"host-network", Info, "The pod uses the node's network, which no mesh captures.", "Nothing to do."},
	{"host-set", Warning, "The probe goes to the `host` that it names, not to the pod, so the sidecar cannot make it for the kubelet.", "Remove `host`; Pod Security refuses it as well."},
	{"ingress-health-check", Warning, "The Ingress controllers of GKE and of Azure's Application Gateway take the health check of their load balancer from the probe as long as it goes to the port of the Service. Of the rewritten probe they do not, and ask for / instead.", "Write the path of the probe in a BackendConfig with `healthCheck` that the Service's annotation `cloud.google.com/backend-config` names, or in Azure in the Ingress' annotation `appgw.ingress.kubernetes.io/health-probe-path`."},
	{"init-container", Warning, "An init container that is not a native sidecar has probes or hooks; the API server refuses that.", "Remove them, or set `restartPolicy: Always`."},
	{"inject-unclear", Warning, "The switch of a mesh's injection has a value that the mesh does not know.", "Write one of the values that the message names."},
	{"injection-off", Info, "The template turns off the injection of the mesh's proxy, so nothing captures its probes.", "Nothing to do."},
	{"injector-rewrites", Info, "Istio's injector rewrites the probes of this pod, as the annotation `sidecar.istio.io/rewriteAppHTTPProbers` or the functionConfig says.", "Nothing to do; to have the probes rewritten in the manifests, remove the annotation, or `istio.injectorRewrites` from the functionConfig."},
	{"interception-none", Info, "Istio's redirection is off for this pod (`interceptionMode: NONE`), so that the kubelet's connections reach the app as they are.", "Nothing to do."},
	{"istio-opt-out", Info, "The template has `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"`.", "Remove the annotation to have the probes rewritten."},
	{"job-exit-codes", Info, "A rule of the Job's podFailurePolicy has no containerName, so it counts the exit code of every container. probe-proxy ends with 0, which no rule matches, unless it is killed: out of memory, or by a node that does not wait.", "Name the container in the rule."},
	{"job-never-finishes", Error, "The pod has to finish, but probe-proxy as an ordinary container would keep it running.", "Set `probeProxy.placement: native`."},
	{"job-restarts", Info, "The Job has a backoffLimit of 0 and restarts containers on failure, so it fails after the first restart of any container, that of probe-proxy too.", "Set `backoffLimit` to 1 or more, or `restartPolicy: Never`."},
	{"kuma-host", Warning, "Kuma 2.13 and 2.14 redirect the kubelet to the host of the probe's Host header, and the kubelet takes a redirect to another host for success.", "Remove the header, or make the probe exec; Kuma 2.12 and before, and version 3, are not affected."},
	{"name-taken", Error, "A container of the app already has the name of the container that would be added.", "Set `probeProxy.name`, or rename the container."},
	{"namespace-limits", Warning, "A LimitRange or ResourceQuota among the manifests does not accept the container probe-proxy, so the API server would refuse the pods.", "Set `probeProxy.resources` in the functionConfig as the message says, or raise the limit of the namespace."},
	{"namespace-not-injected", Info, "The mesh injects no proxy in this namespace, so nothing captures the probes.", "Nothing to do; if another proxy captures them, set `answeredBy: probe-proxy`."},
	{"no-network", Info, "The handler is exec or sleep: the kubelet runs it in the container, and no connection of the kubelet's reaches the mesh. What the command itself calls may go through the mesh.", "Nothing to do."},
	{"not-one-handler", Warning, "The probe or hook has no handler, or more than one; the API server refuses that.", "Write exactly one handler."},
	{"not-rewritten", Info, "The probe is not rewritten, so there is nothing to restore.", "Nothing to do."},
	{"not-selected", Info, "The functionConfig's `rewrite` does not name this kind of handler.", "Add it to `rewrite`."},
	{"not-sidecar-template", Info, "`inject.istio.io/templates` makes Istio inject a template that captures no connections, such as grpc-agent or a gateway, so the probes work as they are.", "Nothing to do."},
	{"opt-out", Info, "The template, the workload or its Namespace has `rewrite-probes.io/rewrite: \"false\"`.", "Remove the annotation to have the probes rewritten."},
	{"options-unfit", Error, "With `mesh: auto` the pod is in a mesh that the functionConfig's `answeredBy`, `port` or `probeProxy` does not fit.", "Change the option that the message names, or leave the object out with `exclude`."},
	{"original-replaced", Error, "The template carries the original of a probe that was rewritten, and the probe is neither the rewritten one nor the original any more. Going on would lose the original.", "Give the probe its rewritten path or its original back. If the new probe is meant, remove the original's entry from the env var of the container that the message names. A probe that is deleted needs no entry."},
	{"originals-ambiguous", Error, "The probe looks rewritten, but the template does not tell which of the originals is its own. Rewriting would lose them.", "Give the probe the path of its original, write the original probe, or remove the wrong original."},
	{"osm-injector", Warning, "Open Service Mesh's injector rewrites the probes of this pod itself and would send rewritten ones to themselves. It leaves grpc probes and hooks to fail.", "Make grpc probes and hooks exec, or turn off the injection with `openservicemesh.io/sidecar-injection: disabled` and put the proxy into the manifest."},
	{"other-mesh", Warning, "A label or an annotation puts the pod into another mesh than the functionConfig's `mesh`.", "Set `mesh: auto`, or leave the object out with `exclude`."},
	{"pod-level-resources", Warning, "The pod has resources of its own, and one of them is missing. Kubernetes 1.37 fills it in from those of the containers, a limit only if every container has one, so that another container changes it, and may change the pod's QoS class.", "Write requests and limits of cpu and memory under the pod's `resources`."},
	{"port-collision", Error, "In an injected pod Istio's sidecar listens on its status port, and probe-proxy would listen on the same port.", "Remove `port` from the functionConfig, or set it to another port."},
	{"port-exposed", Error, "With `answeredBy: app` the mesh would no longer capture the probe's port, and a Service leads to it: its traffic would lose mTLS and every policy of the mesh.", "Let probe-proxy answer this workload (`answeredBy: probe-proxy`), or give the probe a port of its own that no Service leads to."},
	{"port-exposed-elsewhere", Warning, "With `answeredBy: app` the mesh no longer captures the probe's port. A Service in another branch of the folders leads to it, if that branch is about the same cluster: its traffic then loses mTLS and every policy of the mesh.", "Run rewrite-probes on one stream of all that is applied together. If the Service is about the same cluster, let probe-proxy answer this workload (`answeredBy: probe-proxy`)."},
	{"port-invalid", Warning, "The probe's port is missing or not between 1 and 65535.", "Write the port of the app."},
	{"port-list-invalid", Warning, "The value of an annotation that lists ports is not a list of ports; the mesh refuses such pods.", "Write port numbers joined by commas."},
	{"port-list-unreadable", Error, "An annotation that lists the ports which the mesh does not capture cannot be read, so the port of the rewritten probes cannot be added to it.", "Write port numbers joined by commas; for Linkerd also ranges, such as 4000-4999."},
	{"port-not-captured", Info, "The mesh does not capture the probe's port, so the probe works as it is.", "Nothing to do."},
	{"port-taken", Error, "A container of the app declares the port where rewritten probes are answered, or one of its probes goes there.", "Set `port` in the functionConfig to another port; with `answeredBy: istio-proxy`, where `port` says where Istio's sidecar listens, set `answeredBy: probe-proxy` instead."},
	{"port-unresolved", Warning, "The probe names a port that its container does not have, or is a grpc probe, whose port must be a number. So it fails with or without a mesh.", "Declare the port under `ports` of the same container, or write its number."},
	{"post-start-order", Error, "The hook runs before the next container starts, and istio-proxy, which is to answer it, may not be up by then.", "Let probe-proxy answer (`answeredBy: auto` does so where it is needed), or declare `istio.nativeSidecars` or `istio.holdApplicationUntilProxyStarts` if the mesh has them."},
	{"probe-port-captured", Error, "The template makes the mesh capture the port where rewritten probes are answered, so the kubelet could not reach it.", "Remove the port from `traffic.sidecar.istio.io/includeInboundPorts`, move Istio's status port by the annotation `status.sidecar.istio.io/port` alone, or do what the message says of the arguments of istio-init."},
	{"probes-made-elsewhere", Info, "The kind's controller replaces the probes of the template: Knative Serving's queue-proxy makes readiness probes inside the pod, and liveness probes get the port of the app whatever port they name.", "Leave the rewriting to Istio's injector, which sees the pod as it is; do not set `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` there."},
	{"proxy-cannot-answer", Warning, "The probe is gRPC over TLS or HTTP/2 without TLS (Kubernetes 1.37), which the mesh's proxy cannot make.", "Set `answeredBy: probe-proxy`, which can."},
	{"proxy-container", Info, "The container is the mesh's own proxy, whose ports the mesh does not capture.", "Nothing to do."},
	{"proxy-in-init-containers", Warning, "An istio-proxy with `image: auto` is under initContainers; an injector that does not use native sidecars adds a second one, which the API server refuses.", "Declare it under `containers`."},
	{"proxy-limits", Warning, "A LimitRange among the manifests has defaults. They are filled in before Istio's injector sees the pod, and what a declared istio-proxy has wins over the injector's values.", "Set `istioProxy.resources` in the functionConfig to what the mesh gives its sidecars."},
	{"proxy-uid", Error, "probe-proxy would run under the uid or gid of the mesh's proxy, and the mesh treats connections of that user differently.", "Set `probeProxy.securityContext.runAsUser` or `runAsGroup`."},
	{"qos-class", Info, "The configured resources of probe-proxy give the pod another QoS class.", "Remove `probeProxy.resources`: the defaults keep the class of every pod."},
	{"resources-unreadable", Info, "A request or limit is not a quantity, so the pod's QoS class is not known, and probe-proxy gets the resources of a Burstable pod.", "Write a quantity, or set `probeProxy.resources`."},
	{"rewriter-needed", Error, "The probe stays as it is, while the other probes of the pod are rewritten, for which the mesh's own rewriter must be off. If that rewriter is on in the cluster, it serves this probe today, and the probe would begin to fail.", "Rewrite it too, opt the whole pod out, or say that the rewriter is off: with `istio: {injectorRewrites: false}`, in Kuma and Consul with the annotation that the message names."},
	{"scheme-invalid", Warning, "The probe's scheme is neither HTTP nor HTTPS; the API server refuses that.", "Write HTTP or HTTPS, in capitals."},
	{"skipped-container", Info, "The annotation `rewrite-probes.io/skip-containers` names the container.", "Remove it from the annotation to have its probes rewritten."},
	{"starts-before-answerer", Warning, "The native sidecar starts before the container that answers its rewritten probes, so the pod would never start.", "Use probe-proxy with `placement: native`, which starts first."},
	{"status-port-invalid", Error, "`status.sidecar.istio.io/port` is not a port on which Istio's sidecar could answer rewritten probes.", "Write a port that is free, or remove the annotation."},
	{"timeout-invalid", Warning, "The probe's timeout is negative or too large; the API server refuses that.", "Write the timeout in seconds."},
	{"two-meshes", Error, "Labels or annotations of the template and its Namespace put the pod into two meshes, and which of them captures it cannot be known.", "Remove the mark of the mesh that the pod is not in, or turn its injection off in the template."},
	{"unknown-container", Warning, "`rewrite-probes.io/skip-containers` names a container that the pod does not have.", "Correct the name."},
	{"unknown-template", Warning, "`inject.istio.io/templates` names custom templates and not `sidecar`, so it is not known whether an istio-proxy answers in the pod.", "Add `sidecar` to the list, or declare the container istio-proxy with `image: auto` in the pod template."},
	{"variable", Warning, "The path or the service of the probe, or the name of its container, has what looks like a variable (`${NAME}`) that another tool is still to substitute. In what rewrite-probes writes it would not be.", "Run rewrite-probes after the substitution: pipe what Flux, envsubst or another tool makes of the manifest through it."},
	{"windows", Info, "The pod runs on Windows, where no mesh has a sidecar.", "Nothing to do."},
}

// OfRun are the reasons that only a whole run can have, sorted.
var OfRun = []Doc{
	{"encrypted", Warning, "The manifest is encrypted by SOPS, whose checksum is over all values, the readable ones too. After an edit it could not be decrypted.", "Run rewrite-probes on what is decrypted, such as the output of `sops decrypt`."},
	{"helm-template", Warning, "The folder has a Helm chart, a template, or a file with probes that is no Kubernetes object, such as the values of a chart; or an object has a variable that is still to be substituted.", "Pipe what Helm, Flux, Ansible or another tool makes of it through rewrite-probes, or use it as Helm's post-renderer; leave the file out with `--ignore` if that is done elsewhere."},
	{"invalid-manifest", Error, "The API server would refuse the object: a field has the wrong type, or a key is there twice.", "Fix the field that the message names."},
	{"kind-misspelt", Warning, "The API server has no such kind in that group, but has a kind that makes pods with nearly the same name.", "Write the kind that the message proposes."},
	{"link", Info, "A walk does not follow links to folders, so nothing in that folder was looked at.", "Give rewrite-probes the folder itself too, or leave the link out with `--ignore`."},
	{"may-fail", Warning, "Found by check: the probe or hook fails if something holds that the manifests and the functionConfig do not say.", "Declare what the message names, or run rewrite-probes on the manifest: what it writes is right in either case."},
	{"may-falsely-pass", Warning, "Found by check: the tcpSocket probe passes whether or not the app listens, if something holds that the manifests and the functionConfig do not say.", "Declare what the message names, or run rewrite-probes on the manifest: what it writes is right in either case."},
	{"no-manifest", Info, "A file in the folder contains no Kubernetes object: it is empty, a list, or has no kind; or it is a template that names no probe, or a patch that concerns none.", "Nothing to do."},
	{"no-text", Info, "A file in the folder is not text, or is one value: git checks out a link as a text where links are switched off.", "Fix the file, or leave it out with `--ignore`."},
	{"not-built", Error, "Found by check and explain: a kustomization takes resources or a chart into its build that are not among the files, so their probes were not seen.", "Pipe `kustomize build DIR` into `rewrite-probes check -`. If that is done elsewhere, leave the kustomization out with `--ignore`, or give `--allow-empty`."},
	{"not-patchable", Error, "Found by patches: kustomize cannot make the change as a patch. It rounds whole numbers above 2^53 in every object that it patches, Flux may change a `$`, and the original of a WorkloadGroup's probe must stay with the group.", "Follow the message: write the number as a string, exclude the object in the functionConfig, or run rewrite-probes as a function or in a pipe."},
	{"not-rendered", Error, "Found by check and explain: a chart or a template was not rendered, or a variable not substituted, so the probes were not seen.", "Pipe `helm template DIR`, or the like of Flux, Ansible or another tool, into `rewrite-probes check -`. If that is done elsewhere, leave it out with `--ignore`, or give `--allow-empty`."},
	{"nothing-seen", Error, "Found by check and explain: there was no pod template in the input, so that finding nothing means nothing.", "Give the command what kustomize, Helm or another tool renders, or `--allow-empty` if no pods are meant to be there."},
	{"patch", Warning, "A kustomize patch is not a complete object: the container that answers its probes needs the probes of the object that it is merged into; and a JSON patch of `initContainers`, or of the pod template's annotations, or a replacement of an init container by its index may drop or change what rewriting adds, and a patch with a label for injection what is known of Istio.", "Use rewrite-probes as a kustomize function, or pipe the output of kustomize build, or of what else applies the patch, through it."},
	{"path-finds-nothing", Warning, "An entry of `podTemplates` names a kind, but no object of that kind has a pod template at its path.", "Correct the path: it must lead to a mapping that has `spec` or a list `containers`."},
	{"release", Info, "The object installs a chart, which another program renders. Its pods are not in the input.", "Pipe what the chart renders through rewrite-probes. Leave the file out with `--ignore`, or the object with `exclude` in the functionConfig, if that is done elsewhere."},
	{"restored", Info, "The probe has its original handler again.", "Nothing to do."},
	{"rewritten", Info, "The probe or hook was rewritten.", "Nothing to do."},
	{"unknown-kind", Warning, "An object of an unknown kind contains something that looks like a probe.", "If pods get these probes unchanged, add the kind and the path to spec.podTemplates of the functionConfig, as the message shows; else exclude the object, and rewrite the manifests that are generated from it."},
	{"unreadable", Error, "A file, or stdin, cannot be read as Kubernetes manifests: it is missing, not UTF-8, not YAML, or not a manifest.", "Fix what the message names, or leave the file out with `--ignore`. If stdin is empty, see why the command before the pipe printed nothing."},
	{"unreleased-image", Warning, "This build of rewrite-probes is not a release and has no image of probe-proxy, so the image of the next release is written: until there is one, pods with it do not start.", "Set `probeProxy.image` in the functionConfig, or use a release."},
	{"unseen-probe", Warning, "An object contains something that looks like a probe outside its known pod templates, such as an ephemeral container, a second template or a misspelt field.", "Remove the probes, correct the name of the field, or add the path to spec.podTemplates of the functionConfig, as the message shows."},
	{"would-fail", Error, "Found by check: the probe or hook fails under strict mTLS, because it is not rewritten, or was edited afterwards. If kustomize should have run the function: without --enable-alpha-plugins and --enable-exec it silently skips it.", "Run rewrite-probes on the manifest; where it leaves the probe alone, take the cure of that reason."},
	{"would-falsely-pass", Error, "Found by check: the tcpSocket probe reaches the mesh's proxy instead of the app, and passes whether or not the app listens. If kustomize should have run the function: without --enable-alpha-plugins and --enable-exec it silently skips it.", "Run rewrite-probes on the manifest; where it leaves the probe alone, take the cure of that reason."},
	{"written-anew", Warning, "Lines that no edit names were changed: an alias, or a mapping with a merge key, was written out because its value is edited or that of its anchor changed. No other value changed, but comments and quotes may have.", "Check the named lines in the diff; write them without aliases and merge keys."},
}

// OfGroup are the reasons that only a plan for a group of virtual machines can
// have, sorted.
var OfGroup = []Doc{
	{"vm-config-invalid", Error, "The agent's configuration in `proxy.istio.io/config`, to which the original of the rewritten probe has to be added, is no YAML that Istio's agent can read, or a variable that the rewritten probe needs is missing or set otherwise.", "Correct the annotation or remove the variable that the message names; a new run of rewrite-probes adds one that is missing."},
	{"vm-grpc-refused", Error, "istiod's webhook refuses a WorkloadGroup with a grpc probe, and Istio's agent crashes if the service answers NOT_SERVING.", "Run rewrite-probes on the manifest: the agent's status server then makes the probe."},
	{"vm-header-case", Error, "The probe has a header `host` that is not written `Host`: Istio's agent sends it beside its own, and servers answer two with 400.", "Write `Host`."},
	{"vm-host-remote", Error, "The probe names a host other than the machine itself, which Istio's agent does not reach, since it asks from 127.0.0.6.", "Remove `host`, or write 127.0.0.1 or localhost."},
	{"vm-https-verified", Error, "Istio's agent verifies the certificate of an https probe, which the kubelet does not, so that a certificate that is self-signed, or for another name, fails.", "Run rewrite-probes on the manifest: the agent's status server then makes the probe as the kubelet would. A `host` must be 127.0.0.1 or localhost."},
	{"vm-no-handler", Error, "The probe of the WorkloadGroup has no handler, several, or an empty command; Istio's agent crashes on it.", "Write exactly one of httpGet, tcpSocket, exec and grpc."},
	{"vm-probe-invalid", Error, "istiod refuses the probe of the WorkloadGroup: a number, a scheme or a header is not what the API allows.", "Correct the field that the message names."},
	{"vm-probe-works", Info, "Istio's agent makes this probe of a WorkloadGroup as it is written.", "Nothing to do."},
	{"vm-source-differs", Error, "The WorkloadGroup has a probe of its own, and not that of the workload that `rewrite-probes.io/probe-from` names.", "Remove `spec.probe`, or the annotation."},
	{"vm-source-exec", Warning, "The probe that the WorkloadGroup takes from a workload runs a command, which was written for the container.", "Make sure that the machines have the command, or give the workload a probe over the network."},
	{"vm-source-unknown", Error, "The probe that `rewrite-probes.io/probe-from` names is not there, there are several, or a WorkloadGroup cannot have it.", "Correct the annotation, name the container in it, or add the workload to the input."},
	{"vm-threshold-default", Warning, "The WorkloadGroup's probe has no `failureThreshold`: Istio's agent takes 1, not 3 as the API's documentation says.", "Write the `failureThreshold` that is meant."},
}

// All returns every reason, sorted by key.
func All() []Doc {
	all := slices.Concat(OfPlan, OfGroup, OfRun)
	slices.SortFunc(all, func(a, b Doc) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// SeverityOf returns the severity of a reason; "" for a key that is none.
func SeverityOf(key string) Severity {
	for _, list := range [][]Doc{OfPlan, OfGroup, OfRun} {
		if i, found := slices.BinarySearchFunc(list, key, func(d Doc, key string) int { return strings.Compare(d.Key, key) }); found {
			return list[i].Severity
		}
	}
	return ""
}
