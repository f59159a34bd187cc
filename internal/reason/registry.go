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
	ImageKept             Key = "image-kept"
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
	ProbeEdited           Key = "probe-edited"
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
		Cause: "The probe asks the port where probe-proxy answers, but it is not a rewritten probe.",
		Fix:   "Write the app's port, or set another `port` in the functionConfig.",
	},
	{
		Key: Ambient, Of: Plan, Severity: Info,
		Cause:      "The pod is in Istio's ambient mode, without a sidecar. On the node, Istio's CNI agent gives the kubelet's connections the source address 169.254.7.127. ztunnel lets them through.",
		Fix:        "Allow 169.254.7.127 (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff) in NetworkPolicies. With Calico's eBPF mode, use Calico 3.29 or later.",
		LetThrough: true,
	},
	{
		Key: AmbientNetworkPolicy, Of: Plan, Severity: Warning,
		Cause: "The pod is in Istio's ambient mode, where the kubelet's probes come from 169.254.7.127. A NetworkPolicy in the input keeps that address out. So the probes fail, except if the cluster's network lets the address through.",
		Fix:   "Allow 169.254.7.127/32 in the NetworkPolicy (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128).",
	},
	{
		Key: AnnotationInvalid, Of: Plan, Severity: Error,
		Cause: "The value of a boolean annotation is neither true nor false. A guess could do the opposite of what its author wants.",
		Fix:   "Write \"true\" or \"false\".",
	},
	{
		Key: AnnotationMisplaced, Of: Plan, Severity: Warning,
		Cause: "Istio does not read `sidecar.istio.io/rewriteAppHTTPProbers` on a workload, only on the pod template.",
		Fix:   "Move it to `spec.template.metadata.annotations`.",
	},
	{
		Key: AnnotationsUnknown, Of: Plan, Severity: Error,
		Cause: "The pod template is a pod spec without metadata. So the annotation that the mesh needs has no place.",
		Fix:   "Give the entry of `podTemplates` its `metadata` path, such as spec.podMetadata. Or exclude the object.",
	},
	{
		Key: ConsulUID, Of: Plan, Severity: Warning,
		Cause: "Consul redirects what probe-proxy sends to the pod's own IP. So its tcpSocket probes pass even if the app is down.",
		Fix:   "Set `probeProxy.securityContext.runAsUser: 5996`, or add its uid to the annotation `consul.hashicorp.com/transparent-proxy-exclude-uids`.",
	},
	{
		Key: ContainerName, Of: Plan, Severity: Warning,
		Cause: "The container's name is empty, has a slash, or is there twice. So no path can name its probes.",
		Fix:   "Give the container a unique name without a slash.",
	},
	{
		Key: Dangling, Of: Plan, Severity: Warning,
		Cause: "The probe looks rewritten, but no container of the pod stores its original.",
		Fix:   "Write the original probe back. Also delete `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` if a run added it: it opts the pod out.",
	},
	{
		Key: Encrypted, Of: Run, Severity: Warning,
		Cause: "SOPS has encrypted the manifest. Its checksum covers all values, the readable ones too. After an edit, the manifest could not be decrypted.",
		Fix:   "Run rewrite-probes on the decrypted manifest, such as the output of `sops decrypt`.",
	},
	{
		Key: EnvUnreadable, Of: Plan, Severity: Error,
		Cause: "The env var with the original probes is not valid. So the originals are unknown.",
		Fix:   "Correct the value. Or delete the container or env var, and write the original probes.",
	},
	{
		Key: ExcludedPort, Of: Plan, Severity: Info,
		Cause: "The app answers the probe itself (`answeredBy: app`). An annotation keeps the port out of the mesh.",
	},
	{
		Key: ExecWorkaround, Of: Plan, Severity: Info,
		Cause: "The exec probe runs curl, wget, nc or grpc_health_probe against its own pod. It needs a shell or a tool in the image, and starts a process each time.",
		Fix:   "Write the probe that the message names, and run rewrite-probes. The app must listen on the pod's IP.",
	},
	{
		Key: FSMInjector, Of: Plan, Severity: Warning,
		Cause: "The injector of Flomesh Service Mesh rewrites the probes of this pod itself. It would send rewritten probes to themselves. It rewrites no grpc probes and no hooks, so they fail.",
		Fix:   "Make grpc probes and hooks exec. Or set `flomesh.io/sidecar-injection: disabled`, and put the proxy into the manifest.",
	},
	{
		Key: HandlerUnknown, Of: Plan, Severity: Warning,
		Cause: "This version does not know a field or value of the probe or hook, so it could not preserve it.",
		Fix:   "Correct the name, remove the field, or use a newer version.",
	},
	{
		Key: HelmTemplate, Of: Run, Severity: Warning,
		Cause:   "A Helm chart, a template or the values of a chart are not manifests. Or an object has a variable that another tool substitutes.",
		Fix:     "Pipe the rendered manifests through rewrite-probes, or skip the file with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: HookNeverWorks, Of: Plan, Severity: Warning,
		Cause: "The kubelet runs httpGet, exec and sleep hooks only. Any other hook fails, with or without a mesh.",
		Fix:   "Make it an httpGet or exec hook.",
	},
	{
		Key: HostNetwork, Of: Plan, Severity: Info,
		Cause:      "The pod uses the node's network, which no mesh captures.",
		LetThrough: true,
	},
	{
		Key: HostSet, Of: Plan, Severity: Warning,
		Cause: "The probe asks the `host` that it names, not the pod. So no container of the pod can answer for it.",
		Fix:   "Remove `host`. Pod Security refuses it too.",
	},
	{
		Key: ImageKept, Of: Plan, Severity: Info,
		Cause: "The manifest has an image of probe-proxy that is not the default of this or an earlier version. Somebody pinned or moved it.",
		Fix:   "To have it replaced, name the image in `probeProxy.image` of the functionConfig.",
	},
	{
		Key: IngressHealthCheck, Of: Plan, Severity: Warning,
		Cause: "The Ingress controllers of GKE and of Azure's Application Gateway copy the load balancer's health check from a probe of the Service's port. After the rewriting they ask for / instead.",
		Fix:   "Write the probe's path in a BackendConfig (GKE), or in the annotation `appgw.ingress.kubernetes.io/health-probe-path` (Azure).",
	},
	{
		Key: InitContainer, Of: Plan, Severity: Warning,
		Cause: "An init container that is not a native sidecar has probes or hooks. The API server refuses that.",
		Fix:   "Remove them, or set `restartPolicy: Always`.",
	},
	{
		Key: InjectUnclear, Of: Plan, Severity: Warning,
		Cause: "The label or annotation for injection has a value that the mesh does not know.",
		Fix:   "Write one of the values that the message names.",
	},
	{
		Key: InjectionOff, Of: Plan, Severity: Info,
		Cause:      "The pod template turns off the injection of the mesh proxy, so the mesh captures nothing.",
		LetThrough: true,
	},
	{
		Key: InjectorRewrites, Of: Plan, Severity: Info,
		Cause: "Istio's injector rewrites the probes of this pod, by an annotation or the functionConfig.",
		Fix:   "To rewrite them in the manifests, remove `istio.injectorRewrites` from the functionConfig, or the annotation.",
	},
	{
		Key: InterceptionNone, Of: Plan, Severity: Info,
		Cause:      "Istio does not redirect the connections of this pod (`interceptionMode: NONE`). So the kubelet reaches the app.",
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
		Fix:   "Correct the field.",
	},
	{
		Key: IstioOptOut, Of: Plan, Severity: Info,
		Cause:     "The pod template has `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"`.",
		Fix:       "Remove the annotation to rewrite the probes.",
		OnPurpose: true,
	},
	{
		Key: JobExitCodes, Of: Plan, Severity: Info,
		Cause: "A rule of the Job's podFailurePolicy has no containerName, so it counts the exit code of each container. probe-proxy exits with 0, unless the kernel or the node kills it.",
		Fix:   "Name the container in the rule.",
	},
	{
		Key: JobNeverFinishes, Of: Plan, Severity: Error,
		Cause: "The pod has to finish, but an ordinary container probe-proxy would keep it running.",
		Fix:   "Set `probeProxy.placement: native`.",
	},
	{
		Key: JobRestarts, Of: Plan, Severity: Info,
		Cause: "The Job has `backoffLimit: 0` and restarts containers. It fails after the first restart of any container, also of probe-proxy.",
		Fix:   "Set `backoffLimit` to 1 or more, or `restartPolicy: Never`.",
	},
	{
		Key: KindMisspelt, Of: Run, Severity: Warning,
		Cause: "The API group has no such kind, but Kubernetes has one with nearly the same name.",
		Fix:   "Write the kind that the message names.",
	},
	{
		Key: KumaHost, Of: Plan, Severity: Warning,
		Cause: "Kuma 2.13 and 2.14 redirect the kubelet to the host of the probe's Host header. The kubelet counts a redirect to another host as success.",
		Fix:   "Remove the header, make the probe exec, or use another version of Kuma.",
	},
	{
		Key: Link, Of: Run, Severity: Info,
		Cause:   "A walk does not follow links to folders, so rewrite-probes did not look into that folder.",
		Fix:     "Pass that folder too, or skip the link with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	{
		Key: MayFail, Of: Run, Severity: Warning,
		Cause: "`check` found a probe or hook that fails if something is true that the input does not show.",
		Fix:   "Run rewrite-probes: its output works either way. Or declare the fact that the message names.",
	},
	{
		Key: MayFalselyPass, Of: Run, Severity: Warning,
		Cause: "`check` found a tcpSocket probe that passes even if the app is down, if something is true that the input does not show.",
		Fix:   "Run rewrite-probes: its output works either way. Or declare the fact that the message names.",
	},
	{
		Key: NameTaken, Of: Plan, Severity: Error,
		Cause: "A container of yours has the name of the container that rewrite-probes adds.",
		Fix:   "Rename yours, or set `probeProxy.name`.",
	},
	{
		Key: NamespaceLimits, Of: Plan, Severity: Warning,
		Cause: "A LimitRange or ResourceQuota in the input refuses the container probe-proxy, so the API server would refuse the pods.",
		Fix:   "Set `probeProxy.resources`, or raise the limit of the namespace.",
	},
	{
		Key: NamespaceNotInjected, Of: Plan, Severity: Info,
		Cause:      "The mesh injects no proxy in this namespace, so nothing captures the probes.",
		LetThrough: true,
	},
	{
		Key: NoManifest, Of: Run, Severity: Info,
		Cause:   "The file has no Kubernetes object. It is empty, a list, or has no kind. Or it is a template or a patch without probes.",
		SameFix: true,
	},
	{
		Key: NoNetwork, Of: Plan, Severity: Info,
		Cause: "The handler is exec or sleep. The kubelet runs it in the container, so its connection never reaches the mesh. The command's own calls may.",
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
		Cause:   "A kustomization needs resources or a chart that are not in the input. So `check` and `explain` did not see their probes.",
		Fix:     "Run `kustomize build DIR | rewrite-probes check -`. Or skip the kustomization with `--ignore`, or pass `--allow-empty`.",
		SameFix: true,
	},
	{
		Key: NotOneHandler, Of: Plan, Severity: Warning,
		Cause: "The probe or hook has no handler, or several. The API server refuses that.",
		Fix:   "Write one handler.",
	},
	{
		Key: NotPatchable, Of: Run, Severity: Error,
		Cause: "`patches` found that kustomize cannot make the change as a patch. It rounds whole numbers above 2^53 in every object that it patches. Flux may change a `$`. The original of a WorkloadGroup's probe must stay with the group.",
		Fix:   "Write the number as a string, exclude the object, or run rewrite-probes as a function or in a pipe.",
	},
	{
		Key: NotRendered, Of: Run, Severity: Error,
		Cause:   "A chart or a template is not rendered, or a variable is not substituted. So `check` and `explain` did not see the probes.",
		Fix:     "Pipe the rendered manifests into `rewrite-probes check -`. Or skip the file with `--ignore`, or pass `--allow-empty`.",
		SameFix: true,
	},
	{
		Key: NotRewritten, Of: Plan, Severity: Info,
		Cause: "The probe is not rewritten, so `restore` has nothing to do.",
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
		Cause:      "`inject.istio.io/templates` makes Istio inject a template that captures no connections, such as grpc-agent or a gateway. So the probes work.",
		LetThrough: true,
	},
	{
		Key: NothingSeen, Of: Run, Severity: Error,
		Cause: "The input has no pod template. So `check` and `explain` cannot find anything.",
		Fix:   "Pipe the output of kustomize, Helm or another tool into the command. Or pass `--allow-empty`.",
	},
	{
		Key: OptOut, Of: Plan, Severity: Info,
		Cause:     "The pod template, the workload or its Namespace has `rewrite-probes.io/rewrite: \"false\"`.",
		Fix:       "Remove the annotation to rewrite the probes.",
		OnPurpose: true,
	},
	{
		Key: OptionsUnfit, Of: Plan, Severity: Error,
		Cause: "With `mesh: auto`, the pod is in a mesh where an option of the functionConfig cannot work.",
		Fix:   "Change the option, or exclude the object.",
	},
	{
		Key: OriginalReplaced, Of: Plan, Severity: Error,
		Cause: "The pod template stores the original of a probe, but the probe is now neither the rewritten one nor the original. Another rewriting would lose the original.",
		Fix:   "Write the rewritten path or the original back. Or delete the stored original if the new probe is right.",
	},
	{
		Key: OriginalsAmbiguous, Of: Plan, Severity: Error,
		Cause: "The probe looks rewritten, but the pod template does not show its original. Rewriting would lose it.",
		Fix:   "Write the path of its original, or the original probe.",
	},
	{
		Key: OSMInjector, Of: Plan, Severity: Warning,
		Cause: "The injector of Open Service Mesh rewrites the probes of this pod itself. It would send rewritten probes to themselves. It rewrites no grpc probes and no hooks, so they fail.",
		Fix:   "Make grpc probes and hooks exec. Or set `openservicemesh.io/sidecar-injection: disabled`, and put the proxy into the manifest.",
	},
	{
		Key: OtherMesh, Of: Plan, Severity: Warning,
		Cause: "A label or an annotation puts the pod into another mesh than the functionConfig's `mesh`.",
		Fix:   "Set `mesh: auto`, or exclude the object.",
	},
	{
		Key: Patch, Of: Run, Severity: Warning,
		Cause:   "A kustomize patch is not a complete object. kustomize merges it into an object, and the container that answers needs that object's probes. A patch may also change the additions of the rewriting.",
		Fix:     "Use rewrite-probes as a kustomize function, or pipe the output of `kustomize build` through it.",
		SameFix: true,
	},
	{
		Key: PathFindsNothing, Of: Run, Severity: Warning,
		Cause: "An entry of `podTemplates` names a kind, but no object of that kind has a pod template at its path.",
		Fix:   "Correct the path. It must lead to a mapping with `spec` or with a list `containers`.",
	},
	{
		Key: PodLevelResources, Of: Plan, Severity: Warning,
		Cause: "The pod has its own resources, and one of them is missing. Kubernetes 1.37 computes it from the containers. So another container changes it, and may change the pod's QoS class.",
		Fix:   "Write requests and limits of cpu and memory under the pod's `resources`.",
	},
	{
		Key: PortCollision, Of: Plan, Severity: Error,
		Cause: "In an injected pod, Istio's sidecar listens on its status port. probe-proxy would listen on the same port.",
		Fix:   "Remove `port` from the functionConfig, or set another.",
	},
	{
		Key: PortExposed, Of: Plan, Severity: Error,
		Cause: "With `answeredBy: app`, the mesh would stop capturing the probe's port. A Service leads to that port, so its traffic would lose mTLS and every policy of the mesh.",
		Fix:   "Set `answeredBy: probe-proxy`. Or give the probe a separate port that no Service leads to.",
	},
	{
		Key: PortExposedElsewhere, Of: Plan, Severity: Warning,
		Cause: "With `answeredBy: app`, the mesh stops capturing the probe's port. A Service in another branch of the folders leads to that port. If the branch is about the same cluster, its traffic loses mTLS and every policy of the mesh.",
		Fix:   "Run rewrite-probes on one stream of all that you apply together. Or set `answeredBy: probe-proxy`.",
	},
	{
		Key: PortInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's port is missing, or is not between 1 and 65535.",
		Fix:   "Write the app's port.",
	},
	{
		Key: PortListInvalid, Of: Plan, Severity: Warning,
		Cause: "The value of an annotation for ports is not a list of ports. The mesh refuses such pods.",
		Fix:   "Write port numbers with commas between them.",
	},
	{
		Key: PortListUnreadable, Of: Plan, Severity: Error,
		Cause: "The annotation for ports that the mesh does not capture is not a list. So rewrite-probes cannot add its port.",
		Fix:   "Write port numbers with commas between them.",
	},
	{
		Key: PortNotCaptured, Of: Plan, Severity: Info,
		Cause:      "The mesh does not capture the probe's port, so the probe works.",
		LetThrough: true,
	},
	{
		Key: PortTaken, Of: Plan, Severity: Error,
		Cause: "A container declares the port where rewritten probes are answered, or one of its probes asks it.",
		Fix:   "Set another `port` in the functionConfig, or move the app.",
	},
	{
		Key: PortUnresolved, Of: Plan, Severity: Warning,
		Cause: "The probe names a port that its container does not have, or is a grpc probe with a port name. The kubelet refuses the probe before it makes it, and counts no failure. Istio's injector turns it into a probe that gets 400.",
		Fix:   "Write a number, or declare the name under `ports` of the container.",
	},
	{
		Key: PostStartOrder, Of: Plan, Severity: Error,
		Cause: "The hook runs before the next container starts, and istio-proxy may not run by then.",
		Fix:   "Set `answeredBy: auto` or `probe-proxy`. Or declare `istio.nativeSidecars` or `istio.holdApplicationUntilProxyStarts`.",
	},
	{
		Key: ProbeEdited, Of: Plan, Severity: Info,
		Cause: "Somebody changed the port or the scheme of a rewritten probe, such as a setter or an overlay. The change is about the app.",
		Fix:   "If it is a mistake, restore the probe, correct it and rewrite it again.",
	},
	{
		Key: ProbePortCaptured, Of: Plan, Severity: Error,
		Cause: "The pod template makes the mesh capture the port where rewritten probes are answered. So the kubelet cannot reach it.",
		Fix:   "Remove the port from that list, or set `answeredBy: probe-proxy`.",
	},
	{
		Key: ProbesMadeElsewhere, Of: Plan, Severity: Info,
		Cause:     "The kind's controller replaces the probes of the pod template. Knative Serving's queue-proxy makes readiness probes inside the pod, and liveness probes get the app's port.",
		Fix:       "Let Istio's injector rewrite them: do not set `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` there.",
		OnPurpose: true,
	},
	{
		Key: ProxyCannotAnswer, Of: Plan, Severity: Warning,
		Cause: "The probe is gRPC over TLS, or HTTP/2 without TLS (Kubernetes 1.37). The mesh proxy cannot make that probe.",
		Fix:   "Set `answeredBy: probe-proxy`.",
	},
	{
		Key: ProxyContainer, Of: Plan, Severity: Info,
		Cause: "The container is the mesh proxy, whose ports the mesh does not capture.",
		Words: "the mesh's own proxy",
	},
	{
		Key: ProxyInInitContainers, Of: Plan, Severity: Warning,
		Cause: "An istio-proxy with `image: auto` is under `initContainers`. An injector without native sidecars adds a second one, and the API server refuses the pod.",
		Fix:   "Move it to `containers`.",
	},
	{
		Key: ProxyLimits, Of: Plan, Severity: Warning,
		Cause: "A LimitRange in the input has defaults. The API server sets them before Istio's injector sees the pod, and they replace the injector's values.",
		Fix:   "Set `istioProxy.resources` in the functionConfig to the values of your mesh.",
	},
	{
		Key: ProxyUID, Of: Plan, Severity: Error,
		Cause: "probe-proxy would run as the user or group of the mesh proxy. The mesh does not capture the connections of that user.",
		Fix:   "Set `probeProxy.securityContext.runAsUser` or `runAsGroup`.",
	},
	{
		Key: QoSClass, Of: Plan, Severity: Info,
		Cause: "The configured resources of probe-proxy change the pod's QoS class.",
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
		Cause: "A request or limit is not a quantity, so the pod's QoS class is unknown. probe-proxy gets the resources of a Burstable pod.",
		Fix:   "Write a quantity, or set `probeProxy.resources`.",
	},
	{
		Key: Restored, Of: Run, Severity: Info,
		Cause: "The probe has its original handler again.",
	},
	{
		Key: RewriterNeeded, Of: Plan, Severity: Error,
		Cause: "The other probes of the pod need the mesh's rewriter off, but that rewriter may serve this unchanged probe today. Then the probe would begin to fail.",
		Fix:   "Rewrite this probe too, or opt out the pod (`rewrite-probes.io/rewrite: \"false\"`).",
	},
	{
		Key: Rewritten, Of: Run, Severity: Info,
		Cause: "rewrite-probes rewrote the probe or hook.",
	},
	{
		Key: SchemeInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's scheme is neither HTTP nor HTTPS. The API server refuses that.",
		Fix:   "Write HTTP or HTTPS, in capitals.",
	},
	{
		Key: SkippedContainer, Of: Plan, Severity: Info,
		Cause:     "The annotation `rewrite-probes.io/skip-containers` names the container.",
		Fix:       "Remove the name from the annotation to rewrite the probes.",
		OnPurpose: true,
	},
	{
		Key: StartsBeforeAnswerer, Of: Plan, Severity: Warning,
		Cause: "The native sidecar starts before the container that answers its rewritten probes. So the pod would never start.",
		Fix:   "Set `probeProxy.placement: native`, with `answeredBy: probe-proxy`: it starts first.",
	},
	{
		Key: StatusPortInvalid, Of: Plan, Severity: Error,
		Cause: "`status.sidecar.istio.io/port` names a port where Istio's sidecar cannot answer rewritten probes.",
		Fix:   "Write a free port, or remove the annotation.",
	},
	{
		Key: TimeoutInvalid, Of: Plan, Severity: Warning,
		Cause: "The probe's timeout is negative or too large. The API server refuses that.",
		Fix:   "Write the timeout in seconds.",
	},
	{
		Key: TwoMeshes, Of: Plan, Severity: Error,
		Cause: "Labels or annotations put the pod into two meshes. Only one can capture it.",
		Fix:   "Remove one of the two, or turn its injection off in the pod template.",
	},
	{
		Key: UnknownContainer, Of: Plan, Severity: Warning,
		Cause: "`rewrite-probes.io/skip-containers` names a container that the pod does not have.",
		Fix:   "Correct the name.",
	},
	{
		Key: UnknownKind, Of: Run, Severity: Warning,
		Cause: "An object of an unknown kind has something that looks like a probe.",
		Fix:   "If pods are made of it, add it to spec.podTemplates of the functionConfig. Else exclude the object.",
	},
	{
		Key: UnknownTemplate, Of: Plan, Severity: Warning,
		Cause: "`inject.istio.io/templates` names custom templates and not `sidecar`. So the input does not show whether an istio-proxy answers.",
		Fix:   "Add `sidecar` to the list. Or declare the container istio-proxy with `image: auto`.",
	},
	{
		Key: Unreadable, Of: Run, Severity: Error,
		Cause: "A file or stdin is missing, or is not UTF-8, not YAML, or not a manifest.",
		Fix:   "Correct the file, or skip it with `--ignore`. If stdin is empty, see why the command before the pipe printed nothing.",
	},
	{
		Key: UnreleasedImage, Of: Run, Severity: Warning,
		Cause:    "This build is not a release, so it writes the image of the next release. Pods cannot start until that exists.",
		Fix:      "Set `probeProxy.image`, or install a release.",
		OfOutput: true,
	},
	{
		Key: UnseenProbe, Of: Run, Severity: Warning,
		Cause: "An object has something that looks like a probe outside its pod templates, such as an ephemeral container or a misspelt field.",
		Fix:   "Remove the probes, correct the field's name, or add the path to spec.podTemplates of the functionConfig.",
	},
	{
		Key: Variable, Of: Plan, Severity: Warning,
		Cause: "The probe, or its container's name, has something that looks like a variable (`${NAME}`). Nothing would substitute it in the env var that stores the original.",
		Fix:   "Run rewrite-probes after the substitution.",
	},
	{
		Key: VMConfigInvalid, Of: Group, Severity: Error,
		Cause: "Istio's agent cannot read its configuration in `proxy.istio.io/config`, or a variable there does not fit the rewritten probe.",
		Fix:   "Correct the annotation, or run rewrite-probes again.",
	},
	{
		Key: VMGRPCRefused, Of: Group, Severity: Error,
		Cause: "istiod's webhook refuses a WorkloadGroup with a grpc probe. Istio's agent crashes if the service answers NOT_SERVING.",
		Fix:   "Run rewrite-probes: then the agent's status server makes the probe.",
	},
	{
		Key: VMHeaderCase, Of: Group, Severity: Error,
		Cause: "The probe has a header `host` that is not written `Host`. Istio's agent sends two Host headers, and servers answer 400.",
		Fix:   "Write `Host`.",
	},
	{
		Key: VMHostRemote, Of: Group, Severity: Error,
		Cause: "The probe names a host other than the machine. Istio's agent asks from 127.0.0.6, so it cannot reach another host.",
		Fix:   "Remove `host`, or write 127.0.0.1 or localhost.",
	},
	{
		Key: VMHTTPSVerified, Of: Group, Severity: Error,
		Cause: "Istio's agent verifies the certificate of an https probe, and the kubelet does not. A self-signed certificate, or one for another name, fails.",
		Fix:   "Run rewrite-probes: then the agent's status server makes the probe, as the kubelet would.",
	},
	{
		Key: VMNoHandler, Of: Group, Severity: Error,
		Cause: "The probe of the WorkloadGroup has no handler, several, or an empty command. Istio's agent crashes on it.",
		Fix:   "Write one of httpGet, tcpSocket, exec and grpc.",
	},
	{
		Key: VMProbeInvalid, Of: Group, Severity: Error,
		Cause: "istiod refuses the probe of the WorkloadGroup: the API does not allow a number, a scheme or a header.",
		Fix:   "Correct the field.",
	},
	{
		Key: VMProbeWorks, Of: Group, Severity: Info,
		Cause: "Istio's agent makes this probe of a WorkloadGroup as its author wrote it.",
		Words: "Istio's agent makes it as it is",
	},
	{
		Key: VMSourceDiffers, Of: Group, Severity: Error,
		Cause: "The WorkloadGroup has a different probe than the workload that `rewrite-probes.io/probe-from` names.",
		Fix:   "Remove `spec.probe`, or the annotation `rewrite-probes.io/probe-from`.",
	},
	{
		Key: VMSourceExec, Of: Group, Severity: Warning,
		Cause: "The WorkloadGroup takes an exec probe from a workload. Its command is for the container.",
		Fix:   "Install the command on the machines, or give the workload a probe over the network.",
	},
	{
		Key: VMSourceUnknown, Of: Group, Severity: Error,
		Cause: "The probe that `rewrite-probes.io/probe-from` names is missing, there are several, or a WorkloadGroup cannot have it.",
		Fix:   "Correct the annotation, name the container in it, or add the workload to the input.",
	},
	{
		Key: VMThresholdDefault, Of: Group, Severity: Warning,
		Cause: "The probe of the WorkloadGroup has no `failureThreshold`. Istio's agent takes 1, not the documented 3.",
		Fix:   "Write `failureThreshold`.",
	},
	{
		Key: Windows, Of: Plan, Severity: Info,
		Cause:      "The pod runs on Windows, where no mesh has a sidecar.",
		LetThrough: true,
	},
	{
		Key: WouldFail, Of: Run, Severity: Error,
		Cause: "`check` found a probe or hook that fails under strict mTLS, because it is not rewritten or somebody edited it later. If kustomize should run the function: without --enable-alpha-plugins and --enable-exec it skips it silently.",
		Fix:   "Run rewrite-probes.",
	},
	{
		Key: WouldFalselyPass, Of: Run, Severity: Error,
		Cause: "`check` found a tcpSocket probe that reaches the mesh proxy, not the app. So it passes even if the app is down. If kustomize should run the function: without --enable-alpha-plugins and --enable-exec it skips it silently.",
		Fix:   "Run rewrite-probes.",
	},
	{
		Key: WrittenAnew, Of: Run, Severity: Warning,
		Cause: "rewrite-probes wrote out an alias, or a mapping with a merge key, because it edits its value. No other value changed, but comments and quotes may have.",
		Fix:   "Check the lines in the diff. To keep them, write them without aliases and merge keys.",
	},
}
