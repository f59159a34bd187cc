package reason

// The keys. Each has a row in docs, in the same order.
const (
	AimsAtProbePort       Key = "aims-at-probe-port"
	Ambient               Key = "ambient"
	AmbientNetworkPolicy  Key = "ambient-network-policy"
	AnnotationInvalid     Key = "annotation-invalid"
	AnnotationMisplaced   Key = "annotation-misplaced"
	AnnotationsUnknown    Key = "annotations-unknown"
	ConsulUID             Key = "consul-uid"
	ContainerName         Key = "container-name"
	Dangling              Key = "dangling"
	Encrypted             Key = "encrypted"
	EnvUnreadable         Key = "env-unreadable"
	ExcludedPort          Key = "excluded-port"
	ExecWorkaround        Key = "exec-workaround"
	FSMInjector           Key = "fsm-injector"
	HandlerUnknown        Key = "handler-unknown"
	HelmTemplate          Key = "helm-template"
	HookNeverWorks        Key = "hook-never-works"
	HostNetwork           Key = "host-network"
	HostSet               Key = "host-set"
	IngressHealthCheck    Key = "ingress-health-check"
	InitContainer         Key = "init-container"
	InjectUnclear         Key = "inject-unclear"
	InjectionOff          Key = "injection-off"
	InjectorRewrites      Key = "injector-rewrites"
	InterceptionNone      Key = "interception-none"
	InternalError         Key = "internal-error"
	InvalidManifest       Key = "invalid-manifest"
	IstioOptOut           Key = "istio-opt-out"
	JobExitCodes          Key = "job-exit-codes"
	JobNeverFinishes      Key = "job-never-finishes"
	JobRestarts           Key = "job-restarts"
	KindMisspelt          Key = "kind-misspelt"
	KumaHost              Key = "kuma-host"
	Link                  Key = "link"
	MayFail               Key = "may-fail"
	MayFalselyPass        Key = "may-falsely-pass"
	NameTaken             Key = "name-taken"
	NamespaceLimits       Key = "namespace-limits"
	NamespaceNotInjected  Key = "namespace-not-injected"
	NoManifest            Key = "no-manifest"
	NoNetwork             Key = "no-network"
	NoText                Key = "no-text"
	NotBuilt              Key = "not-built"
	NotOneHandler         Key = "not-one-handler"
	NotPatchable          Key = "not-patchable"
	NotRendered           Key = "not-rendered"
	NotRewritten          Key = "not-rewritten"
	NotSelected           Key = "not-selected"
	NotSidecarTemplate    Key = "not-sidecar-template"
	NothingSeen           Key = "nothing-seen"
	OptOut                Key = "opt-out"
	OptionsUnfit          Key = "options-unfit"
	OriginalReplaced      Key = "original-replaced"
	OriginalsAmbiguous    Key = "originals-ambiguous"
	OSMInjector           Key = "osm-injector"
	OtherMesh             Key = "other-mesh"
	Patch                 Key = "patch"
	PathFindsNothing      Key = "path-finds-nothing"
	PodLevelResources     Key = "pod-level-resources"
	PortCollision         Key = "port-collision"
	PortExposed           Key = "port-exposed"
	PortExposedElsewhere  Key = "port-exposed-elsewhere"
	PortInvalid           Key = "port-invalid"
	PortListInvalid       Key = "port-list-invalid"
	PortListUnreadable    Key = "port-list-unreadable"
	PortNotCaptured       Key = "port-not-captured"
	PortTaken             Key = "port-taken"
	PortUnresolved        Key = "port-unresolved"
	PostStartOrder        Key = "post-start-order"
	ProbePortCaptured     Key = "probe-port-captured"
	ProbesMadeElsewhere   Key = "probes-made-elsewhere"
	ProxyCannotAnswer     Key = "proxy-cannot-answer"
	ProxyContainer        Key = "proxy-container"
	ProxyInInitContainers Key = "proxy-in-init-containers"
	ProxyLimits           Key = "proxy-limits"
	ProxyUID              Key = "proxy-uid"
	QoSClass              Key = "qos-class"
	Release               Key = "release"
	ResourcesUnreadable   Key = "resources-unreadable"
	Restored              Key = "restored"
	RewriterNeeded        Key = "rewriter-needed"
	Rewritten             Key = "rewritten"
	SchemeInvalid         Key = "scheme-invalid"
	SkippedContainer      Key = "skipped-container"
	StartsBeforeAnswerer  Key = "starts-before-answerer"
	StatusPortInvalid     Key = "status-port-invalid"
	TimeoutInvalid        Key = "timeout-invalid"
	TwoMeshes             Key = "two-meshes"
	UnknownContainer      Key = "unknown-container"
	UnknownKind           Key = "unknown-kind"
	UnknownTemplate       Key = "unknown-template"
	Unreadable            Key = "unreadable"
	UnreleasedImage       Key = "unreleased-image"
	UnseenProbe           Key = "unseen-probe"
	Variable              Key = "variable"
	VMConfigInvalid       Key = "vm-config-invalid"
	VMGRPCRefused         Key = "vm-grpc-refused"
	VMHeaderCase          Key = "vm-header-case"
	VMHostRemote          Key = "vm-host-remote"
	VMHTTPSVerified       Key = "vm-https-verified"
	VMNoHandler           Key = "vm-no-handler"
	VMProbeInvalid        Key = "vm-probe-invalid"
	VMProbeWorks          Key = "vm-probe-works"
	VMSourceDiffers       Key = "vm-source-differs"
	VMSourceExec          Key = "vm-source-exec"
	VMSourceUnknown       Key = "vm-source-unknown"
	VMThresholdDefault    Key = "vm-threshold-default"
	Windows               Key = "windows"
	WouldFail             Key = "would-fail"
	WouldFalselyPass      Key = "would-falsely-pass"
	WrittenAnew           Key = "written-anew"
)

// docs has the row of each key, sorted by key.
var docs = []Doc{
	{
		Key: AimsAtProbePort, Of: Plan, Severity: Warning,
		Cause: "The probe already goes to the port of the rewritten probes, but is not one of them.",
		Fix:   "Give the probe the port of the app, or set `port` in the functionConfig to another port; with `answeredBy: istio-proxy`, where `port` says where Istio's sidecar listens, set `answeredBy: probe-proxy` instead.",
	},
	{
		Key: Ambient, Of: Plan, Severity: Info,
		Cause:      "The pod is in Istio's ambient mode, without a sidecar. On the node, Istio's CNI agent gives the kubelet's connections the source address 169.254.7.127, which ztunnel lets through.",
		Fix:        "Allow that address (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff) in NetworkPolicies; with Calico's eBPF mode use Calico 3.29 or later.",
		LetThrough: true,
	},
	{
		Key: AmbientNetworkPolicy, Of: Plan, Severity: Warning,
		Cause: "The pod is in Istio's ambient mode, and a NetworkPolicy in the input keeps out 169.254.7.127, the address from which the kubelet's probes come there. So the probes fail, unless the cluster's network lets that address through.",
		Fix:   "Allow 169.254.7.127/32 in the NetworkPolicy (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128).",
	},
	{
		Key: AnnotationInvalid, Of: Plan, Severity: Error,
		Cause: "The value of a boolean annotation is neither true nor false. A guess could do the opposite of what was meant.",
		Fix:   "Write \"true\" or \"false\".",
	},
	{
		Key: AnnotationMisplaced, Of: Plan, Severity: Warning,
		Cause: "`sidecar.istio.io/rewriteAppHTTPProbers` is on the workload, where Istio does not read it.",
		Fix:   "Move it to the pod template, or use `rewrite-probes.io/rewrite`, which works in both places.",
	},
	{
		Key: AnnotationsUnknown, Of: Plan, Severity: Error,
		Cause: "The pod template is a pod spec without metadata, so the annotation that the answerer needs has no place.",
		Fix:   "Give the entry of `podTemplates` its `metadata`: the path of the mapping with the pods' labels and annotations, such as spec.podMetadata. If there is none, exclude the object, or name the namespaces of the mesh under `istio.injectedNamespaces` if its own, which `metadata.namespace` must say, is not among them.",
	},
	{
		Key: ConsulUID, Of: Plan, Severity: Warning,
		Cause: "Consul redirects what probe-proxy sends to the pod's own IP, so its tcpSocket probes pass whether or not the app listens.",
		Fix:   "Leave `probeProxy.securityContext.runAsUser` at 5996, the uid of Consul's own init containers, or add its uid to the annotation `consul.hashicorp.com/transparent-proxy-exclude-uids`.",
	},
	{
		Key: ContainerName, Of: Plan, Severity: Warning,
		Cause: "The container's name is empty, contains a slash, or is used twice, so no path can name its probes.",
		Fix:   "Give the container a unique name without a slash.",
	},
	{
		Key: Dangling, Of: Plan, Severity: Warning,
		Cause: "The probe looks rewritten, but no env var of the pod has its original.",
		Fix:   "Put the original probe back, or add its entry to the env var of the sidecar.",
	},
	{
		Key: Encrypted, Of: Run, Severity: Warning,
		Cause: "The manifest is encrypted by SOPS, whose checksum is over all values, the readable ones too. After an edit it could not be decrypted.",
		Fix:   "Run rewrite-probes on what is decrypted, such as the output of `sops decrypt`.",
	},
	{
		Key: EnvUnreadable, Of: Plan, Severity: Error,
		Cause: "The env var with the original probes cannot be read, so the originals cannot be restored.",
		Fix:   "Correct the value, or delete the container or env var and write the original probes.",
	},
	{
		Key: ExcludedPort, Of: Plan, Severity: Info,
		Cause: "The app answers the probe itself (`answeredBy: app`), on a port that an annotation keeps out of the mesh.",
	},
	{
		Key: ExecWorkaround, Of: Plan, Severity: Info,
		Cause: "The exec probe runs curl, wget, nc or grpc_health_probe against its own pod, as was needed while a mesh refused the kubelet's requests. It needs a shell or a tool in the image and starts a process each time.",
		Fix:   "Write the probe that the message names (the proposed value) and run rewrite-probes: probe-proxy or the mesh's proxy then makes it inside the pod. The app must listen on the pod's IP.",
	},
	{
		Key: FSMInjector, Of: Plan, Severity: Warning,
		Cause: "Flomesh Service Mesh's injector rewrites the probes of this pod itself and would send rewritten ones to themselves. It leaves grpc probes and hooks to fail, and its proxy makes only the first container's probe of each type.",
		Fix:   "Make grpc probes and hooks exec, or turn off the injection with `flomesh.io/sidecar-injection: disabled` and put the proxy into the manifest.",
	},
	{
		Key: HandlerUnknown, Of: Plan, Severity: Warning,
		Cause: "The probe or hook has a field or a value that this version does not know and could not preserve.",
		Fix:   "Use a newer version of rewrite-probes, remove the field, or correct its name.",
	},
	{
		Key: HelmTemplate, Of: Run, Severity: Warning,
		Cause:   "The folder has a Helm chart, a template, or a file with probes that is no Kubernetes object, such as the values of a chart; or an object has a variable that is still to be substituted.",
		Fix:     "Pipe what Helm, Flux, Ansible or another tool makes of it through rewrite-probes, or use it as Helm's post-renderer; leave the file out with `--ignore` if that is done elsewhere.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: HookNeverWorks, Of: Plan, Severity: Warning,
		Cause: "The kubelet runs httpGet, exec and sleep hooks only; any other always fails, with or without a mesh.",
		Fix:   "Make it an httpGet or exec hook.",
	},
	{
		Key: HostNetwork, Of: Plan, Severity: Info,
		Cause:      "The pod uses the node's network, which no mesh captures.",
		LetThrough: true,
	},
	{
		Key: HostSet, Of: Plan, Severity: Warning,
		Cause: "The probe goes to the `host` that it names, not to the pod, so the sidecar cannot make it for the kubelet.",
		Fix:   "Remove `host`; Pod Security refuses it as well.",
	},
	{
		Key: IngressHealthCheck, Of: Plan, Severity: Warning,
		Cause: "The Ingress controllers of GKE and of Azure's Application Gateway take the health check of their load balancer from the probe as long as it goes to the port of the Service. Of the rewritten probe they do not, and ask for / instead.",
		Fix:   "Write the path of the probe in a BackendConfig with `healthCheck` that the Service's annotation `cloud.google.com/backend-config` names, or in Azure in the Ingress' annotation `appgw.ingress.kubernetes.io/health-probe-path`.",
	},
	{
		Key: InitContainer, Of: Plan, Severity: Warning,
		Cause: "An init container that is not a native sidecar has probes or hooks; the API server refuses that.",
		Fix:   "Remove them, or set `restartPolicy: Always`.",
	},
	{
		Key: InjectUnclear, Of: Plan, Severity: Warning,
		Cause: "The switch of a mesh's injection has a value that the mesh does not know.",
		Fix:   "Write one of the values that the message names.",
	},
	{
		Key: InjectionOff, Of: Plan, Severity: Info,
		Cause:      "The template turns off the injection of the mesh's proxy, so nothing captures its probes.",
		LetThrough: true,
	},
	{
		Key: InjectorRewrites, Of: Plan, Severity: Info,
		Cause: "Istio's injector rewrites the probes of this pod, as the annotation `sidecar.istio.io/rewriteAppHTTPProbers` or the functionConfig says.",
		Fix:   "Nothing to do; to have the probes rewritten in the manifests, remove the annotation, or `istio.injectorRewrites` from the functionConfig.",
	},
	{
		Key: InterceptionNone, Of: Plan, Severity: Info,
		Cause:      "Istio's redirection is off for this pod (`interceptionMode: NONE`), so that the kubelet's connections reach the app as they are.",
		LetThrough: true,
	},
	{
		Key: InternalError, Of: Run, Severity: Error,
		Cause: "A defect of rewrite-probes itself prevented the rewriting of the object, which was not changed.",
		Fix:   "Report it, with the object. Until it is fixed, leave the object out with `exclude` of the functionConfig.",
	},
	{
		Key: InvalidManifest, Of: Run, Severity: Error,
		Cause: "The API server would refuse the object: a field has the wrong type, or a key is there twice.",
		Fix:   "Fix the field that the message names.",
	},
	{
		Key: IstioOptOut, Of: Plan, Severity: Info,
		Cause:     "The template has `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"`.",
		Fix:       "Remove the annotation to have the probes rewritten.",
		OnPurpose: true,
	},
	{
		Key: JobExitCodes, Of: Plan, Severity: Info,
		Cause: "A rule of the Job's podFailurePolicy has no containerName, so it counts the exit code of every container. probe-proxy ends with 0, which no rule matches, unless it is killed: out of memory, or by a node that does not wait.",
		Fix:   "Name the container in the rule.",
	},
	{
		Key: JobNeverFinishes, Of: Plan, Severity: Error,
		Cause: "The pod has to finish, but probe-proxy as an ordinary container would keep it running.",
		Fix:   "Set `probeProxy.placement: native`.",
	},
	{
		Key: JobRestarts, Of: Plan, Severity: Info,
		Cause: "The Job has a backoffLimit of 0 and restarts containers on failure, so it fails after the first restart of any container, that of probe-proxy too.",
		Fix:   "Set `backoffLimit` to 1 or more, or `restartPolicy: Never`.",
	},
	{
		Key: KindMisspelt, Of: Run, Severity: Warning,
		Cause: "The API server has no such kind in that group, but has a kind that makes pods with nearly the same name.",
		Fix:   "Write the kind that the message proposes.",
	},
	{
		Key: KumaHost, Of: Plan, Severity: Warning,
		Cause: "Kuma 2.13 and 2.14 redirect the kubelet to the host of the probe's Host header, and the kubelet takes a redirect to another host for success.",
		Fix:   "Remove the header, or make the probe exec; Kuma 2.12 and before, and version 3, are not affected.",
	},
	{
		Key: Link, Of: Run, Severity: Info,
		Cause:   "A walk does not follow links to folders, so rewrite-probes did not look into that folder.",
		Fix:     "Pass that folder too, or skip the link with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: MayFail, Of: Run, Severity: Warning,
		Cause: "Found by check: the probe or hook fails if something holds that the manifests and the functionConfig do not say.",
		Fix:   "Declare what the message names, or run rewrite-probes on the manifest: what it writes is right in either case.",
	},
	{
		Key: MayFalselyPass, Of: Run, Severity: Warning,
		Cause: "Found by check: the tcpSocket probe passes whether or not the app listens, if something holds that the manifests and the functionConfig do not say.",
		Fix:   "Declare what the message names, or run rewrite-probes on the manifest: what it writes is right in either case.",
	},
	{
		Key: NameTaken, Of: Plan, Severity: Error,
		Cause: "A container of the app already has the name of the container that would be added.",
		Fix:   "Set `probeProxy.name`, or rename the container.",
	},
	{
		Key: NamespaceLimits, Of: Plan, Severity: Warning,
		Cause: "A LimitRange or ResourceQuota among the manifests does not accept the container probe-proxy, so the API server would refuse the pods.",
		Fix:   "Set `probeProxy.resources` in the functionConfig as the message says, or raise the limit of the namespace.",
	},
	{
		Key: NamespaceNotInjected, Of: Plan, Severity: Info,
		Cause:      "The mesh injects no proxy in this namespace, so nothing captures the probes.",
		Fix:        "Nothing to do; if another proxy captures them, set `answeredBy: probe-proxy`.",
		LetThrough: true,
	},
	{
		Key: NoManifest, Of: Run, Severity: Info,
		Cause:   "A file in the folder contains no Kubernetes object: it is empty, a list, or has no kind; or it is a template that names no probe, or a patch that concerns none.",
		SameFix: true,
	},
	{
		Key: NoNetwork, Of: Plan, Severity: Info,
		Cause: "The handler is exec or sleep: the kubelet runs it in the container, and no connection of the kubelet's reaches the mesh. What the command itself calls may go through the mesh.",
		Words: "the kubelet runs it in the container",
	},
	{
		Key: NoText, Of: Run, Severity: Info,
		Cause:   "A file in the folder is not text, or is one value. git checks out a link as a text where links are switched off.",
		Fix:     "Correct the file, or skip it with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: NotBuilt, Of: Run, Severity: Error,
		Cause:   "Found by check and explain: a kustomization takes resources or a chart into its build that are not among the files, so their probes were not seen.",
		Fix:     "Pipe `kustomize build DIR` into `rewrite-probes check -`. If that is done elsewhere, leave the kustomization out with `--ignore`, or give `--allow-empty`.",
		SameFix: true,
	},
	{
		Key: NotOneHandler, Of: Plan, Severity: Warning,
		Cause: "The probe or hook has no handler, or more than one; the API server refuses that.",
		Fix:   "Write exactly one handler.",
	},
	{
		Key: NotPatchable, Of: Run, Severity: Error,
		Cause: "`patches` found that kustomize cannot make the change as a patch. It rounds whole numbers above 2^53 in every object that it patches. Flux may change a `$`. The original of a WorkloadGroup's probe must stay with the group.",
		Fix:   "Write the number as a string, exclude the object, or run rewrite-probes as a function or in a pipe.",
	},
	{
		Key: NotRendered, Of: Run, Severity: Error,
		Cause:   "Found by check and explain: a chart or a template was not rendered, or a variable not substituted, so the probes were not seen.",
		Fix:     "Pipe `helm template DIR`, or the like of Flux, Ansible or another tool, into `rewrite-probes check -`. If that is done elsewhere, leave it out with `--ignore`, or give `--allow-empty`.",
		SameFix: true,
	},
	{
		Key: NotRewritten, Of: Plan, Severity: Info,
		Cause: "The probe is not rewritten, so there is nothing to restore.",
		Words: "it was not rewritten",
	},
	{
		Key: NotSelected, Of: Plan, Severity: Info,
		Cause:     "The functionConfig's `rewrite` does not name this kind of handler.",
		Fix:       "Add it to `rewrite`.",
		OnPurpose: true, Words: "the functionConfig's rewrite does not name it",
	},
	{
		Key: NotSidecarTemplate, Of: Plan, Severity: Info,
		Cause:      "`inject.istio.io/templates` makes Istio inject a template that captures no connections, such as grpc-agent or a gateway, so the probes work as they are.",
		LetThrough: true,
	},
	{
		Key: NothingSeen, Of: Run, Severity: Error,
		Cause: "Found by check and explain: there was no pod template in the input, so that finding nothing means nothing.",
		Fix:   "Give the command what kustomize, Helm or another tool renders, or `--allow-empty` if no pods are meant to be there.",
	},
	{
		Key: OptOut, Of: Plan, Severity: Info,
		Cause:     "The template, the workload or its Namespace has `rewrite-probes.io/rewrite: \"false\"`.",
		Fix:       "Remove the annotation to have the probes rewritten.",
		OnPurpose: true,
	},
	{
		Key: OptionsUnfit, Of: Plan, Severity: Error,
		Cause: "With `mesh: auto` the pod is in a mesh that the functionConfig's `answeredBy`, `port` or `probeProxy` does not fit.",
		Fix:   "Change the option that the message names, or leave the object out with `exclude`.",
	},
	{
		Key: OriginalReplaced, Of: Plan, Severity: Error,
		Cause: "The template carries the original of a probe that was rewritten, and the probe is neither the rewritten one nor the original any more. Going on would lose the original.",
		Fix:   "Give the probe its rewritten path or its original back. If the new probe is meant, remove the original's entry from the env var of the container that the message names. A probe that is deleted needs no entry.",
	},
	{
		Key: OriginalsAmbiguous, Of: Plan, Severity: Error,
		Cause: "The probe looks rewritten, but the template does not tell which of the originals is its own. Rewriting would lose them.",
		Fix:   "Give the probe the path of its original, write the original probe, or remove the wrong original.",
	},
	{
		Key: OSMInjector, Of: Plan, Severity: Warning,
		Cause: "Open Service Mesh's injector rewrites the probes of this pod itself and would send rewritten ones to themselves. It leaves grpc probes and hooks to fail.",
		Fix:   "Make grpc probes and hooks exec, or turn off the injection with `openservicemesh.io/sidecar-injection: disabled` and put the proxy into the manifest.",
	},
	{
		Key: OtherMesh, Of: Plan, Severity: Warning,
		Cause: "A label or an annotation puts the pod into another mesh than the functionConfig's `mesh`.",
		Fix:   "Set `mesh: auto`, or leave the object out with `exclude`.",
	},
	{
		Key: Patch, Of: Run, Severity: Warning,
		Cause:   "A kustomize patch is not a complete object: the container that answers its probes needs the probes of the object that it is merged into; and a JSON patch of `initContainers`, or of the pod template's annotations, or a replacement of an init container by its index may drop or change what rewriting adds, and a patch with a label for injection what is known of Istio.",
		Fix:     "Use rewrite-probes as a kustomize function, or pipe the output of kustomize build, or of what else applies the patch, through it.",
		SameFix: true,
	},
	{
		Key: PathFindsNothing, Of: Run, Severity: Warning,
		Cause: "An entry of `podTemplates` names a kind, but no object of that kind has a pod template at its path.",
		Fix:   "Correct the path: it must lead to a mapping that has `spec` or a list `containers`.",
	},
	{
		Key: PodLevelResources, Of: Plan, Severity: Warning,
		Cause: "The pod has resources of its own, and one of them is missing. Kubernetes 1.37 fills it in from those of the containers, a limit only if every container has one, so that another container changes it, and may change the pod's QoS class.",
		Fix:   "Write requests and limits of cpu and memory under the pod's `resources`.",
	},
	{
		Key: PortCollision, Of: Plan, Severity: Error,
		Cause: "In an injected pod Istio's sidecar listens on its status port, and probe-proxy would listen on the same port.",
		Fix:   "Remove `port` from the functionConfig, or set it to another port.",
	},
	{
		Key: PortExposed, Of: Plan, Severity: Error,
		Cause: "With `answeredBy: app` the mesh would no longer capture the probe's port, and a Service leads to it: its traffic would lose mTLS and every policy of the mesh.",
		Fix:   "Let probe-proxy answer this workload (`answeredBy: probe-proxy`), or give the probe a port of its own that no Service leads to.",
	},
	{
		Key: PortExposedElsewhere, Of: Plan, Severity: Warning,
		Cause: "With `answeredBy: app`, the mesh stops capturing the probe's port. A Service in another branch of the folders leads to that port. If the branch is about the same cluster, its traffic loses mTLS and every policy of the mesh.",
		Fix:   "Run rewrite-probes on one stream of all that you apply together. Or set `answeredBy: probe-proxy`.",
	},
	{
		Key: PortInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's port is missing or not between 1 and 65535.",
		Fix:   "Write the port of the app.",
	},
	{
		Key: PortListInvalid, Of: Plan, Severity: Warning,
		Cause: "The value of an annotation that lists ports is not a list of ports; the mesh refuses such pods.",
		Fix:   "Write port numbers joined by commas.",
	},
	{
		Key: PortListUnreadable, Of: Plan, Severity: Error,
		Cause: "An annotation that lists the ports which the mesh does not capture cannot be read, so the port of the rewritten probes cannot be added to it.",
		Fix:   "Write port numbers joined by commas; for Linkerd also ranges, such as 4000-4999.",
	},
	{
		Key: PortNotCaptured, Of: Plan, Severity: Info,
		Cause:      "The mesh does not capture the probe's port, so the probe works as it is.",
		LetThrough: true,
	},
	{
		Key: PortTaken, Of: Plan, Severity: Error,
		Cause: "A container of the app declares the port where rewritten probes are answered, or one of its probes goes there.",
		Fix:   "Set `port` in the functionConfig to another port; with `answeredBy: istio-proxy`, where `port` says where Istio's sidecar listens, set `answeredBy: probe-proxy` instead.",
	},
	{
		Key: PortUnresolved, Of: Plan, Severity: Warning,
		Cause: "The probe names a port that its container does not have, or is a grpc probe, whose port must be a number. So it fails with or without a mesh.",
		Fix:   "Declare the port under `ports` of the same container, or write its number.",
	},
	{
		Key: PostStartOrder, Of: Plan, Severity: Error,
		Cause: "The hook runs before the next container starts, and istio-proxy, which is to answer it, may not be up by then.",
		Fix:   "Let probe-proxy answer (`answeredBy: auto` does so where it is needed), or declare `istio.nativeSidecars` or `istio.holdApplicationUntilProxyStarts` if the mesh has them.",
	},
	{
		Key: ProbePortCaptured, Of: Plan, Severity: Error,
		Cause: "The template makes the mesh capture the port where rewritten probes are answered, so the kubelet could not reach it.",
		Fix:   "Remove the port from `traffic.sidecar.istio.io/includeInboundPorts`, move Istio's status port by the annotation `status.sidecar.istio.io/port` alone, or do what the message says of the arguments of istio-init.",
	},
	{
		Key: ProbesMadeElsewhere, Of: Plan, Severity: Info,
		Cause:     "The kind's controller replaces the probes of the template: Knative Serving's queue-proxy makes readiness probes inside the pod, and liveness probes get the port of the app whatever port they name.",
		Fix:       "Leave the rewriting to Istio's injector, which sees the pod as it is; do not set `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` there.",
		OnPurpose: true,
	},
	{
		Key: ProxyCannotAnswer, Of: Plan, Severity: Warning,
		Cause: "The probe is gRPC over TLS or HTTP/2 without TLS (Kubernetes 1.37), which the mesh's proxy cannot make.",
		Fix:   "Set `answeredBy: probe-proxy`, which can.",
	},
	{
		Key: ProxyContainer, Of: Plan, Severity: Info,
		Cause: "The container is the mesh's own proxy, whose ports the mesh does not capture.",
		Words: "the mesh's own proxy",
	},
	{
		Key: ProxyInInitContainers, Of: Plan, Severity: Warning,
		Cause: "An istio-proxy with `image: auto` is under initContainers; an injector that does not use native sidecars adds a second one, which the API server refuses.",
		Fix:   "Declare it under `containers`.",
	},
	{
		Key: ProxyLimits, Of: Plan, Severity: Warning,
		Cause: "A LimitRange among the manifests has defaults. They are filled in before Istio's injector sees the pod, and what a declared istio-proxy has wins over the injector's values.",
		Fix:   "Set `istioProxy.resources` in the functionConfig to what the mesh gives its sidecars.",
	},
	{
		Key: ProxyUID, Of: Plan, Severity: Error,
		Cause: "probe-proxy would run under the uid or gid of the mesh's proxy, and the mesh treats connections of that user differently.",
		Fix:   "Set `probeProxy.securityContext.runAsUser` or `runAsGroup`.",
	},
	{
		Key: QoSClass, Of: Plan, Severity: Info,
		Cause: "The configured resources of probe-proxy give the pod another QoS class.",
		Fix:   "Remove `probeProxy.resources`: the defaults keep the class of every pod.",
	},
	{
		Key: Release, Of: Run, Severity: Info,
		Cause:   "The object installs a chart, which another program renders. Its pods are not in the input.",
		Fix:     "Pipe the rendered chart through rewrite-probes. Or skip the file with `--ignore`, or the object with `exclude`.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: ResourcesUnreadable, Of: Plan, Severity: Info,
		Cause: "A request or limit is not a quantity, so the pod's QoS class is not known, and probe-proxy gets the resources of a Burstable pod.",
		Fix:   "Write a quantity, or set `probeProxy.resources`.",
	},
	{
		Key: Restored, Of: Run, Severity: Info,
		Cause: "The probe has its original handler again.",
	},
	{
		Key: RewriterNeeded, Of: Plan, Severity: Error,
		Cause: "The probe stays as it is, while the other probes of the pod are rewritten, for which the mesh's own rewriter must be off. If that rewriter is on in the cluster, it serves this probe today, and the probe would begin to fail.",
		Fix:   "Rewrite it too, opt the whole pod out, or say that the rewriter is off: with `istio: {injectorRewrites: false}`, in Kuma and Consul with the annotation that the message names.",
	},
	{
		Key: Rewritten, Of: Run, Severity: Info,
		Cause: "The probe or hook was rewritten.",
	},
	{
		Key: SchemeInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's scheme is neither HTTP nor HTTPS; the API server refuses that.",
		Fix:   "Write HTTP or HTTPS, in capitals.",
	},
	{
		Key: SkippedContainer, Of: Plan, Severity: Info,
		Cause:     "The annotation `rewrite-probes.io/skip-containers` names the container.",
		Fix:       "Remove it from the annotation to have its probes rewritten.",
		OnPurpose: true,
	},
	{
		Key: StartsBeforeAnswerer, Of: Plan, Severity: Warning,
		Cause: "The native sidecar starts before the container that answers its rewritten probes, so the pod would never start.",
		Fix:   "Use probe-proxy with `placement: native`, which starts first.",
	},
	{
		Key: StatusPortInvalid, Of: Plan, Severity: Error,
		Cause: "`status.sidecar.istio.io/port` is not a port on which Istio's sidecar could answer rewritten probes.",
		Fix:   "Write a port that is free, or remove the annotation.",
	},
	{
		Key: TimeoutInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's timeout is negative or too large; the API server refuses that.",
		Fix:   "Write the timeout in seconds.",
	},
	{
		Key: TwoMeshes, Of: Plan, Severity: Error,
		Cause: "Labels or annotations of the template and its Namespace put the pod into two meshes, and which of them captures it cannot be known.",
		Fix:   "Remove the mark of the mesh that the pod is not in, or turn its injection off in the template.",
	},
	{
		Key: UnknownContainer, Of: Plan, Severity: Warning,
		Cause: "`rewrite-probes.io/skip-containers` names a container that the pod does not have.",
		Fix:   "Correct the name.",
	},
	{
		Key: UnknownKind, Of: Run, Severity: Warning,
		Cause: "An object of an unknown kind contains something that looks like a probe.",
		Fix:   "If pods get these probes unchanged, add the kind and the path to spec.podTemplates of the functionConfig, as the message shows; else exclude the object, and rewrite the manifests that are generated from it.",
	},
	{
		Key: UnknownTemplate, Of: Plan, Severity: Warning,
		Cause: "`inject.istio.io/templates` names custom templates and not `sidecar`, so it is not known whether an istio-proxy answers in the pod.",
		Fix:   "Add `sidecar` to the list, or declare the container istio-proxy with `image: auto` in the pod template.",
	},
	{
		Key: Unreadable, Of: Run, Severity: Error,
		Cause: "A file, or stdin, cannot be read as Kubernetes manifests: it is missing, not UTF-8, not YAML, or not a manifest.",
		Fix:   "Fix what the message names, or leave the file out with `--ignore`. If stdin is empty, see why the command before the pipe printed nothing.",
	},
	{
		Key: UnreleasedImage, Of: Run, Severity: Warning,
		Cause:    "This build of rewrite-probes is not a release and has no image of probe-proxy, so the image of the next release is written: until there is one, pods with it do not start.",
		Fix:      "Set `probeProxy.image` in the functionConfig, or use a release.",
		OfOutput: true,
	},
	{
		Key: UnseenProbe, Of: Run, Severity: Warning,
		Cause: "An object contains something that looks like a probe outside its known pod templates, such as an ephemeral container, a second template or a misspelt field.",
		Fix:   "Remove the probes, correct the name of the field, or add the path to spec.podTemplates of the functionConfig, as the message shows.",
	},
	{
		Key: Variable, Of: Plan, Severity: Warning,
		Cause: "The path or the service of the probe, or the name of its container, has what looks like a variable (`${NAME}`) that another tool is still to substitute. In what rewrite-probes writes it would not be.",
		Fix:   "Run rewrite-probes after the substitution: pipe what Flux, envsubst or another tool makes of the manifest through it.",
	},
	{
		Key: VMConfigInvalid, Of: Group, Severity: Error,
		Cause: "The agent's configuration in `proxy.istio.io/config`, to which the original of the rewritten probe has to be added, is no YAML that Istio's agent can read, or a variable that the rewritten probe needs is missing or set otherwise.",
		Fix:   "Correct the annotation or remove the variable that the message names; a new run of rewrite-probes adds one that is missing.",
	},
	{
		Key: VMGRPCRefused, Of: Group, Severity: Error,
		Cause: "istiod's webhook refuses a WorkloadGroup with a grpc probe, and Istio's agent crashes if the service answers NOT_SERVING.",
		Fix:   "Run rewrite-probes on the manifest: the agent's status server then makes the probe.",
	},
	{
		Key: VMHeaderCase, Of: Group, Severity: Error,
		Cause: "The probe has a header `host` that is not written `Host`: Istio's agent sends it beside its own, and servers answer two with 400.",
		Fix:   "Write `Host`.",
	},
	{
		Key: VMHostRemote, Of: Group, Severity: Error,
		Cause: "The probe names a host other than the machine itself, which Istio's agent does not reach, since it asks from 127.0.0.6.",
		Fix:   "Remove `host`, or write 127.0.0.1 or localhost.",
	},
	{
		Key: VMHTTPSVerified, Of: Group, Severity: Error,
		Cause: "Istio's agent verifies the certificate of an https probe, which the kubelet does not, so that a certificate that is self-signed, or for another name, fails.",
		Fix:   "Run rewrite-probes on the manifest: the agent's status server then makes the probe as the kubelet would. A `host` must be 127.0.0.1 or localhost.",
	},
	{
		Key: VMNoHandler, Of: Group, Severity: Error,
		Cause: "The probe of the WorkloadGroup has no handler, several, or an empty command; Istio's agent crashes on it.",
		Fix:   "Write exactly one of httpGet, tcpSocket, exec and grpc.",
	},
	{
		Key: VMProbeInvalid, Of: Group, Severity: Error,
		Cause: "istiod refuses the probe of the WorkloadGroup: a number, a scheme or a header is not what the API allows.",
		Fix:   "Correct the field that the message names.",
	},
	{
		Key: VMProbeWorks, Of: Group, Severity: Info,
		Cause: "Istio's agent makes this probe of a WorkloadGroup as it is written.",
		Words: "Istio's agent makes it as it is",
	},
	{
		Key: VMSourceDiffers, Of: Group, Severity: Error,
		Cause: "The WorkloadGroup has a probe of its own, and not that of the workload that `rewrite-probes.io/probe-from` names.",
		Fix:   "Remove `spec.probe`, or the annotation.",
	},
	{
		Key: VMSourceExec, Of: Group, Severity: Warning,
		Cause: "The probe that the WorkloadGroup takes from a workload runs a command, which was written for the container.",
		Fix:   "Make sure that the machines have the command, or give the workload a probe over the network.",
	},
	{
		Key: VMSourceUnknown, Of: Group, Severity: Error,
		Cause: "The probe that `rewrite-probes.io/probe-from` names is not there, there are several, or a WorkloadGroup cannot have it.",
		Fix:   "Correct the annotation, name the container in it, or add the workload to the input.",
	},
	{
		Key: VMThresholdDefault, Of: Group, Severity: Warning,
		Cause: "The WorkloadGroup's probe has no `failureThreshold`: Istio's agent takes 1, not 3 as the API's documentation says.",
		Fix:   "Write the `failureThreshold` that is meant.",
	},
	{
		Key: Windows, Of: Plan, Severity: Info,
		Cause:      "The pod runs on Windows, where no mesh has a sidecar.",
		LetThrough: true,
	},
	{
		Key: WouldFail, Of: Run, Severity: Error,
		Cause: "Found by check: the probe or hook fails under strict mTLS, because it is not rewritten, or was edited afterwards. If kustomize should have run the function: without --enable-alpha-plugins and --enable-exec it silently skips it.",
		Fix:   "Run rewrite-probes on the manifest; where it leaves the probe alone, take the cure of that reason.",
	},
	{
		Key: WouldFalselyPass, Of: Run, Severity: Error,
		Cause: "Found by check: the tcpSocket probe reaches the mesh's proxy instead of the app, and passes whether or not the app listens. If kustomize should have run the function: without --enable-alpha-plugins and --enable-exec it silently skips it.",
		Fix:   "Run rewrite-probes on the manifest; where it leaves the probe alone, take the cure of that reason.",
	},
	{
		Key: WrittenAnew, Of: Run, Severity: Warning,
		Cause: "Lines that no edit names were changed: an alias, or a mapping with a merge key, was written out because its value is edited or that of its anchor changed. No other value changed, but comments and quotes may have.",
		Fix:   "Check the named lines in the diff; write them without aliases and merge keys.",
	},
}
