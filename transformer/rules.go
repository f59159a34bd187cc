package transformer

import "slices"

// siteRules are asked in their order, and the first that applies decides.
var siteRules = []siteRule{
	probesMadeElsewhere, noNetwork, unknownFieldIn, unsupportedValue, notOneHandler, ofProxy, isLost, optedOut,
	inSkippedContainer, notSelected, hookNeverWorks, madeByKubelet, onInitContainer, nameNotUnique, nameIsVariable,
	goesToHost, textIsVariable, schemeInvalid, timeoutInvalid, portUnresolved, atProbePort, atAgentsPort, notCaptured,
	appElsewhere, startsTooEarly,
}

// answererRules are asked about what is left then, unless the app itself answers.
var answererRules = []siteRule{newerThanProxy, localOnly, twoAddresses}

// restoreRules are those of a template that is restored.
var restoreRules = []siteRule{isLost, notRewritten}

// podRules are asked if there is something to rewrite.
var podRules = []podRule{
	checkConflicts, checkPaths, checkTaken, checkOwnPort, checkJob, checkFinishes, checkProxyUID,
	checkBareSpec, checkPostStart, checkLeftAlone,
	checkWebhooks, checkImage,
}

// podWarnings are asked then, and prevent nothing. What they ask changes no edit, so it is not noted.
var podWarnings = []podRule{checkResources, checkIngresses, checkProxyLimits}

// decide decides what is rewritten.
func decide(k *knowledge) *decision {
	d := &decision{answering: answer(k)}
	d.findings = slices.Concat(k.mistakes, k.detected.unclear, k.inspection.findings, k.invalid)
	d.rule(siteRules)
	d.reportNeverWorks()
	d.reportOptOut()
	if d.answersItself() {
		d.excludePorts()
	} else {
		d.rule(answererRules)
		d.rewriteTheRest()
	}
	if len(d.toRewrite) > 0 && !d.failed() {
		d.ask(podRules...)
		d.in.Notes.aside(func() { d.ask(podWarnings...) })
	}
	d.refuseOwnPort()
	d.keepInjected()
	d.kept = d.isDone()
	if !d.in.OnlyEdits {
		d.ask(findExecWorkarounds, findDropped, findUnexpanded)
	}
	return d.finish()
}

// decideToRestore decides that nothing is rewritten. What the mesh's labels and annotations say
// does not matter then.
func decideToRestore(k *knowledge) *decision {
	d := &decision{answering: answer(k), findings: slices.Clone(k.mistakes), kept: k.isInjectorsWork()}
	d.rule(restoreRules)
	d.keepInjected()
	return d.finish()
}
