package main

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// version is set by the release build.
var version = "dev"

// useReleasedImage makes the image of the same version the default, where
// this is a release (v1.2.3): of builds between releases (v1.2.3-4-gabcdef)
// there is no image.
func useReleasedImage() {
	if strings.HasPrefix(version, "v") && !strings.Contains(version, "-") {
		transformer.DefaultImage = "rewrite-probes/probe-proxy:" + version
	}
}
