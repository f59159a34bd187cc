package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A policyCase is a set of AuthorizationPolicies, and what an Envoy under them made of
// the kubelet's probes when the file with the cases was written.
type policyCase struct {
	Name     string
	Policies []struct {
		Namespace string          `json:"namespace"`
		Spec      json.RawMessage `json:"spec"`
	}
	Probes []policyProbe
}

// manifests returns the policies of a case.
func (c policyCase) manifests() string {
	var b strings.Builder
	for i, p := range c.Policies {
		fmt.Fprintf(&b, "---\n{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {name: case-%d, namespace: %s}, spec: %s}\n",
			i, p.Namespace, p.Spec)
	}
	return b.String()
}

// A policyProbe is a probe, and whether it passes.
type policyProbe struct {
	Kind, Scheme, Path, Host string
	Port                     int
	Passes                   bool
}

// isGRPCOverHTTP1 reports whether a gRPC probe comes on the port that the Service calls http: Envoy asks the app by
// HTTP/1 there. The app of these cases speaks no gRPC and answers anyway.
func (p policyProbe) isGRPCOverHTTP1() bool { return p.Kind == "grpc" && p.Port == 8080 }

// readPolicyCases returns the cases with the addresses of this cluster. Those of the root
// namespace count for the whole mesh.
func readPolicyCases(t *testing.T, podIP string) (cases, root []policyCase) {
	t.Helper()
	text, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		PodIP, NodeIP string
		Cases         []policyCase
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	theirs := file.PodIP[:strings.Index(file.PodIP, ".77.")] + ".77." // in patterns such as 10.77.*
	text = []byte(strings.NewReplacer(file.PodIP, podIP, file.NodeIP, nodeAddress, theirs, "10.88.").Replace(string(text)))
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		c.Probes = slices.DeleteFunc(c.Probes, func(p policyProbe) bool { return !kubelets(c, p) })
		everywhere := false
		for _, p := range c.Policies {
			everywhere = everywhere || p.Namespace == rootNamespace
		}
		if everywhere {
			root = append(root, c)
		} else {
			cases = append(cases, c)
		}
	}
	return cases, root
}

// kubelets reports whether a probe of a case is one that the kubelet can make. Where the file
// was written a client asked that was told what to ask.
func kubelets(c policyCase, p policyProbe) bool {
	hostForPath := strings.HasPrefix(p.Path, "//") // the kubelet takes what follows for a host
	otherAgent := p.Kind == "grpc" && strings.Contains(c.Name, "User-Agent")
	return !hostForPath && !otherAgent
}

const rootNamespace = "istio-system"

var policyFile = filepath.Join(root, "internal/authz/testdata/policies.json")

// policyShop is what the policies are about. Envoy takes a port for HTTP or not by the name
// that the Service gives it. The canary is a port that no case is about.
const policyShop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: shop}, spec: {mtls: {mode: PERMISSIVE}}}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: shop}
spec:
  selector: {app: a}
  ports:
  - {name: http, port: 8080}
  - {name: undeclared, port: 8081}
  - {name: tcp, port: 9000}
  - {name: http-canary, port: 8089}
`

// policyPod answers every request with 200. Its port 15099 is not captured, and its liveness
// probe is what Istio's agent answers on port 15020.
const policyPod = `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: shop
  labels: {app: a}
  annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "15099"}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: localhost/app:e2e
    imagePullPolicy: Never
    args: ["-http=", "-any=:8080,:8081,:8089,:9000,:7070,:15099", "-https=:8443"]
    livenessProbe:
      httpGet: {path: /healthz, port: 8080}
`

// TestAuthorizationPolicies comes before the tests that run at once, since policies of
// the root namespace would refuse their probes.
func TestAuthorizationPoliciesRefuseTheProbesThatCheckNames(t *testing.T) {
	if err := makeOnce("shop", policyShop); err != nil {
		t.Fatal(err)
	}
	if err := api.apply(policyPod); err != nil {
		t.Fatal(err)
	}
	if err := podReady("a"); err != nil {
		t.Fatal(err)
	}
	ip := theNode.State("a").IP
	cases, root := readPolicyCases(t, ip)
	count := new(policyCount)
	for i, c := range slices.Concat(root, cases) {
		t.Run(c.Name, func(t *testing.T) {
			applied := applyPolicies(t, c, i, ip)
			defer removePolicies(t, applied)
			said := checkOfCase(t, c)
			for j, p := range c.Probes {
				passes, says := p.make(t, ip)
				count.add(t, p, passes, says, said[j])
			}
		})
	}
	remove(t, "shop", "a")
	note(t, count.String(), count.String())
}

// mayFail is what check says of a probe that fails if something holds which no manifest says.
const (
	mayBe   = "may be: "
	mayFail = mayBe + fails
)

// A policyCount says how often check and Envoy agree.
type policyCount struct {
	probes  int
	refused int // by Envoy
	named   int // refused, and check says so
	doubted int // refused, and check says so on a condition
	accused int // not refused, and check says so
}

func (c *policyCount) String() string {
	return fmt.Sprintf("of %d probes Envoy refuses %d; check says of %d that they fail, and of %d that they may; of those that pass, check names %d",
		c.probes, c.refused, c.named, c.doubted, c.accused)
}

// add compares what Envoy made of a probe with what was written down, and with what check says.
func (c *policyCount) add(t *testing.T, p policyProbe, passed bool, says, said string) {
	t.Helper()
	c.probes++
	if passed != p.Passes {
		t.Errorf("%s passes: %t, and must: %t; %s", p, passed, p.Passes, says)
	}
	if strings.HasPrefix(p.Path, "/app-health/") {
		return // what a rewritten probe asks for, which this pod does not declare
	}
	if !passed {
		c.addRefused(t, p, said)
		return
	}
	if said == fails && !p.isGRPCOverHTTP1() { // that fails for no policy's sake: an app that speaks gRPC cannot answer
		c.accused++
		t.Errorf("check says that %s fails, which passes", p)
	}
}

func (c *policyCount) addRefused(t *testing.T, p policyProbe, said string) {
	t.Helper()
	c.refused++
	switch said {
	case fails:
		c.named++
	case mayFail:
		c.doubted++
	default:
		t.Errorf("check is silent about %s, which Envoy refuses: %s", p, said)
	}
}

func (p policyProbe) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s :%d%s %s", p.Kind, p.Scheme, p.Port, p.Path, p.Host))
}

// applyPolicies applies the policies of a case, and waits until Envoy enforces them. It returns
// what was applied.
func applyPolicies(t *testing.T, c policyCase, number int, ip string) string {
	t.Helper()
	applied := c.manifests()
	if err := makeOnce("other", "{apiVersion: v1, kind: Namespace, metadata: {name: other}}"); err != nil {
		t.Fatal(err)
	}
	err := api.apply(applied)
	if err != nil && olderIstio != "" && strings.Contains(err.Error(), "field not declared in schema") {
		t.Skip("this Istio is too old for a field: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := enforced("shop", ip, fmt.Sprintf("/case-%d", number)); err != nil {
		t.Fatal(err)
	}
	return applied
}

// removePolicies takes the policies of a case away, and waits until Envoy has dropped them.
func removePolicies(t *testing.T, applied string) {
	t.Helper()
	if err := api.remove(applied); err != nil {
		t.Error(err)
	}
	ip := theNode.State("a").IP
	err := testutil.Eventually(30*time.Second, func() error {
		if status := statusOf(ip, "/without-policy"); status != http.StatusOK {
			return fmt.Errorf("without a policy the canary answers %d", status)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := enforced("shop", ip, fmt.Sprintf("/after-%d", time.Now().UnixNano())); err != nil {
		t.Error(err)
	}
}

// enforced adds a policy to a namespace that refuses a path of the canary, and waits until it does. What
// was changed before is in force then, since Envoy gets all policies of a pod at once.
func enforced(namespace, ip, path string) error {
	err := api.apply(fmt.Sprintf(`{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {name: canary, namespace: %s},
		spec: {action: DENY, rules: [{to: [{operation: {ports: ["8089"], paths: [%s]}}]}]}}`, namespace, path))
	if err != nil {
		return err
	}
	return testutil.Eventually(30*time.Second, func() error {
		if status := statusOf(ip, path); status != http.StatusForbidden {
			return fmt.Errorf("the policy of %s is not in force: %d", path, status)
		}
		return nil
	})
}

// statusOf asks the canary; 0 if there is no answer.
func statusOf(ip, path string) int {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + ip + ":8089" + path)
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

// make makes a probe with the kubelet's own probers, from where the kubelet does. It
// reports whether the probe passes, and what the prober says.
func (p policyProbe) make(t *testing.T, ip string) (passes bool, says string) {
	t.Helper()
	const limit = 10 * time.Second
	var result probe.Result
	var err error
	switch p.Kind {
	case "tcpSocket":
		result, says, err = tcpprobe.New().Probe(ip, p.Port, limit)
	case "grpc":
		result, says, err = grpcprobe.New().Probe(ip, "ready", p.Port, limit, grpcprobe.ProbeOptions{})
	default:
		var request *http.Request
		request, err = httpprobe.NewRequestForHTTPGetAction(p.httpGet(), &corev1.Container{}, ip, "probe")
		if err == nil {
			result, says, err = httpprobe.New(false).Probe(request, limit)
		}
	}
	if err != nil {
		t.Errorf("%s: %v", p, err)
	}
	if p.Kind == "grpc" {
		// Behind the policies Envoy speaks HTTP/1.1 to a port that its Service declares to be http,
		// so that gRPC fails there in every case. What counts is who refuses.
		return !strings.Contains(says, "RBAC: access denied"), says
	}
	return result == probe.Success, says
}

func (p policyProbe) httpGet() *corev1.HTTPGetAction {
	get := &corev1.HTTPGetAction{Path: p.Path, Port: intstr.FromInt(p.Port), Scheme: corev1.URISchemeHTTP}
	if p.Scheme != "" {
		get.Scheme = corev1.URIScheme(p.Scheme)
	}
	if p.Host != "" {
		get.HTTPHeaders = []corev1.HTTPHeader{{Name: "Host", Value: p.Host}}
	}
	return get
}

// handler returns the probe as a pod declares it.
func (p policyProbe) handler() corev1.ProbeHandler {
	switch p.Kind {
	case "tcpSocket":
		return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(p.Port)}}
	case "grpc":
		service := "ready"
		return corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: int32(p.Port), Service: &service}}
	}
	return corev1.ProbeHandler{HTTPGet: p.httpGet()}
}

// checkOfCase returns what check says of each probe of a case, in a pod that has them all.
func checkOfCase(t *testing.T, c policyCase) []string {
	t.Helper()
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "shop", Labels: map[string]string{"app": "a"},
			Annotations: map[string]string{"traffic.sidecar.istio.io/excludeInboundPorts": "15099"}},
	}
	var handlers []corev1.ProbeHandler
	for _, p := range c.Probes {
		handlers = append(handlers, p.handler())
	}
	return checkOfProbes(t, pod, policyShop+c.manifests(), handlers)
}

// checkOfProbes returns what check says of each of some probes, in a pod that has them all, among manifests.
func checkOfProbes(t *testing.T, pod *corev1.Pod, around string, handlers []corev1.ProbeHandler) []string {
	t.Helper()
	for i, h := range handlers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("probe-%d", i), Image: "localhost/app:e2e",
			ReadinessProbe: &corev1.Probe{ProbeHandler: h},
		})
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml") // the probes are asked as they are
	const spec = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: check}\nspec: {istio: {injectorRewrites: false}}\n"
	if err := os.WriteFile(config, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	probes := judged(t, around+"---\n"+string(text)+"\n", "--config", config)
	if len(probes) != len(handlers) {
		t.Fatal("check does not say something of every probe")
	}
	said := make([]string, len(probes))
	for i, p := range probes {
		if said[i] = p.Today; p.If != "" {
			said[i] = mayBe + p.Today
		}
	}
	return said
}
