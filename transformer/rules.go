package transformer

import "slices"

// siteRules are asked in their order, and the first that applies decides.
var siteRules = []siteRule{
	probesMadeElsewhere, noNetwork, unknownFieldIn, unsupportedValue, notOneHandler, ofProxy, isLost, optedOut,
	inSkippedContainer, notSelected, hookNeverWorks, onInitContainer, nameNotUnique, nameIsVariable,
	goesToHost, textIsVariable, schemeInvalid, timeoutInvalid, portUnresolved, atProbePort, notCaptured, startsTooEarly,
}

// answererRules are asked about what is left then, unless the app itself answers.
var answererRules = []siteRule{newerThanProxy}

// restoreRules are those of a template that is restored.
var restoreRules = []siteRule{isLost, notRewritten}

// podRules are asked if there is something to rewrite.
var podRules = []podRule{
	checkConflicts, checkPaths, checkTaken, checkOwnPort, checkResources, checkJob, checkFinishes, checkProxyUID,
	checkBareSpec, checkIngresses, checkProxyLimits, checkPostStart, checkLeftAlone,
}

// decide decides what is rewritten.
func decide(k *knowledge) *decision {
	b := &decision{knowledge: k, findings: slices.Concat(k.mistakes, k.detected.unclear, k.inspection.findings, k.invalid)}
	b.rule(siteRules)
	b.reportOptOut()
	if b.answersItself() {
		b.excludePorts()
	} else {
		b.rule(answererRules)
		b.rewriteTheRest()
	}
	if len(b.toRewrite) > 0 && !b.failed() {
		b.ask(podRules...)
	}
	if !b.in.OnlyEdits {
		b.ask(findExecWorkarounds)
	}
	return b.finish()
}

// decideToRestore decides that nothing is rewritten. What the mesh's labels and annotations say
// does not matter then.
func decideToRestore(k *knowledge) *decision {
	b := &decision{knowledge: k, findings: slices.Clone(k.mistakes)}
	b.rule(restoreRules)
	return b.finish()
}
