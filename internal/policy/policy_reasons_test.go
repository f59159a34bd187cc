package policy

// Every reason whose severity is info is in one of the two lists, which a test demands.
var (
	// OfPods are about a pod as a whole. reasons.cel has the expression that is true for
	// such a pod.
	OfPods = []string{
		"opt-out",
		"istio-opt-out",
		"injector-rewrites",
		"injection-off",
		"interception-none",
		"not-sidecar-template",
		"namespace-not-injected",
		"host-network",
		"windows",
		"virtual-node",
	}
	// withoutExpression are in the policy elsewhere, or need not be in it.
	withoutExpression = []string{
		// A port that is not captured is in the variable findings.
		"excluded-port",
		// They are in the variable findings.
		"skipped-container",
		"not-selected",
		"port-not-captured",
		// In the variable probes.
		"proxy-container",
		// The variable probes has only what dials.
		"exec-workaround",
		"no-network",
		// Only of pods without Istio's sidecar, which are not in the mesh.
		"ambient",
		// A pod's probes are as they will be.
		"probes-made-elsewhere",
		// Only restore has it.
		"not-rewritten",
		// They leave no probe alone.
		"job-exit-codes",
		"job-restarts",
		"qos-class",
		"resources-unreadable",
	}
)
