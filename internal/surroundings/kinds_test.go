package surroundings

import (
	"slices"
	"strings"
	"testing"
)

// The kinds are those of OpenShift's own API groups that are kept beside workloads. Others have kinds of the same names.
func TestOnlyOpenShiftsKindsAreOpenShifts(t *testing.T) {
	for object, want := range map[string]bool{
		"apps.openshift.io/v1 DeploymentConfig":               true,
		"build.openshift.io/v1 BuildConfig":                   true,
		"image.openshift.io/v1 ImageStream":                   true,
		"project.openshift.io/v1 Project":                     true,
		"project.openshift.io/v1 ProjectRequest":              true,
		"route.openshift.io/v1 Route":                         true,
		"route.openshift.io/v2 Route":                         true,
		"security.openshift.io/v1 SecurityContextConstraints": true,
		"v1 Route":                        false,
		"serving.knative.dev/v1 Route":    false,
		"management.cattle.io/v3 Project": false,
		"apps/v1 Deployment":              false,
		"apps.openshift.io/v1 Route":      false,
		"route.openshift.io/v1 Other":     false,
	} {
		apiVersion, kind, _ := strings.Cut(object, " ")
		if got := IsOpenShift(apiVersion, kind); got != want {
			t.Errorf("%s: %t", object, got)
		}
		group, _, _ := strings.Cut(apiVersion, "/")
		if listed := slices.Contains(OpenShift.Set().All(), GroupKind{group, kind}); listed != want {
			t.Errorf("%s is listed: %t", object, listed)
		}
	}
}
