package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"istio.io/istio/operator/pkg/render"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// istioSettings are the settings of Istio's charts, in the form of istioctl's --set.
var istioSettings = []string{
	"profile=minimal", "hub=" + hub, "tag=" + tag,
	"values.pilot.autoscaleEnabled=false",
	"values.pilot.resources.requests.cpu=10m", "values.pilot.resources.requests.memory=64Mi",
	"values.global.proxy.resources.requests.cpu=10m", "values.global.proxy.resources.requests.memory=32Mi",
	"values.global.imagePullPolicy=Never",

	// The Envoy of Envoy's own project lacks four types of Istio's build. Without
	// these settings istiod sends them to every sidecar, which then refuses
	// everything. They are for telemetry, and for clients of ports with an
	// undeclared protocol.
	"values.pilot.env.PILOT_ENABLE_METADATA_EXCHANGE=false",
	"values.pilot.env.PILOT_ENABLE_ALPN_FILTER=false",
	"values.telemetry.enabled=false",

	"meshConfig.defaultConfig.proxyMetadata.CLOUD_PLATFORM=none", // there is none to be asked for
	"meshConfig.defaultConfig.proxyStatsMatcher.inclusionRegexps[0]=.*(ssl|rbac).*",
}

// otherRevision is a second istiod, whose injector does not rewrite probes: as where
// that is turned off for the whole mesh. Its pods are redirected by nftables, not iptables, where Istio can.
const otherRevision = "norewrite"

func otherSettings() []string {
	settings := append([]string{
		"revision=" + otherRevision, "values.sidecarInjectorWebhook.rewriteAppHTTPProbe=false",
	}, istioSettings...)
	if hasNftables() {
		settings = append(settings, "values.global.nativeNftables=true")
	}
	return settings
}

// strict is the policy of the whole mesh.
const strict = `{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: istio-system}, spec: {mtls: {mode: STRICT}}}`

// istioBootstrap returns the path of what Istio's agent makes the configuration of an Envoy from.
func istioBootstrap() (string, error) {
	const name = "envoy_bootstrap.json"
	if olderIstio != "" {
		return filepath.Join(olderIstio, name), nil
	}
	out, err := testutil.Output(exec.Command("go", "-C", filepath.Join(root, "test"), "list", "-m", "-f", "{{.Dir}}", "istio.io/istio"))
	return filepath.Join(strings.TrimSpace(string(out)), "tools/packaging/common", name), err
}

// installIstio applies Istio's own charts, and waits until both istiods are ready. When
// the images are there, the node joins.
func installIstio(images <-chan error) error {
	crds, rest, err := renderIstio(istioSettings...)
	if err != nil {
		return err
	}
	_, other, err := renderIstio(otherSettings()...)
	if err != nil {
		return err
	}
	if err := api.apply("{apiVersion: v1, kind: Namespace, metadata: {name: istio-system}}"); err != nil {
		return err
	}
	if err := api.apply(crds); err != nil {
		return err
	}
	if err := <-images; err != nil {
		return err
	}
	if err := theNode.Join(); err != nil {
		return err
	}
	// A kind is known a moment after its CustomResourceDefinition was taken.
	if err := testutil.Eventually(time.Minute, func() error { return api.apply(other + "\n---\n" + rest) }); err != nil {
		return err
	}
	for _, name := range []string{"istiod", "istiod-" + otherRevision} {
		if err := api.deploymentReady("istio-system", name, 3*time.Minute); err != nil {
			return err
		}
		// kube-proxy learns of a ready pod a moment after the Deployment.
		if err := api.serviceAnswers("istio-system", name, 443, time.Minute); err != nil {
			return err
		}
	}
	// Now istiod judges Istio's own objects, by a webhook.
	return testutil.Eventually(time.Minute, func() error { return api.apply(strict) })
}

// renderIstio returns what the charts of the Istio that runs make of settings: the
// definitions of its kinds, and the rest.
func renderIstio(settings ...string) (crds, rest string, err error) {
	render := renderNewest
	if olderIstio != "" {
		render = renderOlder
	}
	all, err := render(settings)
	if err != nil {
		return "", "", fmt.Errorf("Istio's charts: %w", err)
	}
	var kinds, others []string
	for _, o := range all {
		text, err := o.MarshalJSON()
		if err != nil {
			return "", "", err
		}
		if o.GetKind() == "CustomResourceDefinition" {
			kinds = append(kinds, string(text))
		} else {
			others = append(others, string(text))
		}
	}
	return strings.Join(kinds, "\n---\n"), strings.Join(others, "\n---\n"), nil
}

// renderNewest asks the charts that are part of Istio's module.
func renderNewest(settings []string) (all []*unstructured.Unstructured, err error) {
	sets, _, err := render.GenerateManifest(nil, settings, false, nil, nil)
	for _, set := range sets {
		for _, m := range set.Manifests {
			all = append(all, m.Unstructured)
		}
	}
	return all, err
}

// everythingAccepted returns an error with what an Envoy has refused of what istiod
// sent it.
func everythingAccepted() error {
	pods, err := api.podsOf("istio-system", "app=istiod")
	if err != nil {
		return err
	}
	var all []error
	for _, istiod := range pods {
		text, err := api.exec("istio-system", istiod.Name, "discovery", "pilot-discovery", "request", "GET", "/debug/syncz")
		if err != nil {
			return err
		}
		all = append(all, refusals(text))
	}
	return errors.Join(all...)
}

// refusals returns an error with the refusals in what istiod knows of its clients.
func refusals(syncz string) error {
	var clients []map[string]any
	if err := json.Unmarshal([]byte(syncz), &clients); err != nil {
		return fmt.Errorf("istiod's /debug/syncz: %w in %s", err, syncz)
	}
	if len(clients) == 0 {
		return errors.New("istiod's /debug/syncz knows no client")
	}
	var all []error
	for _, c := range clients {
		if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), "lastError") {
			all = append(all, fmt.Errorf("%v: %s (%v)", c["proxy"], text, err))
		}
	}
	return errors.Join(all...)
}
