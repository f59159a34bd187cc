package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// handlers are probes right and wrong, each in one thing at most.
var handlers = []string{
	"", "tcpSocket: {port: 80}, httpGet: {port: 80}",
	"exec: {command: [a]}", "exec: {command: []}", "exec: {command: ['']}", "exec: {}",
	"tcpSocket: {port: 80}", "tcpSocket: {port: 65535, host: a}", "tcpSocket: {port: 65536}", "tcpSocket: {}",
	"grpc: {port: 9000}", "grpc: {port: 9000, service: a}", "grpc: {port: 0}",
	"httpGet: {port: 80}", "httpGet: {port: 80, scheme: HTTP, path: /a}", "httpGet: {port: 8443, scheme: HTTPS}", "httpGet: {port: 80, scheme: https}", "httpGet: {port: 80, scheme: ''}", "httpGet: {port: -1}",
	"httpGet: {port: 80, host: localhost}", "httpGet: {port: 80, host: 127.0.0.1}", "httpGet: {port: 80, host: 127.1.2.3}", "httpGet: {port: 80, host: 127.0.0.256}", "httpGet: {port: 80, host: 10.0.0.1}",
	"httpGet: {port: 80, host: '::1'}", "httpGet: {port: 80, host: '::ffff:127.0.0.1'}", "httpGet: {port: 80, host: vm.example.com}", "httpGet: {port: 80, host: LOCALHOST}",
	"httpGet: {port: 8443, host: localhost, scheme: HTTPS}",
	"httpGet: {port: 80, httpHeaders: [{name: Host, value: a}, {name: host-name, value: b}]}", "httpGet: {port: 80, httpHeaders: [{name: a, value: b}, {name: host, value: a}]}", "httpGet: {port: 80, httpHeaders: [{name: HOST}]}",
	"httpGet: {port: 80, httpHeaders: [{name: a_b, value: c}]}", "httpGet: {port: 80, httpHeaders: [{value: c}]}", `httpGet: {port: 80, httpHeaders: [{name: a, value: "b\nc"}]}`,
	"httpGet: {port: 8443, scheme: HTTPS, httpHeaders: [{name: Host, value: a}]}",
	"httpGet: {port: 15020, path: /app-health/reviews/readyz}", "httpGet: {port: 15021, path: /app-health/reviews/readyz}", "httpGet: {port: 15031, path: /app-health/reviews/readyz}",
	"httpGet: {port: 15020, path: /app-health/reviews/livez}", "httpGet: {port: 15020, path: /app-health/a/b/readyz}", "httpGet: {port: 15020, path: /app-health/reviews/readyz/more}",
}

// settingsOfAgents are annotations of groups, and of their machines.
var settingsOfAgents = []struct{ group, machines string }{
	{},
	{group: "statusPort: 15031\n"},
	{group: `{"statusPort": "15031", "proxyMetadata": {"A": "b"}}`},
	{group: "proxyMetadata: {A: b} # /app-health/reviews/readyz"},
	{group: "statusPort: 15021\n", machines: "statusPort: 15031"},
}

// groupTexts returns all of these as groups, as they are and rewritten.
func groupTexts(t *testing.T, c *config.RewriteProbes) []string {
	t.Helper()
	var all []string
	for _, timing := range []string{"", "timeoutSeconds: 5, periodSeconds: 2147483647, initialDelaySeconds: 0, ", "periodSeconds: -1, "} {
		for _, handler := range handlers {
			for _, s := range settingsOfAgents {
				text := "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: reviews\n  namespace: shop\n" + annotation("  ", s.group) +
					"spec:\n  metadata:\n    labels: {a: b}\n" + annotation("    ", s.machines) + "  template: {}\n  probe: {" + timing + "failureThreshold: 3, " + handler + "}\n"
				all = append(all, text)
				if after, r := process(t, text, c, pipeline.Rewrite); !r.Failed() && after != text {
					all = append(all, after, strings.Replace(after, "name: reviews", "name: renamed", 1))
				}
			}
		}
	}
	return all
}

func annotation(indent, config string) string {
	if config == "" {
		return ""
	}
	return fmt.Sprintf("%sannotations: {proxy.istio.io/config: %q}\n", indent, config)
}

// groupOf decodes a group as the API server does.
func groupOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := new(unstructured.Unstructured)
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

// process runs rewrite-probes over a text.
func process(t *testing.T, text string, c *config.RewriteProbes, mode pipeline.Wants) (string, *report.Report) {
	t.Helper()
	out, r, err := rewriting.Run([]byte(text), c, mode)
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	return string(out), r
}

// checkGroup returns the keys of what check finds wrong with a group.
func checkGroup(t *testing.T, text string, c *config.RewriteProbes) []string {
	t.Helper()
	_, r := process(t, text, c, pipeline.Judge)
	var keys []string
	for _, m := range r.Messages {
		if m.Severity == transformer.Error || m.Reason.String() == "dangling" {
			keys = append(keys, m.Reason.String())
		}
	}
	slices.Sort(keys)
	return keys
}

var keyInMessage = regexp.MustCompile(`^(spec\.probe[A-Za-z.]*): .* \[([a-z-]+)\]$`)

// policedKeys returns the keys in the policy's message.
func policedKeys(t *testing.T, message string) []string {
	t.Helper()
	if message == "" {
		return nil
	}
	var keys []string
	for part := range strings.SplitSeq(message, "; ") {
		m := keyInMessage.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("the message has no field and key: %s", message)
		}
		keys = append(keys, m[2])
	}
	slices.Sort(keys)
	return keys
}

func groupNamespace(annotations map[string]string) *corev1.Namespace {
	ns := &corev1.Namespace{}
	ns.Name, ns.Annotations = "shop", annotations
	return ns
}

func TestThePolicySaysOfAWorkloadGroupWhatCheckSays(t *testing.T) {
	counts, several, groups := make(map[string]int), 0, 0
	for _, spec := range []rewriting.Settings{nil, {"rewrite": []string{"grpc"}}, {"rewrite": []string{"httpGet"}}} {
		c := decode(t, spec)
		_, p := policies(t, c)
		g := compile(t, &p.policy, 30)
		for _, text := range groupTexts(t, c) {
			groups++
			checked := checkGroup(t, text, c)
			policed := policedKeys(t, g.refusalOf(t, groupResource, groupOf(t, text), "reviews", groupNamespace(nil)))
			for _, key := range policed {
				counts[key]++
			}
			switch {
			case slices.Equal(checked, policed):
			case len(policed) > 1 && len(checked) > 0 && !slices.ContainsFunc(checked, func(key string) bool { return !slices.Contains(policed, key) }):
				several++ // check names the first alone
			default:
				t.Errorf("check says %q, the policy %q of\n%s", checked, policed, text)
			}
		}
		t.Logf("highest cost %d of %d", g.most, celconfig.RuntimeCELCostBudget)
	}
	t.Logf("%d groups, of which %d have several mistakes: %v", groups, several, counts)
	if len(counts) != 7 || several > groups/2 {
		t.Errorf("%d of %d groups have several mistakes; the keys are %v", several, groups, counts)
	}
	for key, n := range counts {
		if n < 5 {
			t.Errorf("%s comes up %d times", key, n)
		}
	}
}

func TestThePolicyLeavesWorkloadGroupsAloneThatOptOut(t *testing.T) {
	const group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: reviews, namespace: shop, annotations: {a: b%s}}\nspec: {template: {}%s}\n"
	const probe, off = ", probe: {grpc: {port: 1}}", ", rewrite-probes.io/rewrite: \"False\""
	namespaceOff := map[string]string{"rewrite-probes.io/rewrite": "0"}
	for _, test := range []struct {
		spec        rewriting.Settings
		annotations string
		namespace   map[string]string
		probe       string
		refused     bool
	}{
		{probe: probe, refused: true},
		{probe: ""},
		{probe: probe, annotations: off},
		{probe: probe, annotations: strings.Replace(off, "False", "true", 1), refused: true},
		{probe: probe, namespace: namespaceOff},
		{probe: probe, spec: rewriting.Settings{"exclude": rewriting.Settings{"namespaces": []string{"sh*"}}}},
		{probe: probe, spec: rewriting.Settings{"exclude": rewriting.Settings{"namespaces": []string{"other"}}}, refused: true},
		{probe: probe, spec: rewriting.Settings{"select": rewriting.Settings{"namespaces": []string{"other"}}}},
	} {
		_, p := policies(t, decode(t, test.spec))
		g := compile(t, &p.policy, 30)
		text := fmt.Sprintf(group, test.annotations, test.probe)
		got := g.refusalOf(t, groupResource, groupOf(t, text), "reviews", groupNamespace(test.namespace))
		want := ""
		if test.refused {
			want = "spec.probe.grpc: istiod refuses a grpc probe, and Istio's agent crashes if the service is not serving [vm-grpc-refused]"
		}
		if got != want {
			t.Errorf("%+v: got %q, want %q", test, got, want)
		}
	}
}
