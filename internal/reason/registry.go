package reason

// The keys, each with a row in docs.
const (
	None Key = iota
	AimsAtProbePort
	Ambient
	AmbientNetworkPolicy
	AnnotationInvalid
	AnnotationMisplaced
	AnnotationMisspelt
	AnnotationsUnknown
	AppElsewhere
	ClusterFactUnread
	ClusterUnread
	ConfigDiffers
	ConfigMisspelt
	ConsulUID
	ContainerName
	Dangling
	EmptyList
	Encrypted
	EnvUnreadable
	ExcludedPort
	ExecWorkaround
	FilterUnknown
	FSMInjector
	HandlerUnknown
	HelmTemplate
	HookNeverWorks
	HostNetwork
	HostSet
	ImageKept
	IngressHealthCheck
	InitContainer
	InjectUnclear
	InjectionOff
	InjectorRewrites
	InjectorUnknown
	InterceptionNone
	InternalError
	InvalidManifest
	IstioOptOut
	JobExitCodes
	JobNeverFinishes
	JobRestarts
	KindMisspelt
	KumaHost
	Link
	MadeByKubelet
	MarkMisplaced
	MayFail
	MayFalselyPass
	MTLSPermissive
	NameTaken
	NamespaceLimits
	NamespaceNotInjected
	NewerProbe
	NoManifest
	NoNetwork
	NoText
	NotBuilt
	NotOneHandler
	NotPatchable
	NotRendered
	NotRewritten
	NotSelected
	NotSidecarTemplate
	NothingSeen
	ObsoleteIstio
	OptOut
	OptedOut
	OptionsUnfit
	OriginalReplaced
	OriginalsAmbiguous
	OSMInjector
	OtherMesh
	Patch
	PathFindsNothing
	PodLevelResources
	PortCollision
	PortExposed
	PortExposedElsewhere
	PortInvalid
	PortListInvalid
	PortListUnreadable
	PortNotCaptured
	PortTaken
	PortUnresolved
	PostStartOrder
	ProbeEdited
	ProbePortCaptured
	ProbeProxyEdited
	ProbesInText
	ProbesMadeElsewhere
	ProxyCannotAnswer
	ProxyContainer
	ProxyInInitContainers
	ProxyLimits
	ProxyUID
	QoSClass
	Release
	ResourcesUnreadable
	Restored
	RewriterNeeded
	Rewritten
	SchemeInvalid
	SkippedContainer
	StartsBeforeAnswerer
	StatusPortInvalid
	TimeoutInvalid
	TwoMeshes
	UnknownContainer
	UnknownKind
	UnknownTemplate
	Unreadable
	UnreleasedImage
	UnseenProbe
	Variable
	VirtualNode
	VMConfigInvalid
	VMGRPCRefused
	VMHeaderCase
	VMHostRemote
	VMHTTPSVerified
	VMNoHandler
	VMProbeInvalid
	VMProbeWorks
	VMSourceDiffers
	VMSourceExec
	VMSourceUnknown
	VMThresholdDefault
	Windows
	WouldFail
	WouldFalselyPass
	WrittenAnew
)

// docs has the row of each key, and an empty one for None.
var docs = [...]Doc{
	AimsAtProbePort: {
		Name: "aims-at-probe-port", Of: Plan, Severity: Warning,
		Cause: "The probe asks the port where probe-proxy or Istio's agent answers, but it is not a rewritten probe.",
		Fix:   "Write the app's port, or set another `port` in the functionConfig.",
		Words: "it asks the port of probe-proxy or of Istio's agent",
	},
	Ambient: {
		Name: "ambient", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The pod is in Istio's ambient mode, without a sidecar. On the node, Istio's CNI agent gives the kubelet's connections the source address 169.254.7.127. ztunnel lets them through.",
		Fix:        "Allow 169.254.7.127 (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff) in NetworkPolicies. With Calico's eBPF mode, use Calico 3.29 or later.",
		LetThrough: true,
		Words:      "the pod is in ambient mode, without a sidecar",
	},
	AmbientNetworkPolicy: {
		Name: "ambient-network-policy", Of: Plan, Severity: Warning,
		Cause: "The pod is in Istio's ambient mode, where the kubelet's probes come from 169.254.7.127. A policy in the input keeps that address out, or may do so: of Kubernetes, Cilium, Calico, or EKS. So the probes fail, except if the cluster's network lets the address through.",
		Fix:   "Allow 169.254.7.127/32 in the policy (IPv6: fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128).",
	},
	AnnotationInvalid: {
		Name: "annotation-invalid", Of: Plan, Severity: Error,
		Cause: "The value of a boolean annotation is neither true nor false. A guess could do the opposite of what its author wants.",
		Fix:   "Write \"true\" or \"false\".",
	},
	AnnotationMisplaced: {
		Name: "annotation-misplaced", Of: Plan, Severity: Warning,
		Cause: "A label or annotation has no effect where it is. Istio reads `istio-injection` only as a label of a Namespace, and its annotations only on the pod template. rewrite-probes has no labels for itself.",
		Fix:   "Move it to `spec.template.metadata.annotations`.",
	},
	AnnotationMisspelt: {
		Name: "annotation-misspelt", Of: Plan, Severity: Warning,
		Cause: "The name of an annotation begins with `rewrite-probes.io/`, but rewrite-probes has no such annotation. So it has no effect.",
		Fix:   "Write `rewrite-probes.io/rewrite` or `rewrite-probes.io/skip-containers`, or remove it.",
	},
	AnnotationsUnknown: {
		Name: "annotations-unknown", Of: Plan, Severity: Error,
		Cause: "The pod template is a pod spec without metadata. So the annotation that the mesh needs has no place.",
		Fix:   "Give the entry of `podTemplates` its `metadata` path, such as spec.podMetadata. Or exclude the object.",
	},
	AppElsewhere: {
		Name: "app-elsewhere", Of: Plan, Severity: Error,
		Cause: "By a Sidecar of Istio, the app does not listen where the probe would ask. Envoy sends what comes to the port to another port or to a socket. Or you set `answeredBy: app`, and the app listens only on 127.0.0.1, or Envoy on the port. The kubelet asks the pod's IP. Or the pod has apps on 127.0.0.1 and on [::1].",
		Fix:   "Set the port of the probe to the app's own, or set `answeredBy: probe-proxy`.",
		Words: "the app may not listen on its port",
	},
	ClusterFactUnread: {
		Name: "cluster-fact-unread", Of: Run, Severity: Info,
		Cause:  "The cluster did not let `--cluster` read a type that says something about the mesh. So a fact stays unknown.",
		Fix:    "Allow `list` for the type, or declare the fact in the functionConfig.",
		Always: true,
	},
	ClusterUnread: {
		Name: "cluster-unread", Of: Run, Severity: Error,
		Cause: "The cluster did not let `--cluster` read a type that makes pods. So their probes were not checked.",
		Fix:   "Allow `list` for the type. Or pass `--namespace` with a namespace that you may read.",
	},
	ConfigDiffers: {
		Name: "config-differs", Of: Run, Severity: Info,
		Cause:  "The functionConfig and the cluster of `--cluster` say different things about Istio, and the functionConfig wins. Or a field for all revisions and one of `istio.revisions` differ, and the field for all wins.",
		Fix:    "Run `rewrite-probes config --cluster -w FILE` with the functionConfig as the file.",
		Always: true,
	},
	ConfigMisspelt: {
		Name: "config-misspelt", Of: Run, Severity: Warning,
		Cause: "The functionConfig names a kind, a namespace or an object that is nowhere in the input. The input has one whose name differs by a letter or two.",
		Fix:   "Write the name as the manifests write it.",
	},
	ConsulUID: {
		Name: "consul-uid", Of: Plan, Severity: Warning,
		Cause: "Consul redirects what probe-proxy sends to the pod's own IP. So its tcpSocket probes pass even if the app is down.",
		Fix:   "Set `probeProxy.securityContext.runAsUser: 5996`, or add its uid to the annotation `consul.hashicorp.com/transparent-proxy-exclude-uids`.",
	},
	ContainerName: {
		Name: "container-name", Of: Plan, Severity: Warning,
		Cause: "The container's name is empty, has a slash, or is there twice. So no path can name its probes.",
		Fix:   "Give the container a unique name without a slash.",
	},
	Dangling: {
		Name: "dangling", Of: Plan, Severity: Warning,
		Cause: "The probe looks rewritten, but no container of the pod stores its original.",
		Fix:   "Write the original probe back. Also delete `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` if a run added it: it opts the pod out.",
		Words: "nothing in the pod has its original",
	},
	EmptyList: {
		Name: "empty-list", Of: Run, Severity: Warning,
		Cause: "The ResourceList of the function has no objects, so there is nothing to rewrite. kustomize gives an empty list to functions under `generators`. `check` reports a kustomization that has rewrite-probes there.",
		Fix:   "If a kustomization lists this function under `generators`, move it to `transformers`.",
	},
	Encrypted: {
		Name: "encrypted", Of: Run, Severity: Warning,
		Cause: "SOPS has encrypted the manifest. Its checksum covers all values, the readable ones too. After an edit, the manifest could not be decrypted.",
		Fix:   "Run `sops decrypt FILE | rewrite-probes -`.",
		Words: "SOPS has encrypted the manifest",
	},
	EnvUnreadable: {
		Name: "env-unreadable", Of: Plan, Severity: Error,
		Cause: "The env var with the original probes is not valid. So the originals are unknown.",
		Fix:   "Correct the value. Or take the manifest from before the rewriting.",
	},
	ExcludedPort: {
		Name: "excluded-port", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause: "The app answers the probe itself (`answeredBy: app`). An annotation keeps the port out of the mesh.",
		Words: "the app answers it, outside of the mesh",
	},
	ExecWorkaround: {
		Name: "exec-workaround", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "The exec probe runs curl, wget, nc or grpc_health_probe against its own pod. It needs a shell or a tool in the image, and starts a process each time.",
		Fix:   "Write a probe that the kubelet makes itself, and run rewrite-probes.",
	},
	FSMInjector: {
		Name: "fsm-injector", Of: Plan, Severity: Warning,
		Cause: "The injector of Flomesh Service Mesh rewrites the probes of this pod itself. It would send rewritten probes to themselves. It rewrites no grpc probes and no hooks, so they fail.",
		Fix:   "Make grpc probes and hooks exec. Or set `flomesh.io/sidecar-injection: disabled`, and declare the proxy.",
	},
	HandlerUnknown: {
		Name: "handler-unknown", Of: Plan, Severity: Warning,
		Cause: "This version does not know a field or value of the probe or hook, so it could not preserve it.",
		Fix:   "Correct or remove the field, or use a newer version.",
		Words: "it has a field or value that this version does not know",
	},
	HelmTemplate: {
		Name: "helm-template", Of: Run, Severity: Warning,
		Cause:   "A Helm chart, a template or the values of a chart are not manifests. Or an object has a variable that another tool substitutes.",
		Fix:     "Pipe the rendered manifests through rewrite-probes, or skip the file with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	HookNeverWorks: {
		Name: "hook-never-works", Of: Plan, Severity: Warning,
		Cause: "The kubelet runs httpGet, exec and sleep hooks only. Any other hook fails, with or without a mesh.",
		Fix:   "Make it an httpGet or exec hook.",
		Words: "the kubelet has no such hooks",
	},
	HostNetwork: {
		Name: "host-network", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The pod uses the node's network, which no mesh captures.",
		LetThrough: true,
		Words:      "the pod uses the node's network",
	},
	HostSet: {
		Name: "host-set", Of: Plan, Severity: Warning,
		Cause: "The probe asks the `host` that it names, not the pod. So no container of the pod can answer for it.",
		Fix:   "Remove `host`. Pod Security refuses it too.",
		Words: "it asks another host",
	},
	ImageKept: {
		Name: "image-kept", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "The manifest has an image of probe-proxy that is not the default of this or an earlier version. Somebody pinned or moved it.",
		Fix:   "To have it replaced, name the image in `probeProxy.image` of the functionConfig.",
	},
	IngressHealthCheck: {
		Name: "ingress-health-check", Of: Plan, Severity: Warning,
		Cause: "The Ingress controllers of GKE and of Azure's Application Gateway copy the load balancer's health check from a probe of the Service's port. After the rewriting they ask for / instead.",
		Fix:   "Write the probe's path in a BackendConfig (GKE), or in the annotation `appgw.ingress.kubernetes.io/health-probe-path` (Azure).",
	},
	InitContainer: {
		Name: "init-container", Of: Plan, Severity: Warning,
		Cause: "An init container that is not a native sidecar has probes or hooks. The API server refuses that.",
		Fix:   "Remove them, or set `restartPolicy: Always`.",
		Words: "an init container that ends has no probes",
	},
	InjectUnclear: {
		Name: "inject-unclear", Of: Plan, Severity: Warning,
		Cause: "The label or annotation for injection has a value that the mesh does not know.",
		Fix:   "Write a value that the mesh knows.",
	},
	InjectionOff: {
		Name: "injection-off", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The pod template turns off the injection of the mesh proxy, so the mesh captures nothing.",
		LetThrough: true,
		Words:      "injection is off for the pod",
	},
	FilterUnknown: {
		Name: "filter-unknown", Of: Run, Severity: Info,
		Cause:  "An EnvoyFilter, a WasmPlugin or a TrafficExtension may change what Envoy answers to a probe. `check` does not evaluate it, and names it once a run.",
		Fix:    "Run rewrite-probes: a rewritten probe does not meet the filter.",
		Always: true,
	},
	InjectorRewrites: {
		Name: "injector-rewrites", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause: "Istio's injector rewrites the probes of this pod, by an annotation or the functionConfig.",
		Fix:   "To rewrite the probes, remove that option or annotation.",
	},
	InjectorUnknown: {
		Name: "injector-unknown", Of: Run, Severity: Error,
		Cause:      "Probes of injected pods work if Istio's injector rewrites them, and fail if it does not. Istio's default is to rewrite them. Neither the input nor the functionConfig shows what this mesh does. `check` reports this once for all probes that depend on nothing else. The output of rewrite-probes works either way. The ConfigMap istio-sidecar-injector in the input shows the fact too.",
		Fix:        "Run rewrite-probes. Or use `check --cluster`, or set `istio.injectorRewrites`.",
		MayBeBuilt: true,
	},
	InterceptionNone: {
		Name: "interception-none", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "Istio does not redirect the connections of this pod (`interceptionMode: NONE`). So the kubelet reaches the app.",
		LetThrough: true,
		Words:      "Istio does not redirect connections of the pod",
	},
	InternalError: {
		Name: "internal-error", Of: Run, Severity: Error,
		Cause: "A defect of rewrite-probes itself prevented the rewriting of the object, which was not changed.",
		Fix:   "Report it, with the object. Until it is fixed, leave the object out with `exclude` of the functionConfig.",
	},
	InvalidManifest: {
		Name: "invalid-manifest", Of: Run, Severity: Error,
		Cause: "The API server would refuse the object: a field has the wrong type, or a key is there twice.",
		Fix:   "Correct the field.",
	},
	IstioOptOut: {
		Name: "istio-opt-out", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:     "The pod template has `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"`.",
		Fix:       "Remove the annotation to rewrite the probes.",
		OnPurpose: true,
		Words:     "the annotation sidecar.istio.io/rewriteAppHTTPProbers opts the pod out",
	},
	JobExitCodes: {
		Name: "job-exit-codes", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "A rule of the Job's podFailurePolicy has no containerName, so it counts the exit code of each container. probe-proxy exits with 0, unless the kernel or the node kills it.",
		Fix:   "Name the container in the rule.",
	},
	JobNeverFinishes: {
		Name: "job-never-finishes", Of: Plan, Severity: Error,
		Cause: "The pod has to finish, but an ordinary container probe-proxy would keep it running.",
		Fix:   "Set `probeProxy.placement: native`.",
	},
	JobRestarts: {
		Name: "job-restarts", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "The Job has `backoffLimit: 0` and restarts containers. It fails after the first restart of any container, also of probe-proxy.",
		Fix:   "Set `backoffLimit` to 1 or more, or `restartPolicy: Never`.",
	},
	KindMisspelt: {
		Name: "kind-misspelt", Of: Run, Severity: Warning,
		Cause: "The API group has no such kind, but Kubernetes has one with nearly the same name.",
		Fix:   "Write the `apiVersion` and `kind` that Kubernetes has.",
	},
	KumaHost: {
		Name: "kuma-host", Of: Plan, Severity: Warning,
		Cause: "Kuma 2.13 and 2.14 redirect the kubelet to the host of the probe's Host header. The kubelet counts a redirect to another host as success.",
		Fix:   "Remove the header, make the probe exec, or use another version of Kuma.",
		Words: "its Host header leads Kuma's proxy elsewhere",
	},
	Link: {
		Name: "link", Of: Run, Severity: Info,
		Cause:   "A walk does not follow links to folders, nor links out of the repository. So rewrite-probes did not read the target.",
		Fix:     "Pass the target too, or skip the link with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	MadeByKubelet: {
		Name: "made-by-kubelet", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause: "The functionConfig sets `mesh: none`, and every kubelet makes this probe.",
		Words: "no mesh captures it, and every kubelet makes it",
	},
	MarkMisplaced: {
		Name: "mark-misplaced", Of: Plan, Severity: Warning,
		Cause:      "The pod or its Namespace has a label where the mesh reads an annotation, or the reverse. So the mesh injects nothing.",
		Fix:        "Move it to where the mesh reads it. If the pod is in Istio, set `mesh: istio`.",
		LetThrough: true,
		Words:      "its mark for the mesh is in the wrong place",
	},
	MayFail: {
		Name: "may-fail", Of: Run, Severity: Warning,
		Cause:      "`check` found a probe or hook that fails if something is true that the input does not show. The output of rewrite-probes works either way.",
		Fix:        "Run rewrite-probes.",
		MayBeBuilt: true,
	},
	MayFalselyPass: {
		Name: "may-falsely-pass", Of: Run, Severity: Warning,
		Cause:      "`check` found a tcpSocket probe that passes even if the app is down, if something is true that the input does not show. The output of rewrite-probes works either way.",
		Fix:        "Run rewrite-probes.",
		MayBeBuilt: true,
	},
	MTLSPermissive: {
		Name: "mtls-permissive", Of: Run, Severity: Info,
		Cause:  "The cluster has no PeerAuthentication for these pods. So Istio's sidecars accept plain connections (PERMISSIVE), and the kubelet's probes get through. Under STRICT they do not.",
		Fix:    "Before you set STRICT, run rewrite-probes. `istio: {mtls: STRICT}` in the functionConfig shows each probe.",
		Always: true,
	},
	NameTaken: {
		Name: "name-taken", Of: Plan, Severity: Error,
		Cause: "A container of yours has the name of the container that rewrite-probes adds.",
		Fix:   "Rename yours, or set `probeProxy.name`.",
	},
	NamespaceLimits: {
		Name: "namespace-limits", Of: Plan, Severity: Warning,
		Cause: "A LimitRange or ResourceQuota in the input refuses the container probe-proxy, so the API server would refuse the pods.",
		Fix:   "Set `probeProxy.resources`, or raise the limit of the namespace.",
	},
	NamespaceNotInjected: {
		Name: "namespace-not-injected", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The mesh injects no proxy in this namespace, so nothing captures the probes.",
		LetThrough: true,
		Words:      "the mesh does not inject this namespace",
	},
	NewerProbe: {
		Name: "newer-probe", Of: Plan, Severity: Warning,
		Cause: "No mesh captures the pod, so the kubelet makes the probe. It needs a feature gate that is off by default in Kubernetes 1.37. Without the gate the API server drops the field, and the kubelet asks without TLS or HTTP/2.",
		Fix:   "Set `mesh: none`. probe-proxy then makes the probe on each Kubernetes. Ignore this if the gate is on.",
	},
	NoManifest: {
		Name: "no-manifest", Of: Run, Severity: Info,
		Cause:   "The file has no Kubernetes object. It is empty, a list, or has no kind. Or it is a template or a patch without probes.",
		SameFix: true,
	},
	NoNetwork: {
		Name: "no-network", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause: "The handler is exec or sleep. The kubelet runs it in the container, so its connection never reaches the mesh. The command's own calls may.",
		Words: "the kubelet runs it in the container",
	},
	NoText: {
		Name: "no-text", Of: Run, Severity: Info,
		Cause:   "A file in the folder is not text, or is one value. git checks out a link as a text where links are switched off.",
		Fix:     "Correct the file, or skip it with `--ignore`.",
		SameFix: true, Gate: NotRendered,
	},
	NotBuilt: {
		Name: "not-built", Of: Run, Severity: Error,
		Cause:   "A kustomization needs resources or a chart that are not in the input. So `check` and `explain` did not see their probes.",
		Fix:     "Run `kustomize build DIR | rewrite-probes check -`. Or skip the kustomization with `--ignore`, or pass `--allow-empty`.",
		SameFix: true,
	},
	NotOneHandler: {
		Name: "not-one-handler", Of: Plan, Severity: Warning,
		Cause: "The probe or hook has no handler, or several. The API server refuses that.",
		Fix:   "Write one handler.",
		Words: "it does not have exactly one handler",
	},
	NotPatchable: {
		Name: "not-patchable", Of: Run, Severity: Error,
		Cause: "`patches` found that kustomize cannot make the change as a patch. It rounds whole numbers above 2^53 in every object that it patches. Flux may change a `$`. The original of a WorkloadGroup's probe must stay with the group.",
		Fix:   "Exclude the object in the functionConfig, or run rewrite-probes as a function or in a pipe.",
	},
	NotRendered: {
		Name: "not-rendered", Of: Run, Severity: Error,
		Cause:   "A chart or a template is not rendered, or a variable is not substituted. So `check` and `explain` did not see the probes.",
		Fix:     "Pipe the rendered manifests into `rewrite-probes check -`. Or skip the file with `--ignore`, or pass `--allow-empty`.",
		SameFix: true,
	},
	NotRewritten: {
		Name: "not-rewritten", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause: "rewrite-probes did not rewrite the probe, so `restore` leaves it as it is. Of a manifest that Istio's injector has rewritten, as `istioctl kube-inject` does, it changes nothing.",
		Words: "it was not rewritten",
	},
	NotSelected: {
		Name: "not-selected", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause:     "The functionConfig's `rewrite` does not name this kind of handler.",
		Fix:       "Add it to `rewrite`.",
		OnPurpose: true,
		Words:     "`rewrite` of the functionConfig does not name its handler",
	},
	NotSidecarTemplate: {
		Name: "not-sidecar-template", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "`inject.istio.io/templates` makes Istio inject a template that captures no connections, such as grpc-agent or a gateway. So the probes work.",
		LetThrough: true,
		Words:      "Istio injects a template that captures nothing",
	},
	NothingSeen: {
		Name: "nothing-seen", Of: Run, Severity: Error,
		Cause: "The input has no pod template. So `check` and `explain` cannot find anything.",
		Fix:   "Pipe the output of kustomize, Helm or another tool into the command. Or pass `--allow-empty`.",
	},
	ObsoleteIstio: {
		Name: "obsolete-istio", Of: Run, Severity: Warning,
		Cause: "The object is a Policy or MeshPolicy of authentication.istio.io, or a Service has `auth.istio.io/PORT: NONE`. Istio 1.6 and later ignore both. Old guides used them to keep mutual TLS from a probe's port.",
		Fix:   "Delete the entry or the object. Write a PeerAuthentication for mutual TLS, or a RequestAuthentication for tokens.",
	},
	OptOut: {
		Name: "opt-out", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:     "The pod template, the workload or its Namespace has `rewrite-probes.io/rewrite: \"false\"`.",
		Fix:       "Remove the annotation to rewrite the probes.",
		OnPurpose: true,
		Words:     "the annotation rewrite-probes.io/rewrite opts the pod out",
	},
	OptedOut: {
		Name: "opted-out", Of: Run, Severity: Warning,
		Cause: "`check` found a probe or hook that is certain to fail or pass falsely. An annotation, or the functionConfig's `rewrite`, keeps rewrite-probes from rewriting it. If a fact is unknown that decides, this is a note.",
		Fix:   "Remove the opt-out, or `exclude` the object.",
	},
	OptionsUnfit: {
		Name: "options-unfit", Of: Plan, Severity: Error,
		Cause: "With `mesh: auto`, the pod is in a mesh where an option of the functionConfig cannot work.",
		Fix:   "Change the option, or exclude the object.",
	},
	OriginalReplaced: {
		Name: "original-replaced", Of: Plan, Severity: Error,
		Cause: "The pod template stores the original of a probe, but the probe is now neither the rewritten one nor the original. Another rewriting would lose the original.",
		Fix:   "Write the rewritten path or the original back. Or delete the stored original if the new probe is right.",
	},
	OriginalsAmbiguous: {
		Name: "originals-ambiguous", Of: Plan, Severity: Error,
		Cause: "The probe looks rewritten, but the pod template does not show its original. Rewriting would lose it.",
		Fix:   "Write the path of its original, or the original probe.",
	},
	OSMInjector: {
		Name: "osm-injector", Of: Plan, Severity: Warning,
		Cause: "The injector of Open Service Mesh rewrites the probes of this pod itself. It would send rewritten probes to themselves. It rewrites no grpc probes and no hooks, so they fail.",
		Fix:   "Make grpc probes and hooks exec. Or set `openservicemesh.io/sidecar-injection: disabled`, and declare the proxy.",
		Words: "Open Service Mesh's injector rewrites it",
	},
	OtherMesh: {
		Name: "other-mesh", Of: Plan, Severity: Warning,
		Cause: "A label or an annotation puts the pod into another mesh than the functionConfig's `mesh`.",
		Fix:   "Set `mesh: auto`, or exclude the object.",
	},
	Patch: {
		Name: "patch", Of: Run, Severity: Warning,
		Cause:   "A kustomize patch is not a complete object. kustomize merges it into an object, and the container that answers needs that object's probes. A patch may also change the additions of the rewriting.",
		Fix:     "Use rewrite-probes as a kustomize function, or pipe the output of `kustomize build` through it.",
		SameFix: true,
	},
	PathFindsNothing: {
		Name: "path-finds-nothing", Of: Run, Severity: Warning,
		Cause: "An entry of `podTemplates` names a kind, but no object of that kind has a pod template at its path.",
		Fix:   "Let it lead to a mapping with `spec` or a list `containers`.",
	},
	PodLevelResources: {
		Name: "pod-level-resources", Of: Plan, Severity: Warning,
		Cause: "The pod has its own resources, and one of them is missing. Kubernetes 1.37 computes it from the containers. So another container changes it, and may change the pod's QoS class.",
		Fix:   "Write requests and limits of cpu and memory under the pod's `resources`.",
	},
	PortCollision: {
		Name: "port-collision", Of: Plan, Severity: Error,
		Cause: "In an injected pod, Istio's sidecar listens on its status port. probe-proxy would listen on the same port.",
		Fix:   "Remove `port` from the functionConfig, or set another.",
	},
	PortExposed: {
		Name: "port-exposed", Of: Plan, Severity: Error,
		Cause: "With `answeredBy: app`, the mesh would stop capturing the probe's port. A Service leads to that port, so its traffic would lose mTLS and every policy of the mesh.",
		Fix:   "Set `answeredBy: probe-proxy`. Or give the probe a separate port that no Service leads to.",
	},
	PortExposedElsewhere: {
		Name: "port-exposed-elsewhere", Of: Plan, Severity: Warning,
		Cause: "With `answeredBy: app`, the mesh stops capturing the probe's port. A Service in another branch of the folders leads to that port. If the branch is about the same cluster, its traffic loses mTLS and every policy of the mesh.",
		Fix:   "Run rewrite-probes on one stream of all that you apply together. Or set `answeredBy: probe-proxy`.",
	},
	PortInvalid: {
		Name: "port-invalid", Of: Plan, Severity: Warning,
		Cause: "The probe's port is missing, or is not between 1 and 65535.",
		Fix:   "Write the app's port.",
		Words: "the port is missing or out of range",
	},
	PortListInvalid: {
		Name: "port-list-invalid", Of: Plan, Severity: Warning,
		Cause: "The value of an annotation for ports is not a list of ports. The mesh refuses such pods.",
		Fix:   "Write port numbers with commas between them.",
	},
	PortListUnreadable: {
		Name: "port-list-unreadable", Of: Plan, Severity: Error,
		Cause: "The annotation for ports that the mesh does not capture is not a list. So rewrite-probes cannot add its port.",
		Fix:   "Write port numbers with commas between them.",
	},
	PortNotCaptured: {
		Name: "port-not-captured", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause:      "The mesh does not capture the probe's port, so the probe works.",
		LetThrough: true,
		Words:      "the mesh does not capture its port",
	},
	PortTaken: {
		Name: "port-taken", Of: Plan, Severity: Error,
		Cause: "A container declares the port where rewritten probes are answered, or one of its probes asks it.",
		Fix:   "Set another `port` in the functionConfig, or move the app.",
	},
	PortUnresolved: {
		Name: "port-unresolved", Of: Plan, Severity: Warning,
		Cause: "The probe names a port that its container does not have, or is a grpc probe with a port name. The kubelet refuses the probe before it makes it, and counts no failure. Istio's injector turns it into a probe that gets 400.",
		Fix:   "Write a number, or declare the name under `ports` of the container.",
		Words: "the port name does not exist",
	},
	PostStartOrder: {
		Name: "post-start-order", Of: Plan, Severity: Error,
		Cause: "The hook runs before the next container starts, and istio-proxy may not run by then.",
		Fix:   "Set `answeredBy: auto` or `probe-proxy`. Or declare `istio.nativeSidecars` or `istio.holdApplicationUntilProxyStarts`.",
	},
	ProbeEdited: {
		Name: "probe-edited", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "Somebody changed the port or the scheme of a rewritten probe, such as a setter or an overlay. The change is about the app.",
		Fix:   "If that is a mistake, restore the probe and correct it.",
	},
	ProbePortCaptured: {
		Name: "probe-port-captured", Of: Plan, Severity: Error,
		Cause: "The pod template makes the mesh capture the port where rewritten probes are answered. So the kubelet cannot reach it.",
		Fix:   "Remove the port from that list, or set `answeredBy: probe-proxy`.",
	},
	ProbeProxyEdited: {
		Name: "probe-proxy-edited", Of: Plan, Severity: Warning,
		Cause: "probe-proxy differs from what rewrite-probes writes with this functionConfig. Another image is accepted. A patch by index can do this, if it comes after rewrite-probes and means another container. So run rewrite-probes after everything that patches the pod template.",
		Fix:   "Run rewrite-probes again, and last.",
	},
	ProbesInText: {
		Name: "probes-in-text", Of: Run, Severity: Info,
		Cause:   "A text in a ConfigMap has containers with probes, without an object around them. A controller may make pods of them, which are not in the input.",
		Fix:     "Check the pods that the controller makes. Or name the ConfigMap in `exclude` of the functionConfig.",
		SameFix: true,
	},
	ProbesMadeElsewhere: {
		Name: "probes-made-elsewhere", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause: "The kind's controller replaces the probes of the pod template, or completes it: a container has no image. Knative Serving's queue-proxy makes readiness probes inside the pod, and liveness probes get the app's port.",
		Fix:   "Let Istio's injector rewrite them: do not set `sidecar.istio.io/rewriteAppHTTPProbers: \"false\"` there.",
		Words: "the kind's controller makes the probes",
	},
	ProxyCannotAnswer: {
		Name: "proxy-cannot-answer", Of: Plan, Severity: Warning,
		Cause: "The probe is gRPC over TLS, or HTTP/2 without TLS (Kubernetes 1.37). Istio's sidecar cannot make that probe. An Envoy (`answeredBy: envoy`) answers only `httpGet` probes, and no hooks. All HTTPS probes of a type must ask one port of the app. Or the app listens on 127.0.0.1, by a Sidecar of Istio: Istio's sidecar asks the pod's IP.",
		Fix:   "Set `answeredBy: probe-proxy`.",
		Words: "the answering container cannot make such a probe",
	},
	ProxyContainer: {
		Name: "proxy-container", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause: "The container is the mesh proxy, whose ports the mesh does not capture.",
		Words: "it is the mesh proxy's own",
	},
	ProxyInInitContainers: {
		Name: "proxy-in-init-containers", Of: Plan, Severity: Warning,
		Cause: "An istio-proxy with `image: auto` is under `initContainers`. An injector without native sidecars adds a second one, and the API server refuses the pod.",
		Fix:   "Move it to `containers`.",
	},
	ProxyLimits: {
		Name: "proxy-limits", Of: Plan, Severity: Warning,
		Cause: "A LimitRange in the input has defaults. The API server sets them before Istio's injector sees the pod, and they replace the injector's values.",
		Fix:   "Set `istioProxy.resources` in the functionConfig to the values of your mesh.",
	},
	ProxyUID: {
		Name: "proxy-uid", Of: Plan, Severity: Error,
		Cause: "probe-proxy would run as the user or group of the mesh proxy. The mesh does not capture the connections of that user.",
		Fix:   "Set `probeProxy.securityContext.runAsUser` or `runAsGroup`.",
	},
	QoSClass: {
		Name: "qos-class", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "The configured resources of probe-proxy change the pod's QoS class.",
		Fix:   "Remove `probeProxy.resources`: the defaults keep the class of every pod.",
	},
	Release: {
		Name: "release", Of: Run, Severity: Info,
		Cause:   "The object installs a chart, which another program renders. Its pods are not in the input.",
		Fix:     "Pipe the rendered chart through rewrite-probes. Or skip the file with `--ignore`, or the object with `exclude`.",
		SameFix: true, Gate: NotRendered,
	},
	ResourcesUnreadable: {
		Name: "resources-unreadable", Of: Plan, Severity: Info, Leaves: NoProbe,
		Cause: "A request or limit is not a quantity, so the pod's QoS class is unknown. probe-proxy gets the resources of a Burstable pod.",
		Fix:   "Write a quantity, or set `probeProxy.resources`.",
	},
	Restored: {
		Name: "restored", Of: Run, Severity: Info,
		Cause: "The probe has its original handler again.",
	},
	RewriterNeeded: {
		Name: "rewriter-needed", Of: Plan, Severity: Error,
		Cause: "The other probes of the pod need the mesh's rewriter off, but that rewriter may serve this unchanged probe today. Then the probe would begin to fail.",
		Fix:   "Rewrite this probe too, or opt out the pod (`rewrite-probes.io/rewrite: \"false\"`).",
		Words: "another probe of the pod must stay as it is",
	},
	Rewritten: {
		Name: "rewritten", Of: Run, Severity: Info,
		Cause: "rewrite-probes rewrote the probe or hook.",
	},
	SchemeInvalid: {
		Name: "scheme-invalid", Of: Plan, Severity: Warning,
		Cause: "The probe's scheme is neither HTTP nor HTTPS. The API server refuses that.",
		Fix:   "Write HTTP or HTTPS, in capitals.",
	},
	SkippedContainer: {
		Name: "skipped-container", Of: Plan, Severity: Info, Leaves: OneProbe,
		Cause:     "The annotation `rewrite-probes.io/skip-containers` names the container.",
		Fix:       "Remove the name from the annotation to rewrite the probes.",
		OnPurpose: true,
		Words:     "the annotation rewrite-probes.io/skip-containers names the container",
	},
	StartsBeforeAnswerer: {
		Name: "starts-before-answerer", Of: Plan, Severity: Warning,
		Cause: "The native sidecar starts before the container that answers its rewritten probes. So the pod would never start.",
		Fix:   "Set `probeProxy.placement: native`, with `answeredBy: probe-proxy`: it starts first.",
		Words: "its container starts before the answering one",
	},
	StatusPortInvalid: {
		Name: "status-port-invalid", Of: Plan, Severity: Error,
		Cause: "`status.sidecar.istio.io/port` names a port where Istio's sidecar cannot answer rewritten probes.",
		Fix:   "Write a free port, or remove the annotation.",
	},
	TimeoutInvalid: {
		Name: "timeout-invalid", Of: Plan, Severity: Warning,
		Cause: "The probe's timeout is negative or too large. The API server refuses that.",
		Fix:   "Write the timeout in seconds.",
	},
	TwoMeshes: {
		Name: "two-meshes", Of: Plan, Severity: Error,
		Cause: "Labels or annotations put the pod into two meshes. Only one can capture it.",
		Fix:   "Remove one of the two.",
	},
	UnknownContainer: {
		Name: "unknown-container", Of: Plan, Severity: Warning,
		Cause: "`rewrite-probes.io/skip-containers` names a container that the pod does not have.",
		Fix:   "Correct the name.",
	},
	UnknownKind: {
		Name: "unknown-kind", Of: Run, Severity: Warning,
		Cause: "An object of an unknown kind has something that looks like a probe. `podTemplates` can describe only a list `containers`.",
		Fix:   "If pods are made of it, add it to spec.podTemplates of the functionConfig. Else exclude the object.",
	},
	UnknownTemplate: {
		Name: "unknown-template", Of: Plan, Severity: Warning,
		Cause: "`inject.istio.io/templates` names custom templates and not `sidecar`. So the input does not show whether an istio-proxy answers.",
		Fix:   "Add `sidecar` to the list. Or declare the container istio-proxy with `image: auto`.",
	},
	Unreadable: {
		Name: "unreadable", Of: Run, Severity: Error,
		Cause: "A file or stdin is missing, or is not UTF-8, not YAML, or not a manifest.",
		Fix:   "Correct the file, or skip it with `--ignore`.",
	},
	UnreleasedImage: {
		Name: "unreleased-image", Of: Run, Severity: Warning,
		Cause:  "This build is not a release, so it writes the image of the next release. Pods cannot start until that exists. With `--strict` this is an info, since the manifests are not at fault.",
		Fix:    "Set `probeProxy.image`, or install a release.",
		Always: true,
	},
	UnseenProbe: {
		Name: "unseen-probe", Of: Run, Severity: Warning,
		Cause: "An object has something that looks like a probe outside its pod templates, such as an ephemeral container or a misspelt field.",
		Fix:   "Remove the probes, correct the field's name, or add the path to spec.podTemplates of the functionConfig.",
	},
	Variable: {
		Name: "variable", Of: Plan, Severity: Warning,
		Cause: "The probe, or its container's name, has something that looks like a variable (`${NAME}`). Nothing would substitute it in the env var that stores the original. Or a header has `$(NAME)`, which Kubernetes replaces in env vars and commands alone: write the value.",
		Fix:   "Run rewrite-probes after the substitution.",
		Words: "it has a variable",
	},
	VirtualNode: {
		Name: "virtual-node", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The pod runs on a node of a virtual kubelet (`nodeSelector: {type: virtual-kubelet}`), such as in Azure Container Instances. No mesh has a sidecar there, and probe-proxy could not start.",
		LetThrough: true,
		Words:      "the pod runs on a virtual node",
	},
	VMConfigInvalid: {
		Name: "vm-config-invalid", Of: Group, Severity: Error,
		Cause: "Istio's agent cannot read its configuration in `proxy.istio.io/config`, or a variable there does not fit the rewritten probe.",
		Fix:   "Correct the annotation, or run rewrite-probes again.",
	},
	VMGRPCRefused: {
		Name: "vm-grpc-refused", Of: Group, Severity: Error,
		Cause: "istiod's webhook refuses a WorkloadGroup with a grpc probe. Istio's agent crashes if the service answers NOT_SERVING.",
		Fix:   "Run rewrite-probes: then the agent's status server makes the probe.",
	},
	VMHeaderCase: {
		Name: "vm-header-case", Of: Group, Severity: Error,
		Cause: "The probe has a header `host` that is not written `Host`. Istio's agent sends two Host headers, and servers answer 400.",
		Fix:   "Write `Host`.",
	},
	VMHostRemote: {
		Name: "vm-host-remote", Of: Group, Severity: Error,
		Cause: "The probe names a host other than the machine. Istio's agent asks from 127.0.0.6, so it cannot reach another host.",
		Fix:   "Remove `host`, or write 127.0.0.1 or localhost.",
	},
	VMHTTPSVerified: {
		Name: "vm-https-verified", Of: Group, Severity: Error,
		Cause: "Istio's agent verifies the certificate of an https probe, and the kubelet does not. A self-signed certificate, or one for another name, fails.",
		Fix:   "Run rewrite-probes: then the agent's status server makes the probe, as the kubelet would.",
	},
	VMNoHandler: {
		Name: "vm-no-handler", Of: Group, Severity: Error,
		Cause: "The probe of the WorkloadGroup has no handler, several, or an empty command. Istio's agent crashes on it.",
		Fix:   "Write one of httpGet, tcpSocket, exec and grpc.",
	},
	VMProbeInvalid: {
		Name: "vm-probe-invalid", Of: Group, Severity: Error,
		Cause: "istiod refuses the probe of the WorkloadGroup: the API does not allow a number, a scheme or a header.",
		Fix:   "Correct the field.",
	},
	VMProbeWorks: {
		Name: "vm-probe-works", Of: Group, Severity: Info,
		Cause: "Istio's agent makes this probe of a WorkloadGroup as its author wrote it.",
		Words: "Istio's agent makes it as it is",
	},
	VMSourceDiffers: {
		Name: "vm-source-differs", Of: Group, Severity: Error,
		Cause: "The WorkloadGroup has a different probe than the workload that `rewrite-probes.io/probe-from` names.",
		Fix:   "Remove `spec.probe`, or the annotation `rewrite-probes.io/probe-from`.",
	},
	VMSourceExec: {
		Name: "vm-source-exec", Of: Group, Severity: Warning,
		Cause: "The WorkloadGroup takes an exec probe from a workload. Its command is for the container.",
		Fix:   "Install the command on the machines, or give the workload a probe over the network.",
	},
	VMSourceUnknown: {
		Name: "vm-source-unknown", Of: Group, Severity: Error,
		Cause: "The probe that `rewrite-probes.io/probe-from` names is missing, there are several, or a WorkloadGroup cannot have it.",
		Fix:   "Correct the annotation, name the container in it, or add the workload to the input.",
	},
	VMThresholdDefault: {
		Name: "vm-threshold-default", Of: Group, Severity: Warning,
		Cause: "The probe of the WorkloadGroup has no `failureThreshold`. Istio's agent takes 1, not the documented 3.",
		Fix:   "Write `failureThreshold`.",
	},
	Windows: {
		Name: "windows", Of: Plan, Severity: Info, Leaves: WholePod,
		Cause:      "The pod runs on Windows, where no mesh has a sidecar.",
		LetThrough: true,
	},
	WouldFail: {
		Name: "would-fail", Of: Run, Severity: Error,
		Cause:      "`check` found a probe or hook that fails under strict mTLS, because it is not rewritten or somebody edited it later. If kustomize should run the function: without `--enable-exec` kustomize skips it silently.",
		Fix:        "Run rewrite-probes.",
		MayBeBuilt: true,
	},
	WouldFalselyPass: {
		Name: "would-falsely-pass", Of: Run, Severity: Error,
		Cause:      "`check` found a tcpSocket probe that reaches the mesh proxy, not the app. So it passes even if the app is down. If kustomize should run the function: without `--enable-exec` kustomize skips it silently.",
		Fix:        "Run rewrite-probes.",
		MayBeBuilt: true,
	},
	WrittenAnew: {
		Name: "written-anew", Of: Run, Severity: Warning,
		Cause: "rewrite-probes wrote out an alias, or a mapping with a merge key, because it edits its value. No other value changed, but comments and quotes may have. To avoid this, write the lines without aliases and merge keys.",
		Fix:   "Check the diff.",
	},
}
