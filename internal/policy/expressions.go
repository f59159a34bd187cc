package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// quoted returns a string of CEL.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func quotedList(items []string) string {
	all := make([]string, len(items))
	for i, s := range items {
		all[i] = quoted(s)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func numbers(items []int) []string {
	all := make([]string, len(items))
	for i, n := range items {
		all[i] = strconv.Itoa(n)
	}
	return all
}

// placeholders returns the replacer that puts the facts into the texts below.
func placeholders(f transformer.IstioFacts) *strings.Replacer {
	return strings.NewReplacer(
		"$Injection", quoted(f.Injection), "$Inject", quoted(f.Inject), "$Revision", quoted(f.Revision), "$Templates", quoted(f.Templates),
		"$NeverInjected", quotedList(f.NeverInjected), "$NoCapture", quotedList(f.NoCapture), "$ProxyName", quoted(f.ProxyName),
		"$IncludePorts", quoted(f.IncludePorts), "$ExcludePorts", quoted(f.ExcludePorts), "$StatusPort", quoted(f.StatusPort),
		"$StatusDefault", quoted(strconv.Itoa(f.StatusDefault)), "$Reserved", "["+strings.Join(numbers(f.Reserved), ", ")+"]", "$NeverCaptured", quotedList(numbers(f.NeverCaptured)),
		"$EnvName", quoted(f.EnvName), "$PathPattern", quoted("^"+f.PathPattern+"$"), "$KeyPattern", quoted(`"`+f.PathPattern+`":`),
		"$PathStart", quoted(f.PathStart), "$HealthPath", quoted(f.HealthPath), "$ProbeProxyNames", quotedList(f.ProbeProxyNames),
		"$IstioRewrite", quoted(f.IstioRewrite), "$OwnRewrite", quoted(f.OwnRewrite), "$OwnSkipContainers", quoted(f.OwnSkipContainers), "$False", quotedList(f.False),
	)
}

// Variables that both policies have.
const (
	annotations          = `object.metadata.?annotations.orValue({})`
	namespaceAnnotations = `namespaceObject.metadata.?annotations.orValue({})`
)

// podExpressions returns the variables and validations of the policy for pods. A
// probe or hook is a list of texts: its container, its field, the path that it would
// have if it were rewritten, its handler, host, path and port. The variable judged
// appends whether it is rewritten, looks rewritten without having its original
// (dangling), or is as its author wrote it (original).
func podExpressions(c *config.RewriteProbes) ([]variable, []validation) {
	fill := placeholders(factsOf(c))
	var all []variable
	add := func(name, expression string) {
		all = append(all, variable{name, fill.Replace(strings.TrimSpace(expression))})
	}
	add("labels", `object.metadata.?labels.orValue({})`)
	add("annotations", annotations)
	add("namespaceLabels", `namespaceObject.metadata.?labels.orValue({})`)
	add("namespaceAnnotations", namespaceAnnotations)
	add("containers", `object.spec.?initContainers.orValue([]) + object.spec.containers`)
	add("inject", `variables.labels[?$Inject].orValue(variables.annotations[?$Inject].orValue(''))`)
	add("inMesh", inMesh(&c.Spec))

	add("ours", `
variables.containers.filter(c, c.?env.orValue([]).exists(e, e.name == $EnvName) &&
  (c.name in $ProbeProxyNames || c.?startupProbe.?httpGet.?path.orValue('') == $HealthPath)).map(c, string(c.name))`)
	add("originals", `
variables.containers.map(c, c.?env.orValue([]).filter(e, e.name == $EnvName)).filter(envs, envs.size() > 0)
  .map(envs, string(envs[envs.size() - 1].?value.orValue(''))).join(' ').findAll($KeyPattern)`)
	add("names", `variables.containers.map(c, string(c.name))`)
	add("probes", `
variables.containers.filter(c, c.name != $ProxyName && !(c.name in variables.ours)).map(c,
  `+strings.Join(sites(), " +\n  ")+`)`)

	add("judged", `
variables.probes.map(found, found.map(p, p + [!p[5].startsWith($PathStart) || !p[5].matches($PathPattern) ? 'original' :
  '"' + p[5] + '":' in variables.originals && (p[5] == p[2] || !(p[5].split('/')[2] in variables.names)) ? 'rewritten' : 'dangling']))`)
	add("isRewritten", `variables.ours.size() > 0 || variables.judged.exists(found, found.exists(p, p[7] == 'rewritten'))`)

	add("captured", `
variables.annotations[?$IncludePorts].orValue('*').trim() == '*' ? [] :
  variables.annotations[$IncludePorts].split(',').map(p, p.trim()).filter(p, p.matches('^[+-]?[0-9]{1,9}$')).map(p, string(int(p)))`)
	add("statusPort", `
([variables.annotations[?$StatusPort].orValue('')].filter(p, p.matches('^[+]?[0-9]{1,9}$')).map(p, int(p))
  .filter(p, p >= 1 && p <= 65535 && !(p in $Reserved)).map(p, string(p)) + [$StatusDefault])[0]`)
	add("notCaptured", `
$NeverCaptured + [variables.statusPort] +
  variables.annotations[?$ExcludePorts].orValue('').split(',').map(p, p.trim()).filter(p, p.matches('^[+-]?[0-9]{1,9}$')).map(p, string(int(p)))`)
	add("skipped", `variables.annotations[?$OwnSkipContainers].orValue('').split(',').map(n, n.trim())`)
	add("leftAlone", leftAlone())
	add("findings", `
variables.judged.map(found, found.filter(p, p[4] == '' && p[7] != 'rewritten' &&
  (p[7] == 'dangling' || !variables.leftAlone && `+selected(&c.Spec)+`!(p[0] in variables.skipped) && p[6] != '0' &&
    (variables.annotations[?$IncludePorts].orValue('*').trim() == '*' ? !(p[6] in variables.notCaptured) : p[6] in variables.captured)))
  .map(p, p[0] + ': ' + p[1] + ' ' + p[3] + ' :' + p[6] + p[5] +
    (p[3] == 'tcpSocket' ? ' passes under strict mTLS although nothing may listen [would-falsely-pass]' : ' fails under strict mTLS [would-fail]')).join('; '))
  .filter(found, found != '')`)
	return all, []validation{{
		Expression:        "!variables.inMesh || variables.findings.size() == 0",
		Message:           "a probe or hook of the pod fails, or falsely passes, under strict mTLS: it is not rewritten",
		MessageExpression: "variables.findings.join('; ')",
	}}
}

// sites returns, for each probe and hook that opens a connection, an expression for
// the list that contains it, if the container c has it.
func sites() []string {
	// Kyverno's command line takes numbers for floating-point ones.
	const number = `string(((type(h.port) == string ? c.?ports.orValue([]).filter(q, q.?name.orValue('') == h.port).map(q, int(q.containerPort)) : [int(h.port)]) + [0])[0])`
	var all []string
	for _, t := range prober.ProbeTypes() {
		at, handlers := "c.?"+t.Field(), transformer.DialingHandlers()
		if t.IsHook() {
			at, handlers = "c.?lifecycle.?"+t.Field(), []string{"httpGet"} // the kubelet dials no other
		}
		key := strings.Replace(quoted(prober.Key("\x00", t)), "\x00", "' + c.name + '", 1)
		for _, h := range handlers {
			host, path := `string(h.?host.orValue(''))`, "''"
			if h == "httpGet" {
				path = `string(h.?path.orValue('/'))`
			}
			all = append(all, at+".?"+h+".optMap(h, [[string(c.name), '"+t.Field()+"', "+key+", '"+h+"', "+host+", "+path+", "+number+"]]).orValue([])")
		}
	}
	return all
}

// inMesh returns the condition that Istio's sidecar is injected into the pod, and
// that the config does not leave out its namespace.
func inMesh(s *config.Spec) string {
	known := "false"
	if s.Istio.InjectedNamespaces != nil {
		known = "request.namespace.matches(" + quoted(anyOf(s.Istio.InjectedNamespaces)) + ")"
	}
	return inNamespaces(s) + `(variables.containers.exists(c, c.name == $ProxyName) || variables.inject == 'true' || variables.inject != 'false' &&
  (variables.labels[?$Revision].orValue('') != '' || variables.namespaceLabels[?$Injection].orValue('') == 'enabled' ||
    variables.namespaceLabels[?$Injection].orValue('') != 'disabled' && (variables.namespaceLabels[?$Revision].orValue('') != '' || ` + known + `)))`
}

// inNamespaces returns the conditions that the config sets on the namespace, with
// && after each.
func inNamespaces(s *config.Spec) string {
	conditions := ""
	if s.Select != nil && len(s.Select.Namespaces) > 0 {
		conditions += "request.namespace.matches(" + quoted(anyOf(s.Select.Namespaces)) + ") && "
	}
	if s.Exclude != nil && onlyNamespaces(s.Exclude) {
		conditions += "!request.namespace.matches(" + quoted(anyOf(s.Exclude.Namespaces)) + ") && "
	}
	return conditions
}

// leftAlone returns the condition that the whole pod is left alone, for one of the
// reasons [onPurpose].
func leftAlone() string {
	var all []string
	for _, r := range onPurpose {
		if r.expression != "" {
			all = append(all, "// "+r.key+"\n"+r.expression)
		}
	}
	return strings.Join(all, " ||\n")
}

// selected returns a condition on the handlers and hooks that the config names;
// "" if it names all.
func selected(s *config.Spec) string {
	const lifecycle = "lifecycle"
	if !slices.ContainsFunc(transformer.Rewritable(), func(r string) bool { return !slices.Contains(s.Rewrite, r) }) {
		return ""
	}
	handlers := slices.DeleteFunc(slices.Clone(s.Rewrite), func(r string) bool { return r == lifecycle })
	hooks := strconv.FormatBool(slices.Contains(s.Rewrite, lifecycle))
	return "(p[1] in ['postStart', 'preStop'] ? " + hooks + " : p[3] in " + quotedList(handlers) + ") && "
}
