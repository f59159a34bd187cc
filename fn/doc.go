// Package fn is rewrite-probes for Go programs: the probes and hooks of
// Kubernetes pod templates are rewritten so that they work in a mesh that
// demands mTLS, and the sidecar that answers them is added.
//
// There are three doors, one for each library in which such programs are
// written. Each does what the command rewrite-probes does:
//
//   - [Filter] for pipelines of sigs.k8s.io/kustomize/kyaml;
//   - [Process] for functions of github.com/kptdev/krm-functions-sdk/go/fn;
//   - [Mutate] and [Explain] for operators that build pod templates with the
//     types of k8s.io/api.
//
// [RewriteProbes] is the functionConfig of all three; nil stands for the
// defaults.
package fn
