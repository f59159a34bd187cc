package policy

// An intentionalSkip is a reason of internal/reason to leave probes alone on purpose. If it is
// about a pod as a whole, reasons.cel has the expression that is true for such a pod.
type intentionalSkip struct {
	key       string
	elsewhere string // where the policy has the reason, or why it is not needed
}

// asked are the reasons that somebody gives. For the others the mesh captures nothing
// of the pod.
var asked = []string{"opt-out", "istio-opt-out", "injector-rewrites"}

// onPurpose has every reason whose severity is info, which a test demands.
var onPurpose = []intentionalSkip{
	{"opt-out", ""},
	{"istio-opt-out", ""},
	{"injector-rewrites", ""},
	{"injection-off", ""},
	{"interception-none", ""},
	{"not-sidecar-template", ""},
	{"namespace-not-injected", ""},
	{"host-network", ""},
	{"windows", ""},

	{"excluded-port", "a port that is not captured is in the variable findings"},
	{"skipped-container", "in the variable findings"},
	{"not-selected", "in the variable findings"},
	{"port-not-captured", "in the variable findings"},
	{"proxy-container", "in the variable probes"},
	{"exec-workaround", "the variable probes has only what dials"},
	{"no-network", "the variable probes has only what dials"},
	{"ambient", "only of pods without Istio's sidecar, which are not in the mesh"},
	{"probes-made-elsewhere", "a pod's probes are as they will be"},
	{"not-rewritten", "only restore has it"},

	{"job-exit-codes", "leaves no probe alone"},
	{"job-restarts", "leaves no probe alone"},
	{"qos-class", "leaves no probe alone"},
	{"resources-unreadable", "leaves no probe alone"},
}
