// Package openshift has no code: its tests admit pods with OpenShift's own code for
// SecurityContextConstraints, before and after probe-proxy is added.
package openshift
