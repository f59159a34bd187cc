package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// A form is the text around the objects of a generated input.
type form int

const (
	stream  form = iota // documents between `---` lines, as `kustomize build` prints them
	listing             // a ResourceList, as kpt sends it
)

// A generator writes made-up objects. They are a function of their index
// alone, so that a longer list is a shorter one continued and two machines
// measure the same bytes.
type generator struct {
	form    form
	objects int
	crds    bool // a CRD for every 20th object
	unusual bool // every object in YAML that rules out reading by lines
	dense   bool // every object a small Deployment
}

// write makes the file; it streams, because the caller's own peak memory
// shows in what it measures (see program.run).
func (g generator) write(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	g.writeTo(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func (g generator) writeTo(w io.Writer) {
	if g.form == listing {
		io.WriteString(w, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	}
	for i := range g.objects {
		g.object(w, i)
	}
	if g.form == listing {
		io.WriteString(w, "functionConfig:\n  metadata:\n    name: function-input\n  data: {}\n  kind: ConfigMap\n  apiVersion: v1\n")
	}
}

func (g generator) object(w io.Writer, i int) {
	text := g.text(i)
	if g.form == stream {
		if i > 0 {
			io.WriteString(w, "---\n")
		}
		io.WriteString(w, text)
		return
	}
	prefix := "- "
	for line := range strings.Lines(text) {
		io.WriteString(w, prefix+line)
		prefix = "  "
	}
}

// text returns the object at index i. One in four is a workload.
func (g generator) text(i int) string {
	names := strings.NewReplacer("NAME", fmt.Sprintf("app-%d", i), "INDEX", fmt.Sprint(i), "ID", fmt.Sprint(i+1))
	r := strings.NewReplacer("NAME", fmt.Sprintf("app-%d", i), "INDEX", fmt.Sprint(i), "ANNOTATIONS\n", names.Replace(annotations(g.form)))
	switch {
	case g.dense:
		return r.Replace(denseDeployment)
	case g.unusual:
		return r.Replace(unusual[i%len(unusual)])
	case g.crds && i%20 == 7:
		return r.Replace(crd)
	case i%4 == 0:
		return r.Replace(workloads[i/4%len(workloads)])
	default:
		return r.Replace(others[i%len(others)])
	}
}

// annotations returns what kpt adds to every object.
func annotations(f form) string {
	if f == stream {
		return "    team: platform\n"
	}
	return `    team: platform
    config.kubernetes.io/index: 'INDEX'
    config.kubernetes.io/path: 'apps/NAME.yaml'
    internal.config.kubernetes.io/index: 'INDEX'
    internal.config.kubernetes.io/path: 'apps/NAME.yaml'
    internal.config.kubernetes.io/seqindent: 'compact'
    internal.config.kubernetes.io/annotations-migration-resource-id: 'INDEX'
    internal.config.kubernetes.io/id: 'ID'
    config.k8s.io/id: 'ID'
`
}

const metadata = `metadata:
  name: NAME
  namespace: shop
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: shop
    app.kubernetes.io/managed-by: kustomize
  annotations:
ANNOTATIONS
`

const podSpec = `      serviceAccountName: NAME
      terminationGracePeriodSeconds: 30
      securityContext:
        fsGroup: 1000
        runAsGroup: 1000
        runAsNonRoot: true
        runAsUser: 1000
        seccompProfile:
          type: RuntimeDefault
      initContainers:
      - name: migrate
        image: registry.example.com/shop/NAME-migrate:v1.42.0
        command: ["/app/migrate", "--up"]
        env:
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: NAME-database
              key: url
      containers:
      - name: server
        image: registry.example.com/shop/NAME:v1.42.0
        imagePullPolicy: IfNotPresent
        args:
        - --listen=:8080
        - --metrics=:9090
        - --log-format=json
        env:
        - name: PORT
          value: "8080"
        - name: POD
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: NAME-database
              key: url
        - name: JAVA_OPTS
          value: -XX:MaxRAMPercentage=75 -Djava.security.egd=file:/dev/./urandom
        ports:
        - name: http
          containerPort: 8080
          protocol: TCP
        - name: metrics
          containerPort: 9090
          protocol: TCP
        readinessProbe:
          httpGet:
            path: /ready?full=true
            port: http
          periodSeconds: 5
          timeoutSeconds: 2
        livenessProbe:
          httpGet:
            path: /healthz
            port: 8080
            httpHeaders:
            - name: X-Probe
              value: liveness
          initialDelaySeconds: 10
          failureThreshold: 5
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop:
            - ALL
        volumeMounts:
        - name: config
          mountPath: /etc/app
          readOnly: true
        - name: tmp
          mountPath: /tmp
      volumes:
      - name: config
        configMap:
          name: NAME
          items:
          - key: app.yaml
            path: app.yaml
      - name: tmp
        emptyDir:
          sizeLimit: 64Mi
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: NAME
`

const podTemplate = `  template:
    metadata:
      labels:
        app.kubernetes.io/name: NAME
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "9090"
    spec:
`

var (
	workloads = []string{
		"apiVersion: apps/v1\nkind: Deployment\n" + metadata + "spec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: NAME\n" + podTemplate + podSpec,
		"apiVersion: apps/v1\nkind: StatefulSet\n" + metadata + "spec:\n  serviceName: NAME\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: NAME\n" + podTemplate + grpcSpec,
		"apiVersion: apps/v1\nkind: Deployment\n" + metadata + "spec:\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: NAME\n" + podTemplate + podSpec,
	}
	grpcSpec = strings.NewReplacer(`          httpGet:
            path: /ready?full=true
            port: http
`, `          grpc:
            port: 8080
            service: NAME
`, `          httpGet:
            path: /healthz
            port: 8080
            httpHeaders:
            - name: X-Probe
              value: liveness
`, `          tcpSocket:
            port: 9090
`).Replace(podSpec)

	others = []string{service, configMap, role, configMap, policy, autoscaler, account}
)

const service = "apiVersion: v1\nkind: Service\n" + metadata + `spec:
  type: ClusterIP
  selector:
    app.kubernetes.io/name: NAME
  ports:
  - name: http
    port: 80
    targetPort: http
    protocol: TCP
  - name: metrics
    port: 9090
    targetPort: metrics
    protocol: TCP
`

const account = "apiVersion: v1\nkind: ServiceAccount\n" + metadata + "automountServiceAccountToken: false\n"

const configMap = "apiVersion: v1\nkind: ConfigMap\n" + metadata + `data:
  LOG_LEVEL: info
  app.yaml: |
    # read at start and on SIGHUP
    server:
      listen: 0.0.0.0:8080
      kind: Deployment
      timeouts:
      - route: /api
        seconds: 30
      - route: /upload
        seconds: 300
    ---
    database:
      pool: 16
      statements:
      - SELECT id, name, price FROM products WHERE category = $1 ORDER BY price
      - UPDATE stock SET amount = amount - $1 WHERE product = $2 AND amount >= $1
    features:
      checkout-v2: true
      recommendations: false
  nginx.conf: |
    worker_processes auto;
    events { worker_connections 1024; }
    http {
      upstream app { server 127.0.0.1:8080; keepalive 32; }
      server {
        listen 8000;
        location / { proxy_pass http://app; proxy_set_header Host $host; }
        location /static { root /usr/share/nginx/html; expires 1h; }
      }
    }
  dashboard.json: |
    {"title": "NAME", "panels": [{"type": "graph", "title": "Requests", "targets": [{"expr": "sum(rate(http_requests_total{app=\"NAME\"}[5m])) by (code)"}]},
     {"type": "graph", "title": "Latency", "targets": [{"expr": "histogram_quantile(0.99, sum(rate(http_request_duration_seconds_bucket{app=\"NAME\"}[5m])) by (le))"}]}]}
`

const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n" + metadata + `rules:
- apiGroups:
  - ""
  resources:
  - configmaps
  - secrets
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - get
  - create
  - update
`

const policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" + metadata + `spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: NAME
  policyTypes:
  - Ingress
  ingress:
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: ingress
    - podSelector:
        matchLabels:
          app.kubernetes.io/part-of: shop
    ports:
    - protocol: TCP
      port: 8080
`

const autoscaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n" + metadata + `spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: NAME
  minReplicas: 3
  maxReplicas: 12
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 70
`

// crd is of the size that operators ship: some 190 kB, nearly all of it the
// schema of a pod template with its descriptions.
var crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" + metadata + `spec:
  group: shop.example.com
  names:
    kind: Thing
    listKind: ThingList
    plural: things
    singular: thing
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
` + crdFields(190)

func crdFields(n int) string {
	const indent = "              "
	field := indent + strings.ReplaceAll(strings.TrimSuffix(crdField, "\n"), "\n", "\n"+indent) + "\n"
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Replace(field, "FIELD", fmt.Sprintf("field%d", i), 1))
	}
	return b.String()
}

const crdField = `FIELD:
  description: |-
    Periodic probe of container service readiness.
    Container will be removed from service endpoints if the probe fails.
    Cannot be updated.
    More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#container-probes
  type: object
  required:
  - port
  properties:
    readinessProbe:
      description: HTTPGet specifies an HTTP GET request to perform. It is one of the handlers of the probe.
      type: object
      properties:
        port:
          description: |-
            Name or number of the port to access on the container.
            Number must be in the range 1 to 65535.
          anyOf:
          - type: integer
          - type: string
          x-kubernetes-int-or-string: true
        scheme:
          default: HTTP
          type: string
          enum:
          - HTTP
          - HTTPS
`

// denseDeployment has two probes and little else.
const denseDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: shop
spec:
  selector:
    matchLabels:
      app: NAME
  template:
    metadata:
      labels:
        app: NAME
    spec:
      containers:
      - name: server
        image: registry.example.com/shop/NAME:v1.42.0
        readinessProbe:
          httpGet:
            path: /ready
            port: 8080
        livenessProbe:
          tcpSocket:
            port: 8080
`

// unusual is what people write by hand and kpt passes on: anchors and
// aliases, flow style, tags. Each rules out reading the list by lines.
var unusual = []string{
	"apiVersion: apps/v1\nkind: Deployment\n" + metadata + `spec:
  selector:
    matchLabels: &labels-INDEX
      app.kubernetes.io/name: NAME
  template:
    metadata:
      labels: *labels-INDEX
    spec:
      containers:
      - name: server
        image: registry.example.com/shop/NAME:v1.42.0
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
        readinessProbe: {httpGet: {path: /ready, port: http}, periodSeconds: 5}
        livenessProbe:
          httpGet: {path: "/healthz", port: 8080}
        env:
        - {name: PORT, value: !!str 8080}
        - {name: MODE, value: "production"}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
`,
	"apiVersion: v1\nkind: Service\n" + metadata + `spec:
  selector: &labels-INDEX {app.kubernetes.io/name: NAME}
  ports: [{name: http, port: 80, targetPort: http}, {name: metrics, port: 9090, targetPort: metrics}]
`,
	configMap, role,
}
