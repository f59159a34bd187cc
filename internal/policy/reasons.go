package policy

// A purpose is a reason of internal/reason to leave probes alone on purpose, and
// what the policy does about it.
type purpose struct {
	key string
	// expression is true for a pod that is left alone as a whole; "" if the policy
	// has the reason elsewhere, or does not need it.
	expression string
	elsewhere  string // where, or why it is not needed
}

// optOut is true of an object with the annotation, or in a namespace with it.
const optOut = `variables.annotations[?$OwnRewrite].orValue('') in $False || variables.namespaceAnnotations[?$OwnRewrite].orValue('') in $False`

// onPurpose has every reason whose severity is info, which a test demands.
var onPurpose = []purpose{
	{"opt-out", optOut, ""},
	{"istio-opt-out", `variables.annotations[?$IstioRewrite].orValue('') in $False && !variables.isRewritten`, ""},
	{"injection-off", `variables.inject == 'false'`, ""},
	{"not-sidecar-template", `$Templates in variables.annotations && variables.annotations[$Templates].split(',').all(t, t.trim() in $NoCapture)`, ""},
	{"namespace-not-injected", `request.namespace in $NeverInjected || variables.namespaceLabels[?$Injection].orValue('') == 'disabled'`, ""},
	{"host-network", `object.spec.?hostNetwork.orValue(false)`, ""},
	{"windows", `object.spec.?os.?name.orValue('') == 'windows' || object.spec.?nodeSelector[?'kubernetes.io/os'].orValue('') == 'windows'`, ""},

	{"skipped-container", "", "in the variable findings"},
	{"not-selected", "", "in the variable findings"},
	{"port-not-captured", "", "in the variable findings"},
	{"proxy-container", "", "in the variable probes"},
	{"no-network", "", "the variable probes has only what dials"},
	{"ambient", "", "only of pods without Istio's sidecar, which are not in the mesh"},
	{"injector-rewrites", "", "the policy judges what the injector has made of the pod"},
	{"probes-made-elsewhere", "", "a pod's probes are as they will be"},
	{"not-rewritten", "", "only restore has it"},
}
