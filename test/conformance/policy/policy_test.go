// Package policy compares what the policies for a cluster say of a pod or a
// WorkloadGroup, run by the API server's own code, with what check says of it.
package policy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/policy"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/policy/verdict"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

func decode(t *testing.T, spec rewriting.Settings) *config.RewriteProbes {
	t.Helper()
	c, err := rewriting.Config(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// An installed policy has its binding.
type installed struct {
	policy  admissionv1.ValidatingAdmissionPolicy
	binding admissionv1.ValidatingAdmissionPolicyBinding
}

// policies returns the policy for pods and that for WorkloadGroups, as the API
// server decodes them.
func policies(t *testing.T, c *config.RewriteProbes) (pods, groups installed) {
	t.Helper()
	text, _, err := policy.Make(c, policy.Options{Engine: policy.Kubernetes, Actions: []string{policy.Deny}, Name: "rewrite-probes"})
	if err != nil {
		t.Fatal(err)
	}
	objects := []any{&pods.policy, &pods.binding, &groups.policy, &groups.binding}
	documents := bytes.Split(text, []byte("---\n"))
	if len(documents) != len(objects) {
		t.Fatalf("%d documents", len(documents))
	}
	for i, o := range objects {
		if err := yaml.UnmarshalStrict(documents[i], o); err != nil {
			t.Fatalf("%v in\n%s", err, documents[i])
		}
	}
	return pods, groups
}

// A guard is a compiled policy.
type guard struct {
	validator validating.Validator
	condition plugincel.ConditionEvaluator // the validation alone, which tells what it costs
	most      int64                        // the highest cost
}

// compile compiles a policy with what the CEL of a version of Kubernetes has.
func compile(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, minor uint) *guard {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, minor)))
	if err != nil {
		t.Fatal(err)
	}
	// NewExpressions: what a user of that version may write, not what it can read.
	mode, has := environment.NewExpressions, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range p.Spec.Variables {
		if r := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, has, mode); r.Error != nil {
			t.Fatalf("1.%d: variable %s: %v\n%s", minor, v.Name, r.Error, v.Expression)
		}
	}
	var conditions, messages []plugincel.ExpressionAccessor
	for _, v := range p.Spec.Validations {
		conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	condition := compiler.CompileCondition(conditions, has, mode)
	message := compiler.CompileCondition(messages, plugincel.OptionalVariableDeclarations{}, mode)
	for _, e := range append(condition.CompilationErrors(), message.CompilationErrors()...) {
		t.Fatalf("1.%d: %v", minor, e)
	}
	fail := admissionv1.Fail
	return &guard{validator: validating.NewValidator(condition, nil, compiler.CompileCondition(nil, has, mode), message, &fail, nil), condition: condition}
}

// A resource is what a policy is about.
type resource struct {
	schema.GroupVersionResource
	kind string
}

var (
	podResource   = resource{corev1.SchemeGroupVersion.WithResource("pods"), "Pod"}
	groupResource = resource{schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "workloadgroups"}, "WorkloadGroup"}
)

// refusal returns the policy's message about a pod that is created; "" if it is
// in order.
func (g *guard) refusal(t *testing.T, pod *corev1.Pod, namespace *corev1.Namespace) string {
	t.Helper()
	return g.refusalOf(t, podResource, pod, pod.Name, namespace)
}

// refusalOf does so for any object.
func (g *guard) refusalOf(t *testing.T, of resource, o runtime.Object, name string, namespace *corev1.Namespace) string {
	t.Helper()
	gvr := of.GroupVersionResource
	gvk := gvr.GroupVersion().WithKind(of.kind)
	attributes := &admission.VersionedAttributes{
		Attributes:      admission.NewAttributesRecord(o, nil, gvk, namespace.Name, name, gvr, "", admission.Create, nil, false, nil),
		VersionedKind:   gvk,
		VersionedObject: admission.NewLazyObject(o),
	}
	request := plugincel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(gvr), metav1.GroupVersionKind(gvk))
	_, left, err := g.condition.ForInput(context.Background(), attributes, request, plugincel.OptionalVariableBindings{}, plugincel.CreateNamespaceObject(namespace), celconfig.RuntimeCELCostBudget)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	g.most = max(g.most, celconfig.RuntimeCELCostBudget-left)
	result := g.validator.Validate(context.Background(), gvr, attributes, nil, namespace, celconfig.RuntimeCELCostBudget, nil)
	for _, d := range result.Decisions {
		switch d.Evaluation {
		case validating.EvalError:
			t.Fatalf("%s: %s", name, d.Message)
		case validating.EvalDeny:
			return d.Message
		}
	}
	return ""
}

// A tally counts what came of comparing.
type tally struct {
	pods, found, equal int
	explained          map[string]int
	problems           []string
}

func (s *tally) compare(t *testing.T, g *guard, pod *corev1.Pod, namespace *corev1.Namespace, c *config.RewriteProbes) {
	t.Helper()
	s.pods++
	checked, r, err := verdict.Check(pod, namespace, c)
	if err != nil {
		t.Fatal(err)
	}
	policed := verdict.FindingsIn(g.refusal(t, pod, namespace))
	if len(policed) > 0 {
		s.found++
	}
	if slices.Equal(checked, policed) {
		s.equal++
		return
	}
	if e := verdict.Explain(pod, r, checked, policed); e != nil {
		s.explained[e.Name]++
		return
	}
	text, _ := yaml.Marshal(pod)
	s.problems = append(s.problems, fmt.Sprintf("check: %q\npolicy: %q\nmessages %v\nnamespace %v %v\n%s", checked, policed, r.Messages, namespace.Labels, namespace.Annotations, text))
}

// report fails if there is a difference without an explanation, and if too little
// came up.
func (s *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("pods %d: %d with findings; check and the policy say the same of %d", s.pods, s.found, s.equal)
	for _, e := range verdict.Explanations {
		t.Logf("%6d  %s", s.explained[e.Name], e.Name)
		if n := s.explained[e.Name]; n < e.Least {
			t.Errorf("%d pods for the explanation %q, must be at least %d", n, e.Name, e.Least)
		}
	}
	if s.found < 200 || s.equal < s.pods*3/4 {
		t.Errorf("%d of %d pods have findings, and %d are equal", s.found, s.pods, s.equal)
	}
	for i, p := range s.problems {
		if i == 5 {
			t.Errorf("and %d more", len(s.problems)-i)
			break
		}
		t.Error(p)
	}
}
