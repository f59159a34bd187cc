package policy

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// quoted returns a string of CEL.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func quotedList(items []string) string {
	return "[" + strings.Join(each(items, quoted), ", ") + "]"
}

// facts returns placeholders of the texts, each followed by the fact that it stands for.
func facts(c *config.RewriteProbes) (pairs []string) {
	f := transformer.PolicyFacts(c.Spec.Options)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f))) { // $Injection before $Inject
		switch v := f[name].(type) {
		case string:
			pairs = append(pairs, "$"+name, quoted(v))
		case []string:
			pairs = append(pairs, "$"+name, quotedList(v))
		}
	}
	return pairs
}

//go:embed *.cel
var files embed.FS

// A text is an expression in CEL with the name in the comment above it.
type text struct{ name, expression string }

// readTexts returns the texts of a file in their order.
func readTexts(file string) (all []text) {
	content, err := files.ReadFile(file)
	if err != nil {
		panic(err) // it is a part of the program
	}
	for part := range strings.SplitSeq(string(content), "\n\n// ") {
		if name, body, named := strings.Cut(part, ":\n"); named { // if not, it is the heading of what comes next
			all = append(all, text{name, strings.TrimSpace(body)})
		}
	}
	return all
}

// expressions returns the part of a policy that is in CEL: the texts as variables, with what
// the replacers put in, one after the other, and the validation that an object is fine or that
// nothing was found.
func expressions(texts []text, fine, message string, replacers ...*strings.Replacer) field.Map {
	var variables field.List
	for _, t := range texts {
		for _, r := range replacers {
			t.expression = r.Replace(t.expression)
		}
		variables = append(
			variables,
			field.Map{{Key: "name", Value: t.name}, {Key: "expression", Value: t.expression}},
		)
	}
	return field.Map{{Key: "variables", Value: variables}, {Key: "validations", Value: field.List{field.Map{
		{Key: "expression", Value: fine + " || variables.findings.size() == 0"}, {Key: "message", Value: message}, {Key: "messageExpression", Value: "variables.findings.join('; ')"},
	}}}}
}

// podExpressions returns the expressions of the policy for pods.
func podExpressions(c *config.RewriteProbes) field.Map {
	known := "false"
	if s := c.Spec.Istio.InjectedNamespaces; s != nil {
		known = "request.namespace.matches(" + quoted(anyOf(s)) + ")"
	}
	fill := strings.NewReplacer("$InNamespaces && ", inNamespaces(&c.Spec), "$InKnownNamespace", known, "$Sites", strings.Join(sites(), " +\n  "),
		"$Selected && ", selected(&c.Spec), "$MeshReasons", skips(true), "$AskedReasons", skips(false))
	names := facts(c)
	for i, name := range []string{"container", "field", "key", "handler", "host", "path", "port", "state"} {
		names = append(names, "p["+name+"]", "p["+strconv.Itoa(i)+"]")
	}
	return expressions(readTexts("pods.cel"), "!variables.inMesh",
		"a probe or hook of the pod fails, or falsely passes, under strict mTLS: it is not rewritten", fill, strings.NewReplacer(names...))
}

// sites returns, for each probe and hook that opens a connection, an expression for
// the list that contains it, if the container c has it.
func sites() []string {
	// Kyverno's command line takes numbers for floating-point ones.
	const number = `string(((type(h.port) == string ? c.?ports.orValue([]).filter(q, q.?name.orValue('') == h.port).map(q, int(q.containerPort)) : [int(h.port)]) + [0])[0])`
	var all []string
	for _, t := range prober.ProbeTypes() {
		at := "c.?" + t.Field()
		handlers := pod.DialingHandlers()
		if t.IsHook() {
			at, handlers = "c.?lifecycle.?"+t.Field(), []string{"httpGet"} // the kubelet dials no other
		}
		key := strings.Replace(quoted(prober.Key("\x00", t)), "\x00", "' + c.name + '", 1)
		for _, h := range handlers {
			host := `string(h.?host.orValue(''))`
			path := "''"
			if h == "httpGet" {
				path = `string(h.?path.orValue('/'))`
			}
			probe := []string{"string(c.name)", "'" + t.Field() + "'", key, "'" + h + "'", host, path, number}
			all = append(all, at+".?"+h+".optMap(h, [["+strings.Join(probe, ", ")+"]]).orValue([])")
		}
	}
	return all
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

// skips returns the condition that the whole pod is left alone for one of the reasons in
// reasons.cel: those for which the kubelet's probes reach it, or the others, which somebody
// gives.
func skips(letThrough bool) string {
	var all []string
	for _, t := range readTexts("reasons.cel") {
		if key, _ := reason.Parse(t.name); key.Doc().LetThrough == letThrough {
			all = append(all, "// "+t.name+"\n"+t.expression)
		}
	}
	return strings.Join(all, " ||\n")
}

// selected returns a condition on the handlers and hooks that the config names;
// "" if it names all.
func selected(s *config.Spec) string {
	const lifecycle = "lifecycle"
	if !slices.ContainsFunc(
		transformer.Rewritable(),
		func(r string) bool {
			return !slices.Contains(s.Rewrite, r)
		},
	) {
		return ""
	}
	handlers := slices.DeleteFunc(
		slices.Clone(s.Rewrite),
		func(r string) bool { return r == lifecycle },
	)
	hooks := strconv.FormatBool(slices.Contains(s.Rewrite, lifecycle))
	return "(p[field] in ['postStart', 'preStop'] ? " + hooks + " : p[handler] in " + quotedList(handlers) + ") && "
}
