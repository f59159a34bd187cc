package surroundings

import (
	"slices"
	"strings"
)

// IsOpenShift reports whether only OpenShift has a kind, among those that are found
// beside workloads.
func IsOpenShift(apiVersion, kind string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return slices.Contains(openShiftKinds[group], kind)
}

var openShiftKinds = map[string][]string{
	"apps.openshift.io":     {"DeploymentConfig"},
	"build.openshift.io":    {"BuildConfig"},
	"image.openshift.io":    {"ImageStream"},
	"project.openshift.io":  {"Project", "ProjectRequest"},
	"route.openshift.io":    {"Route"},
	"security.openshift.io": {"SecurityContextConstraints"},
}
