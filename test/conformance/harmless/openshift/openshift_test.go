package openshift

import (
	"fmt"
	"strings"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccmatching"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/securitycontext"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// The constraints that OpenShift installs: restricted-v2 for everybody, anyuid for those
// who have been allowed it.
var (
	no, yes      = false, true
	restrictedV2 = &securityv1.SecurityContextConstraints{
		ObjectMeta:               metav1.ObjectMeta{Name: "restricted-v2"},
		AllowPrivilegeEscalation: &no,
		AllowedCapabilities:      []corev1.Capability{"NET_BIND_SERVICE"},
		RequiredDropCapabilities: []corev1.Capability{"ALL"},
		RunAsUser:                securityv1.RunAsUserStrategyOptions{Type: securityv1.RunAsUserStrategyMustRunAsRange},
		SELinuxContext:           securityv1.SELinuxContextStrategyOptions{Type: securityv1.SELinuxStrategyMustRunAs},
		FSGroup:                  securityv1.FSGroupStrategyOptions{Type: securityv1.FSGroupStrategyMustRunAs},
		SupplementalGroups:       securityv1.SupplementalGroupsStrategyOptions{Type: securityv1.SupplementalGroupsStrategyRunAsAny},
		SeccompProfiles:          []string{"runtime/default"},
	}
	anyuid = &securityv1.SecurityContextConstraints{
		ObjectMeta:               metav1.ObjectMeta{Name: "anyuid"},
		AllowPrivilegeEscalation: &yes,
		RequiredDropCapabilities: []corev1.Capability{"MKNOD"},
		RunAsUser:                securityv1.RunAsUserStrategyOptions{Type: securityv1.RunAsUserStrategyRunAsAny},
		SELinuxContext:           securityv1.SELinuxContextStrategyOptions{Type: securityv1.SELinuxStrategyMustRunAs},
		FSGroup:                  securityv1.FSGroupStrategyOptions{Type: securityv1.FSGroupStrategyRunAsAny},
		SupplementalGroups:       securityv1.SupplementalGroupsStrategyOptions{Type: securityv1.SupplementalGroupsStrategyRunAsAny},
	}
)

// shop is a namespace with what OpenShift gives to each.
var shop = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{
	securityv1.UIDRangeAnnotation:           "1000650000/10000",
	securityv1.SupplementalGroupsAnnotation: "1000650000/10000",
	securityv1.MCSAnnotation:                "s0:c26,c5",
}}}

// admit returns the pod as OpenShift stores it, or why the constraint refuses it.
func admit(t *testing.T, constraint *securityv1.SecurityContextConstraints, spec corev1.PodSpec) (*core.Pod, error) {
	t.Helper()
	provider, err := sccmatching.CreateProviderFromConstraint(shop, constraint.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	external := &corev1.Pod{Spec: spec}
	v1.SetObjectDefaults_Pod(external)
	pod := new(core.Pod)
	if err := v1.Convert_v1_Pod_To_core_Pod(external, pod, nil); err != nil {
		t.Fatal(err)
	}
	return pod, sccmatching.AssignSecurityContext(provider, pod, field.NewPath("spec")).ToAggregate()
}

// workload returns an object of a kind whose pod has further fields.
func workload(apiVersion, kind, fields string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    metadata: {labels: {sidecar.istio.io/inject: \"true\"}}\n    spec:\n" +
		fields + "      containers:\n      - {name: app, image: a, readinessProbe: {httpGet: {path: /healthz, port: 8080}}}\n"
}

// podSpec returns the pod that an object makes.
func podSpec(t *testing.T, text string) corev1.PodSpec {
	t.Helper()
	var object struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec.Template.Spec
}

// rewrite sends a manifest through rewrite-probes.
func rewrite(t *testing.T, text, platform, placement string) string {
	t.Helper()
	s, err := manifest.Read("input", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.Platform, c.Spec.ProbeProxy.Placement = "istio", "probe-proxy", platform, placement
	pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite)
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// probeProxy returns the container in a pod.
func probeProxy(t *testing.T, pod *core.Pod) *core.Container {
	t.Helper()
	for _, list := range [][]core.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == "probe-proxy" {
				return &list[i]
			}
		}
	}
	t.Fatal("the pod must have a probe-proxy")
	return nil
}

func TestOpenShiftAdmitsProbeProxyWhereItAdmitsTheApp(t *testing.T) {
	deployment := func(fields string) string { return workload("apps/v1", "Deployment", fields) }
	for _, c := range []struct {
		name, text, platform string
		constraint           *securityv1.SecurityContextConstraints
		uid                  int64 // of probe-proxy in the admitted pod; 0 is the image's
	}{
		{"a Deployment, and the config says OpenShift", deployment(""), "openshift", restrictedV2, 1000650000},
		{"a DeploymentConfig", workload("apps.openshift.io/v1", "DeploymentConfig", ""), "auto", restrictedV2, 1000650000},
		{"a pod with a uid of the range", deployment("      securityContext: {runAsUser: 1000650007}\n"), "openshift", restrictedV2, 1000650007},
		{"a pod that says it is not root", deployment("      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}\n"), "openshift", restrictedV2, 1000650000},
		{"a pod that runs as root", deployment("      securityContext: {runAsUser: 0}\n"), "openshift", anyuid, 65532},
		{"a pod with the proxy's uid", deployment("      securityContext: {runAsUser: 1337}\n"), "openshift", anyuid, 65532},
		{"a pod that may have any uid", deployment(""), "openshift", anyuid, 0},
	} {
		for _, placement := range []string{"native", "container"} {
			t.Run(fmt.Sprint(c.name, ", ", placement), func(t *testing.T) {
				if _, err := admit(t, c.constraint, podSpec(t, c.text)); err != nil {
					t.Fatalf("%s must admit the app: %v", c.constraint.Name, err)
				}
				pod, err := admit(t, c.constraint, podSpec(t, rewrite(t, c.text, c.platform, placement)))
				if err != nil {
					t.Fatalf("%s admitted the app, and refuses it with probe-proxy: %v", c.constraint.Name, err)
				}
				is := securitycontext.NewEffectiveContainerSecurityContextAccessor(securitycontext.NewPodSecurityContextAccessor(pod.Spec.SecurityContext),
					securitycontext.NewContainerSecurityContextMutator(probeProxy(t, pod).SecurityContext))
				if uid := is.RunAsUser(); uid != nil && *uid != c.uid || uid == nil && c.uid != 0 || is.RunAsNonRoot() == nil || !*is.RunAsNonRoot() {
					t.Errorf("its securityContext is %+v, want uid %d, and not root", probeProxy(t, pod).SecurityContext, c.uid)
				}
				if profile := pod.Spec.SecurityContext.SeccompProfile; c.constraint == restrictedV2 && (profile == nil || profile.Type != core.SeccompProfileTypeRuntimeDefault) {
					t.Errorf("the pod's seccompProfile is %v", profile)
				}
			})
		}
	}
}

// This is why the uid and the profile are left to OpenShift.
func TestOpenShiftRefusesWhatProbeProxyHasElsewhere(t *testing.T) {
	elsewhere := podSpec(t, rewrite(t, workload("apps/v1", "Deployment", ""), "kubernetes", "native"))
	for constraint, want := range map[*securityv1.SecurityContextConstraints]string{
		restrictedV2: "65532: must be in the ranges: [1000650000, 1000659999]",
		anyuid:       "seccomp may not be set",
	} {
		if _, err := admit(t, constraint, elsewhere); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", constraint.Name, err, want)
		}
	}
}
