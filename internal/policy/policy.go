// Package policy makes policies for a cluster. They find what cannot be seen in
// manifests, because a webhook added the container or the manifest bypassed the
// pipeline: pods in Istio's mesh whose probes or hooks would fail, or falsely pass,
// and WorkloadGroups whose probe Istio's agent gets wrong. They say about an object
// what check says about it. The expressions are in CEL (*.cel), into which the facts are put
// that the planners themselves use, and need Kubernetes 1.30.
//
// The package knows nothing of files, flags and the manifests of users.
package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Engines are the programs that a policy can be made for.
const (
	Kubernetes = "kubernetes" // a ValidatingAdmissionPolicy, in the API server itself
	Kyverno    = "kyverno"    // a ValidatingPolicy of Kyverno
)

// Actions are what happens to an object in which something is found.
const (
	Warn  = "warn"  // anyone who creates it gets a warning
	Audit = "audit" // it is in the audit log, or in Kyverno's report
	Deny  = "deny"  // it is refused
)

// Options say what policies are made.
type Options struct {
	Engine  string
	Actions []string
	Name    string // of the policy for pods, and the beginning of the other's
}

// Engines returns the values that [Options].Engine may have.
func Engines() []string { return []string{Kubernetes, Kyverno} }

// Actions returns the values that [Options].Actions may have.
func Actions() []string { return []string{Warn, Audit, Deny} }

// Validate returns an error if there are no policies for the options.
func (o Options) Validate() error {
	if !slices.Contains(Engines(), o.Engine) {
		return fmt.Errorf("--engine %q must be %s", o.Engine, strings.Join(Engines(), " or "))
	}
	for i, a := range o.Actions {
		switch {
		case !slices.Contains(Actions(), a):
			return fmt.Errorf("--action %q must be %s", a, strings.Join(Actions(), ", "))
		case slices.Contains(o.Actions[:i], a):
			return fmt.Errorf("--action %q is given twice", a)
		}
	}
	nameForm := regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)
	switch {
	case len(o.Actions) == 0:
		return fmt.Errorf("--action \"\" must be %s", strings.Join(Actions(), ", "))
	case slices.Contains(o.Actions, Warn) && slices.Contains(o.Actions, Deny):
		return fmt.Errorf("--action %q must not have warn and deny: a denial says why, too", strings.Join(o.Actions, ","))
	case !nameForm.MatchString(o.Name):
		return fmt.Errorf("--name %q must be the name of an object: lower-case letters, digits, dashes and dots", o.Name)
	}
	return nil
}

// Make returns the policies, in YAML, and notes on the parts of the config that
// they cannot express.
func Make(c *config.RewriteProbes, o Options) (text []byte, notes []string, err error) {
	if m := c.Spec.Mesh; m != "istio" && m != transformer.MeshAuto {
		return nil, nil, fmt.Errorf("`spec.mesh` is %q, and a policy is made for the mesh istio only", m)
	}
	notes = notesOf(&c.Spec)
	return manifest.Documents(objects(c, o)...), notes, nil
}

// notesOf returns notes on the parts of the config that are about manifests, not about
// pods.
func notesOf(s *config.Spec) []string {
	var notes []string
	const aboutManifests = " has kinds, names or a labelSelector, which are about manifests: the policy "
	if s.Select != nil && !onlyNamespaces(s.Select) {
		notes = append(notes, "`spec.select`"+aboutManifests+"uses only its namespaces")
	}
	if s.Exclude != nil && !onlyNamespaces(s.Exclude) {
		notes = append(notes, "`spec.exclude`"+aboutManifests+"ignores it")
	}
	if fmt.Sprint(s.Istio.InjectorRewrites) == "true" {
		notes = append(notes, "`spec.istio.injectorRewrites` is true: the policy judges what the injector has made of a pod")
	}
	return notes
}

func onlyNamespaces(s *config.Selector) bool {
	return len(s.Kinds) == 0 &&
		len(s.Names) == 0 &&
		s.LabelSelector == ""
}

// objects returns the objects that the engine needs.
func objects(c *config.RewriteProbes, o Options) []field.Map {
	neverInjected := list(transformer.PolicyFacts(c.Spec.Options)["NeverInjected"].([]string)...)
	notNeverInjected := field.Map{
		{Key: "key", Value: "kubernetes.io/metadata.name"},
		{Key: "operator", Value: "NotIn"},
		{Key: "values", Value: neverInjected},
	}
	selector := field.Map{{Key: "matchExpressions", Value: field.List{notNeverInjected}}}
	pods := rule("", "v1", "pods", "CREATE")
	pods = append(pods, field.Entry{Key: "namespaceSelector", Value: selector})
	groups := rule("networking.istio.io", "*", "workloadgroups", "CREATE", "UPDATE")
	return slices.Concat(
		o.guard(o.Name, pods, podExpressions(c)),
		o.guard(o.Name+"-workloadgroups", groups, groupExpressions(c)),
	)
}

// rule returns the constraints that match what is done to a resource.
func rule(group, version, resource string, operations ...string) field.Map {
	return field.Map{{Key: "resourceRules", Value: field.List{field.Map{
		{Key: "apiGroups", Value: list(group)},
		{Key: "apiVersions", Value: list(version)},
		{Key: "operations", Value: list(operations...)},
		{Key: "resources", Value: list(resource)},
	}}}}
}

func list(items ...string) field.List {
	return each(items, func(s string) field.Value { return s })
}

// each returns f of every item.
func each[T any](items []string, f func(string) T) []T {
	all := make([]T, len(items))
	for i, s := range items {
		all[i] = f(s)
	}
	return all
}

// guard returns a policy, and its binding if the engine has them.
func (o Options) guard(name string, match, expressions field.Map) []field.Map {
	failure := "Ignore"
	if slices.Contains(o.Actions, Deny) {
		failure = "Fail"
	}
	capital := func(a string) field.Value {
		return strings.ToUpper(a[:1]) + a[1:]
	}
	actions := field.Entry{Key: "validationActions", Value: field.List(each(o.Actions, capital))}
	policy := field.Map{
		{Key: "failurePolicy", Value: failure},
		{Key: "matchConstraints", Value: match},
	}
	policy = append(policy, expressions...)
	if o.Engine == Kyverno {
		spec := append(field.Map{actions}, policy...)
		return []field.Map{object("policies.kyverno.io/v1", "ValidatingPolicy", name, spec)}
	}
	const group = "admissionregistration.k8s.io/v1"
	binding := field.Map{{Key: "policyName", Value: name}, actions}
	return []field.Map{
		object(group, "ValidatingAdmissionPolicy", name, policy),
		object(group, "ValidatingAdmissionPolicyBinding", name, binding),
	}
}

// object returns an object that this program has made.
func object(apiVersion, kind, name string, spec field.Map) field.Map {
	labels := field.Map{{Key: "app.kubernetes.io/managed-by", Value: "rewrite-probes"}}
	return field.Map{
		{Key: "apiVersion", Value: apiVersion},
		{Key: "kind", Value: kind},
		{Key: "metadata", Value: field.Map{
			{Key: "name", Value: name},
			{Key: "labels", Value: labels},
		}},
		{Key: "spec", Value: spec},
	}
}

// anyOf returns a regular expression for names of namespaces that match one of the patterns,
// in which * and ? match as in a shell.
func anyOf(patterns []string) string {
	wildcards := strings.NewReplacer(`\*`, "[^/]*", `\?`, "[^/]")
	forms := each(patterns, func(p string) string {
		return wildcards.Replace(regexp.QuoteMeta(p))
	})
	return "^(" + strings.Join(forms, "|") + ")$"
}
