// Package fn is rewrite-probes for Go programs: it rewrites the probes and hooks
// of Kubernetes pod templates so that they work in a mesh that demands mTLS, and
// adds the sidecar that answers them.
//
// There are three entry points, one for each library that such programs use. Each
// does what the command rewrite-probes does:
//
//   - [Filter] for pipelines of sigs.k8s.io/kustomize/kyaml;
//   - [Process] for functions of github.com/kptdev/krm-functions-sdk/go/fn;
//   - [Mutate] and [Explain] for operators that build pod templates with the
//     types of k8s.io/api.
//
// [RewriteProbes] is the functionConfig of all three; nil stands for the
// defaults.
package fn
