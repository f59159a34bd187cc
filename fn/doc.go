// Package fn is rewrite-probes for Go programs: it rewrites the probes and hooks
// of Kubernetes pod templates so that they work in a mesh that demands mTLS, and
// adds the sidecar that answers them.
//
// [Mutate] and [Explain] are for operators, which build pod templates with the types of
// k8s.io/api. There is a package for each of the two other libraries that such programs use:
//
//   - fn/kyaml for pipelines of sigs.k8s.io/kustomize/kyaml;
//   - fn/krm for functions of github.com/kptdev/krm-functions-sdk/go/fn, formerly kpt-functions-sdk.
//
// All of them do what the command rewrite-probes does. [RewriteProbes] is its functionConfig;
// nil stands for the defaults.
package fn
