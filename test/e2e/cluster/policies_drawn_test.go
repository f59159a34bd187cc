package cluster

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// drawnSets is how many sets are drawn, and drawnSeed from what.
const (
	drawnSets = 60
	drawnSeed = 57
)

// drawnNamespace has the pod that the drawn sets are about. Its port 8082 speaks HTTP/1 alone, 9090 gRPC alone,
// 8443 HTTPS, and the others everything.
const drawnNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: drawn, labels: {istio-injection: enabled}}
---
{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: drawn}, spec: {mtls: {mode: PERMISSIVE}}}
---
apiVersion: v1
kind: Service
metadata: {name: canary, namespace: drawn}
spec:
  selector: {app: drawn}
  ports:
  - {name: http-canary, port: 8089}
`

const drawnPod = `
apiVersion: v1
kind: Pod
metadata:
  name: drawn
  namespace: drawn
  labels: {app: drawn}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: localhost/app:e2e
    imagePullPolicy: Never
    args: ["-http=:8082", "-any=:8080,:8081,:8089,:9000", "-https=:8443", "-grpc=:9090"]
    ports: [{name: web, containerPort: 8080}]
    livenessProbe:
      httpGet: {path: /healthz, port: 8082}
`

// A drawing draws sets of objects from what decides how Envoy brings a probe to the app: Sidecars, protocols that
// disagree, tokens, headers, revisions, and labels that only the running pod has.
type drawing struct{ *rand.Rand }

func draw[T any](d drawing, from ...T) T { return from[d.IntN(len(from))] }

func (d drawing) oneIn(n int) bool { return d.IntN(n) == 0 }

// object returns an object of the pod's namespace. Some have a revision.
func (d drawing) object(apiVersion, kind, name, spec string) string {
	labels := ""
	if apiVersion != "v1" && d.oneIn(5) {
		labels = fmt.Sprintf(", labels: {istio.io/rev: %s}", draw(d, "default", otherRevision))
	}
	return fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: drawn%s}, spec: {%s}}\n", apiVersion, kind, name, labels, spec)
}

// labels returns some that select the pod, or another. The pod's node is not in its manifest.
func (d drawing) labels() string {
	return draw(d, "app: drawn", "app: drawn", "app: drawn", "kubernetes.io/hostname: "+node.Name,
		"kubernetes.io/hostname: another", "service.istio.io/canonical-name: drawn", "app: other")
}

var drawnPorts = []int{8080, 8081, 8082, 8443, 9000, 9090}

// set returns the objects of a set.
func (d drawing) set() string {
	var b strings.Builder
	for i := range draw(d, 0, 1, 1, 2) {
		b.WriteString(d.service(fmt.Sprintf("s%d", i)))
	}
	if d.oneIn(3) {
		b.WriteString(d.sidecar())
	}
	if d.oneIn(3) {
		b.WriteString(d.object("security.istio.io/v1", "RequestAuthentication", "tokens", d.selector("selector: {matchLabels: {%s}}, ")+d.tokens()))
	}
	if d.oneIn(6) {
		b.WriteString(d.object("security.istio.io/v1", "PeerAuthentication", "port",
			fmt.Sprintf("selector: {matchLabels: {%s}}, mtls: {mode: PERMISSIVE}, portLevelMtls: {%d: {mode: STRICT}}", d.labels(), draw(d, 8080, 8081))))
	}
	for i := range draw(d, 0, 1, 1, 1, 2) {
		b.WriteString(d.object("security.istio.io/v1", "AuthorizationPolicy", fmt.Sprintf("p%d", i), d.policy()))
	}
	return b.String()
}

// selector returns a selector in a form, or none.
func (d drawing) selector(form string) string {
	if d.oneIn(3) {
		return ""
	}
	return fmt.Sprintf(form, d.labels())
}

// service may lead to a port of the pod twice.
func (d drawing) service(name string) string {
	var ports []string
	for range 1 + d.IntN(4) {
		target := fmt.Sprint(draw(d, drawnPorts...))
		if target == "8080" && d.oneIn(3) {
			target = "web"
		}
		prefix := draw(d, "http", "http", "http2", "grpc", "grpc-web", "tcp", "https", "tls", "any", "redis")
		protocol := draw(d, "", "", "", ", appProtocol: http", ", appProtocol: kubernetes.io/h2c", ", appProtocol: tcp", ", appProtocol: https")
		ports = append(ports, fmt.Sprintf("{name: %s-%d, port: %d, targetPort: %s%s}", prefix, len(ports), 81+len(ports), target, protocol))
	}
	return d.object("v1", "Service", name, "selector: {app: drawn}, ports: ["+strings.Join(ports, ", ")+"]")
}

func (d drawing) sidecar() string {
	var listeners []string
	for _, port := range drawnPorts {
		if d.oneIn(2) {
			protocol := draw(d, "HTTP", "HTTP", "HTTP2", "GRPC", "TCP", "HTTPS", "TLS")
			endpoint := draw(d, "", fmt.Sprintf(", defaultEndpoint: \"127.0.0.1:%d\"", port), fmt.Sprintf(", defaultEndpoint: \"0.0.0.0:%d\"", port))
			listeners = append(listeners, fmt.Sprintf("{port: {number: %d, protocol: %s, name: p%d}%s}", port, protocol, port, endpoint))
		}
	}
	spec := d.selector("workloadSelector: {labels: {%s}}, ") + "egress: [{hosts: [\"*/*\"]}]"
	if len(listeners) > 0 {
		spec += ", ingress: [" + strings.Join(listeners, ", ") + "]"
	}
	return d.object("networking.istio.io/v1", "Sidecar", "sidecar", spec)
}

// drawnKeys are the keys of an issuer whose tokens nobody has.
const drawnKeys = `{"keys": [{"kty": "RSA", "kid": "k", "alg": "RS256", "use": "sig", "e": "AQAB", "n": "zEENGvSU26aZ5QV1ND3WLje0PZSAvkWmoAKDVrVL3730CY4rinnL6D8aD3qsPh1yTa0csABacYxOqJ90_pd7KIwcvkie3QkrDR688ylGOzacX7zMoRVW9TXLOGxf7tfCoSWK2x3cBqfu3CDu2mQzgAsfui6IIjeOse--bvWxodnX6f9YR-3wGpe8vGXw7OcI0wz7yYhe47Qfvevm9rGoTBnR_6auFfa_jqrqqPi5hI7scDQNBxi9uL6tlkoXbfBqCZwN7aee25H3HRdRoCvl4lSnpwH3m5r4WVAu_vjeZdJ_syArgtRE37VIDzDeaevKSQ_TDO88aL24Hl_QDcqTmw"}]}`

func (d drawing) tokens() string {
	from := draw(d, "", "", ", fromHeaders: [{name: x-token}]", ", fromHeaders: [{name: x-token, prefix: \"t \"}]", ", fromParams: [t]", ", fromHeaders: [{name: x-token}], fromParams: [t]")
	return "jwtRules: [{issuer: a@example.com, jwks: '" + drawnKeys + "'" + from + "}]"
}

// policy returns the spec of an AuthorizationPolicy. One that allows something lets the canary in.
func (d drawing) policy() string {
	action := draw(d, "ALLOW", "ALLOW", "DENY", "DENY", "AUDIT")
	var rules []string
	for range draw(d, 1, 1, 2) {
		var parts []string
		if d.oneIn(3) {
			parts = append(parts, "from: [{source: {"+draw(d, "principals: [\"*\"]", "notPrincipals: [\"*\"]", "requestPrincipals: [\"*\"]",
				"notRequestPrincipals: [\"*\"]", "namespaces: [drawn]", "ipBlocks: [10.0.0.0/8]", "notIpBlocks: [0.0.0.0/0]")+"}}]")
		}
		if d.oneIn(2) || len(parts) == 0 {
			parts = append(parts, "to: [{operation: {"+draw(d, "paths: [/healthz]", "paths: [/other]", "paths: [\"/health*\"]", "notPaths: [/healthz]", "methods: [GET]",
				"methods: [POST]", "ports: [\"8080\"]", "ports: [\"8081\", \"9000\"]", "notPorts: [\"8080\"]", "hosts: [a.example]", "notHosts: [a.example]", "paths: [/healthz], ports: [\"9000\"]")+"}}]")
		}
		if d.oneIn(3) {
			parts = append(parts, "when: [{"+draw(d, "key: \"request.headers[x-a]\", values: [\"1\"]", "key: \"request.headers[x-a]\", notValues: [\"1\"]", "key: \"request.headers[x-a]\", values: [\"*\"]",
				"key: \"request.headers[x-a]\", values: [\"1,2\"]", "key: \"request.headers[user-agent]\", values: [\"kube-probe/*\"]",
				"key: \"request.auth.claims[iss]\", values: [\"a@example.com\"]", "key: destination.port, values: [\"8080\"]")+"}]")
		}
		rules = append(rules, "{"+strings.Join(parts, ", ")+"}")
	}
	if action == "ALLOW" {
		rules = append(rules, "{to: [{operation: {ports: [\"8089\"]}}]}")
	}
	return d.selector("selector: {matchLabels: {%s}}, ") + "action: " + action + ", rules: [" + strings.Join(rules, ", ") + "]"
}

// probes returns the probes of a set: of each port a plain one, and some with headers or a token.
func (d drawing) probes() (all []corev1.ProbeHandler) {
	get := func(port int, path string, headers ...corev1.HTTPHeader) {
		h := &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt(port), Scheme: corev1.URISchemeHTTP, HTTPHeaders: headers}
		if port == 8443 {
			h.Scheme = corev1.URISchemeHTTPS
		}
		all = append(all, corev1.ProbeHandler{HTTPGet: h})
	}
	for _, port := range drawnPorts[:5] {
		get(port, "/healthz")
	}
	service := "ready"
	all = append(all, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090, Service: &service}})
	header := func(name, value string) corev1.HTTPHeader { return corev1.HTTPHeader{Name: name, Value: value} }
	object := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"a@example.com"}`))
	token := draw(d, "garbage", object+"."+object+".c2ln")
	get(draw(d, 8080, 8081, 9000), "/healthz", draw(d, []corev1.HTTPHeader{header("x-a", "1")}, []corev1.HTTPHeader{header("x-a", "1"), header("X-A", "2")},
		[]corev1.HTTPHeader{header("x-a", "")}, []corev1.HTTPHeader{header("Host", "a.example")}, []corev1.HTTPHeader{header("User-Agent", "other")})...)
	get(draw(d, 8080, 8081, 8082, 9000), "/healthz", header("Authorization", draw(d, "Bearer "+token, "Bearer "+token, "Basic YTpi")))
	get(draw(d, 8080, 8081), "/healthz", header("X-Token", draw(d, "", "t ")+token))
	get(draw(d, 8080, 9000), "/healthz?"+draw(d, "t", "access_token")+"="+token)
	return all
}

// TestEnvoyDoesWithDrawnSets comes before the tests that run at once, as the one of policies does.
func TestEnvoyDoesWithDrawnSetsWhatCheckSays(t *testing.T) {
	if err := makeOnce("drawn", drawnNamespace); err != nil {
		t.Fatal(err)
	}
	if err := api.apply(drawnPod); err != nil {
		t.Fatal(err)
	}
	if err := podReady("drawn"); err != nil {
		t.Fatal(err)
	}
	ip := theNode.State("drawn").IP
	d := drawing{rand.New(rand.NewPCG(drawnSeed, 1))}
	count := new(drawnCount)
	for i := range drawnSets {
		objects, probes := d.set(), d.probes()
		t.Run(fmt.Sprint(i), func(t *testing.T) { count.judge(t, i, ip, objects, probes) })
	}
	remove(t, "drawn", "drawn")
	t.Log(count)
	text := fmt.Sprintf("%d sets with %d probes: check is silent about none that Envoy refuses, and names none that passes", drawnSets, count.probes)
	note(t, text, count.String())
}

// A drawnCount says how often check and Envoy agree.
type drawnCount struct{ probes, refused, named, doubted, doubtedInVain int }

func (c *drawnCount) String() string {
	return fmt.Sprintf("of %d probes Envoy refuses %d; check says of %d that they fail, and of %d that they may, and so of %d that pass",
		c.probes, c.refused, c.named, c.doubted, c.doubtedInVain)
}

func (c *drawnCount) judge(t *testing.T, number int, ip, objects string, probes []corev1.ProbeHandler) {
	t.Helper()
	if err := api.apply(objects); err != nil {
		t.Fatalf("%v in\n%s", err, objects)
	}
	defer func() {
		if err := api.remove(objects); err != nil {
			t.Error(err)
		}
	}()
	if err := enforced("drawn", ip, fmt.Sprintf("/set-%d", number)); err != nil {
		t.Fatalf("%v with\n%s", err, objects)
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "drawn", Namespace: "drawn", Labels: map[string]string{"app": "drawn"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "localhost/app:e2e", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
		}}},
	}
	said := checkOfProbes(t, pod, drawnNamespace+objects, probes)
	for i, h := range probes {
		c.add(t, objects, ip, h, said[i])
	}
}

// add compares what check says of a probe with what Envoy makes of it. It asks again before it complains: istiod tells Envoy of
// different kinds one after the other.
func (c *drawnCount) add(t *testing.T, objects, ip string, h corev1.ProbeHandler, said string) {
	t.Helper()
	var passes bool
	var says string
	for range 4 {
		passes, says = probed(t, ip, h)
		if agree := passes && said != fails || !passes && (said == fails || said == mayFail); agree {
			break
		}
		time.Sleep(2 * time.Second)
	}
	c.probes++
	switch {
	case passes && said == fails:
		t.Errorf("check says that %v fails, which passes, with\n%s", h, objects)
	case passes && said == mayFail:
		c.doubtedInVain++
	case passes:
	case said == fails:
		c.named++
	case said == mayFail:
		c.doubted++
	default:
		t.Errorf("check is silent (%s) about %v, which Envoy refuses (%s), with\n%s", said, h, says, objects)
	}
	if !passes {
		c.refused++
	}
}

// probed makes a probe with the kubelet's own probers.
func probed(t *testing.T, ip string, h corev1.ProbeHandler) (passes bool, says string) {
	t.Helper()
	const limit = 5 * time.Second
	var result probe.Result
	var err error
	if h.GRPC != nil {
		result, says, err = grpcprobe.New().Probe(ip, *h.GRPC.Service, int(h.GRPC.Port), limit, grpcprobe.ProbeOptions{})
	} else {
		request, problem := httpprobe.NewRequestForHTTPGetAction(h.HTTPGet, &corev1.Container{}, ip, "probe")
		if problem != nil {
			t.Fatal(problem)
		}
		result, says, err = httpprobe.New(false).Probe(request, limit)
	}
	if err != nil {
		t.Errorf("%v: %v", h, err)
	}
	return result == probe.Success, says
}
