// Package authz evaluates the rules of Istio's AuthorizationPolicies for a request that the
// kubelet makes, as the Envoy of a sidecar does. It knows nothing of which policies apply
// to a pod, of manifests and of probes.
//
// The kubelet is outside the mesh: its request has no certificate and no token. So what is
// known of it is its method, path, headers and port; what is not known, such as the address of
// its node, leaves open whether a rule matches.
//
// # Where the rules come from
//
// How Istio translates a rule is in its pilot/pkg/security/authz (model/model.go, model/generator.go,
// builder/builder.go and matcher/), read at version 1.31. What Envoy answers then is in
// testdata/policies.json: the answers of a real Envoy 1.40 under a real istiod.
//
// # Rules
//
//   - All attributes of a source, of an operation and all conditions must match; of
//     several sources, and of several operations, one.
//   - "x" is exact, "x*" a prefix, "*x" a suffix, and "*" anything that is not empty.
//   - A path is compared without its query, after the normalisation of RFC 3986: "/a/../b" and
//     "/%62" are "/b"; "//b", "/b/" and "/B" are not. {*} stands for one segment of a path, {**} for any rest.
//     A template that Istio's webhook refuses may match nothing.
//   - Of a header that is sent twice one value must match. "*" matches one that is empty too.
//   - 0.0.0.0/0 is every address of one family, which the cluster may not have.
//   - A host is the header Host as it is sent, with the port, in any case: a kubelet sends
//     "10.0.0.1:8080".
//   - What only a certificate, a token or TLS can tell matches nothing; negated, it matches.
//   - If Envoy takes the connection for TCP, it knows neither method, path, host, headers nor
//     tokens. A rule that allows and has such an attribute matches nothing; one that denies
//     loses the attribute, and matches more.
package authz
