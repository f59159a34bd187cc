package policy

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
)

// A mistake is a reason of internal/reason for which the probe of a WorkloadGroup
// fails, and what the policy does about it.
type mistake struct {
	key string
	// fields is a list of the fields that are at fault; "" if the policy does not
	// find them.
	fields string
	// message says what is wrong with such a field or, without fields, why the
	// policy does not find it.
	message string
	// handler is the one that rewriting replaces; "" if only the author can correct the
	// probe.
	handler string
}

// mistakes has every reason that only WorkloadGroups have and whose severity is
// error, which a test demands.
var mistakes = []mistake{
	{key: "vm-no-handler", fields: `
(variables.handlers.size() == 1 ? [] : ['spec.probe']) +
  (variables.handlers == ['exec'] && (variables.probe.exec.?command.orValue([]) + [''])[0] == '' ? ['spec.probe.exec.command'] : [])`,
		message: "must be exactly one handler, and exec must name a program"},
	{key: "vm-probe-invalid", fields: `
['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold']
  .filter(f, int(variables.probe[?f].orValue(0)) < 0 || int(variables.probe[?f].orValue(0)) > 2147483647).map(f, 'spec.probe.' + f) +
  variables.handlers.filter(h, h != 'exec' && (int(variables.probe[h].?port.orValue(0)) < 1 || int(variables.probe[h].?port.orValue(0)) > 65535))
    .map(h, 'spec.probe.' + h + '.port') +
  (variables.http.?scheme.orValue('') in ['', 'HTTP', 'HTTPS'] ? [] : ['spec.probe.httpGet.scheme']) +
  (variables.headers.all(h, h.?name.orValue('').matches('^[-A-Za-z0-9]+$') && !h.?value.orValue('').matches('[\\r\\n\\x00]')) ? [] : ['spec.probe.httpGet.httpHeaders'])`,
		message: "istiod refuses the value"},
	{key: "vm-host-remote", fields: `
variables.host in ['', 'localhost'] || isIP(variables.host) && ip(variables.host).family() == 4 && ip(variables.host).isLoopback() ? [] : ['spec.probe.httpGet.host']`,
		message: "must be the machine itself: Istio's agent reaches no other host"},
	{key: "vm-header-case", fields: `
variables.headers.exists(h, h.?name.orValue('') != 'Host' && h.?name.orValue('').lowerAscii() == 'host') ? ['spec.probe.httpGet.httpHeaders'] : []`,
		message: "must be written Host: Istio's agent sends two Host headers otherwise"},
	{key: "vm-https-verified", handler: "httpGet",
		fields:  `variables.http.?scheme.orValue('') == 'HTTPS' ? ['spec.probe.httpGet.scheme'] : []`,
		message: "Istio's agent verifies the certificate of an HTTPS probe, which the kubelet does not"},
	{key: "vm-grpc-refused", handler: "grpc",
		fields:  `'grpc' in variables.handlers ? ['spec.probe.grpc'] : []`,
		message: "istiod refuses a grpc probe, and Istio's agent crashes if the service is not serving"},
	{key: "dangling", fields: `
variables.path.matches($RewrittenPath) && string(int(variables.http.?port.orValue(0))) == variables.statusPort &&
  !variables.config.contains(variables.path + '"') && !variables.config.contains(variables.path + '\\"') ? ['spec.probe.httpGet.path'] : []`,
		message: "looks like a rewritten probe, but its original is not in the annotation " + vm.ConfigAnnotation},

	{key: "vm-config-invalid", message: "CEL cannot read YAML"},
	{key: "vm-source-differs", message: "the workload is another object"},
	{key: "vm-source-unknown", message: "the workload is another object"},
}

// groupExpressions returns the variables and validations of the policy for
// WorkloadGroups.
func groupExpressions(c *config.RewriteProbes) ([]variable, []validation) {
	rewritten := "^" + prober.Key("[^/]+", prober.Readiness) + "$"
	fill, facts := strings.NewReplacer("$ConfigAnnotation", quoted(vm.ConfigAnnotation), "$RewrittenPath", quoted(rewritten)), placeholders(factsOf(c))
	var all []variable
	add := func(name, expression string) {
		all = append(all, variable{name, facts.Replace(fill.Replace(strings.TrimSpace(expression)))})
	}
	add("annotations", annotations)
	add("namespaceAnnotations", namespaceAnnotations)
	add("probe", `object.spec.?probe.orValue({})`)
	add("handlers", `['httpGet', 'tcpSocket', 'grpc', 'exec'].filter(h, h in variables.probe)`)
	add("http", `variables.probe.?httpGet.orValue({})`)
	add("host", `variables.http.?host.orValue('')`)
	add("path", `variables.http.?path.orValue('')`)
	add("headers", `variables.http.?httpHeaders.orValue([])`)
	add("config", `variables.annotations[?$ConfigAnnotation].orValue('')`)
	add("statusPort", `
([object.spec.?metadata.?annotations[?$ConfigAnnotation].orValue(''), variables.config]
  .map(c, c.find('statusPort["\']?\\s*:\\s*["\']?[0-9]+').find('[0-9]+$')).filter(p, p != '') + [$StatusDefault])[0]`)
	add("leftAlone", "!("+inNamespaces(&c.Spec)+"has(object.spec.probe)) ||\n"+optOut)
	var findings []string
	for _, m := range mistakes {
		if m.fields != "" && (m.handler == "" || slices.Contains(c.Spec.Rewrite, m.handler)) {
			findings = append(findings, "("+strings.TrimSpace(m.fields)+").map(f, f + "+quoted(": "+m.message+" ["+m.key+"]")+")")
		}
	}
	add("findings", strings.Join(findings, " +\n"))
	return all, []validation{{
		Expression:        "variables.leftAlone || variables.findings.size() == 0",
		Message:           "the probe of the WorkloadGroup is one that Istio's agent gets wrong",
		MessageExpression: "variables.findings.join('; ')",
	}}
}
