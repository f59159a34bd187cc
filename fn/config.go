package fn

import (
	"cmp"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// APIVersion and Kind are those of [RewriteProbes].
const (
	APIVersion = config.APIVersion
	Kind       = config.Kind
)

// The values of [RewriteProbesSpec].AnsweredBy.
const (
	AnsweredByAuto       = transformer.AnsweredByAuto
	AnsweredByProbeProxy = transformer.AnsweredByProbeProxy
	AnsweredByIstioProxy = transformer.AnsweredByIstioProxy
	AnsweredByEnvoy      = transformer.AnsweredByEnvoy
	AnsweredByApp        = transformer.AnsweredByApp
)

// The values of [ProbeProxy].Placement.
const (
	PlacementNative    = transformer.PlacementNative
	PlacementContainer = transformer.PlacementContainer
)

// RewriteProbes is the functionConfig, rewrite-probes.io/v1alpha1. A field
// that is not set has its default. docs/functionConfig.md describes the
// fields.
type RewriteProbes struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec RewriteProbesSpec `json:"spec,omitzero"`
}

// RewriteProbesSpec says what is rewritten and who answers.
type RewriteProbesSpec struct {
	// Mesh is the mesh that the pods are in: "istio", "linkerd", "kuma",
	// "consul", "osm", "fsm", "none", or "auto" to find it out for each pod template.
	Mesh string `json:"mesh,omitempty"`
	// AnsweredBy is one of the AnsweredBy constants.
	AnsweredBy string `json:"answeredBy,omitempty"`
	// Port is where the rewritten probes go.
	Port int `json:"port,omitempty"`
	// Rewrite names what is rewritten: httpGet, tcpSocket, grpc, lifecycle.
	Rewrite    []string   `json:"rewrite,omitempty"`
	ProbeProxy ProbeProxy `json:"probeProxy,omitzero"`
	IstioProxy IstioProxy `json:"istioProxy,omitzero"`
	Istio      Istio      `json:"istio,omitzero"`
	// Platform is "kubernetes", "openshift", or "auto" to find it out by the objects.
	Platform string `json:"platform,omitempty"`
	// PodTemplates says where kinds that are not known have pod templates.
	PodTemplates []PodTemplate `json:"podTemplates,omitempty"`
	// Select and Exclude decide which objects are looked at. An object matches if
	// it matches all that a Selector has.
	Select  *Selector `json:"select,omitempty"`
	Exclude *Selector `json:"exclude,omitempty"`
	// Strict makes a run fail after a warning too.
	Strict bool `json:"strict,omitempty"`
}

// ProbeProxy describes the container probe-proxy. Resources, SecurityContext
// and Env are merged over the defaults.
type ProbeProxy struct {
	Image           string                       `json:"image,omitempty"`
	Registry        string                       `json:"registry,omitempty"`
	Name            string                       `json:"name,omitempty"`
	Placement       string                       `json:"placement,omitempty"`
	ImagePullPolicy corev1.PullPolicy            `json:"imagePullPolicy,omitempty"`
	Resources       *corev1.ResourceRequirements `json:"resources,omitempty"`
	SecurityContext *corev1.SecurityContext      `json:"securityContext,omitempty"`
	Env             []corev1.EnvVar              `json:"env,omitempty"`
	// Body says which bodies of the app's answers callers of the probe port get:
	// "none", "failures" or "all".
	Body string `json:"body,omitempty"`
	// LivenessProbe and ReadinessProbe give it these probes, which ask
	// probe-proxy itself.
	LivenessProbe  bool `json:"livenessProbe,omitempty"`
	ReadinessProbe bool `json:"readinessProbe,omitempty"`
}

// IstioProxy describes the container istio-proxy that is declared if Istio's
// sidecar answers and the pod template has none.
type IstioProxy struct {
	// Image is its image; Istio's injector replaces "auto".
	Image string `json:"image,omitempty"`
	// Restricted says whether it gets the securityContext that Pod Security
	// restricted requires, if all other containers have it; true if nil.
	Restricted *bool `json:"restricted,omitempty"`
	// Resources are its resources, for namespaces with a LimitRange that has defaults.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Istio says what the objects do not say of Istio in the cluster.
type Istio struct {
	// InjectorRewrites says whether Istio's injector rewrites the probes of the pods that
	// it injects; nil if that is not known. If it does, such pods are left alone.
	InjectorRewrites *bool `json:"injectorRewrites,omitempty"`
	// InjectedNamespaces are the namespaces into which Istio injects its
	// sidecar, with * and ? as in a shell. If it is nil, only labels tell.
	InjectedNamespaces []string `json:"injectedNamespaces,omitzero"`
	// Version is Istio's version, such as "1.24"; "" if it is 1.25 or later, which knows hooks.
	Version string `json:"version,omitempty"`
	// NativeSidecars says whether Istio's sidecar is native; nil if that is not
	// known.
	NativeSidecars *bool `json:"nativeSidecars,omitempty"`
	// HoldApplication says that the containers of every injected pod wait for Istio's
	// sidecar.
	HoldApplication bool `json:"holdApplicationUntilProxyStarts,omitempty"`
	// RootNamespace is Istio's root namespace.
	RootNamespace string `json:"rootNamespace,omitempty"`
	// Revisions are facts about single revisions, where they differ.
	Revisions []IstioRevision `json:"revisions,omitempty"`
	// Tags say which revision each tag means.
	Tags []IstioTag `json:"tags,omitempty"`
	// MTLS is STRICT, PERMISSIVE or DISABLE, where no PeerAuthentication says it.
	MTLS string `json:"mtls,omitempty"`
}

// An IstioRevision says what is known of one revision of Istio. A fact of [Istio] wins over
// the same fact here.
type IstioRevision struct {
	// Name is its name; "default" is the revision without one.
	Name             string `json:"name"`
	InjectorRewrites *bool  `json:"injectorRewrites,omitempty"`
	NativeSidecars   *bool  `json:"nativeSidecars,omitempty"`
	HoldApplication  bool   `json:"holdApplicationUntilProxyStarts,omitempty"`
}

// An IstioTag says which revision of Istio a tag means.
type IstioTag struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
}

// A PodTemplate says where the objects of a kind have pod templates.
type PodTemplate struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Path is keys joined by dots, with [] after the key of a list; "." is the
	// object itself.
	Path string `json:"path"`
	// Metadata is the path of the mapping with the labels and annotations of the pods, if Path
	// leads to a pod's spec.
	Metadata string `json:"metadata,omitempty"`
}

// A Selector matches the objects that match each part that is given.
type Selector struct {
	Kinds         []string `json:"kinds,omitempty"`
	Names         []string `json:"names,omitempty"`
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
}

// Default sets every field that is not set and has a default.
func (c *RewriteProbes) Default() {
	c.APIVersion, c.Kind = APIVersion, Kind
	setDefaults(reflect.ValueOf(&c.Spec).Elem(), reflect.ValueOf(config.Default().Spec))
}

// setDefaults sets the zero fields of a struct to those of the same name in
// another.
func setDefaults(into, from reflect.Value) {
	for i := range into.NumField() {
		name := into.Type().Field(i).Name
		have := into.Field(i)
		want := from.FieldByName(name)
		switch {
		case have.Kind() == reflect.Struct:
			setDefaults(have, want)
		case !have.IsZero() || want.IsZero() || want.Kind() == reflect.Interface: // auto is what is not given
		case have.Kind() == reflect.Pointer:
			have.Set(reflect.New(have.Type().Elem()))
			have.Elem().Set(want)
		default:
			have.Set(want.Convert(have.Type()))
		}
	}
}

// Validate returns everything that is wrong as one error, with a line for each
// field that says what is allowed.
func (c *RewriteProbes) Validate() error {
	_, err := c.decode()
	return err
}

// MarshalJSON writes the functionConfig as a file would have it: with apiVersion
// and kind, which a Go value may leave out.
func (c RewriteProbes) MarshalJSON() ([]byte, error) {
	type fields RewriteProbes
	c.APIVersion, c.Kind = cmp.Or(c.APIVersion, APIVersion), cmp.Or(c.Kind, Kind)
	return json.Marshal(fields(c))
}

// decode returns the config in the form of the command.
func (c *RewriteProbes) decode() (*config.RewriteProbes, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return config.DecodeText(text)
}
