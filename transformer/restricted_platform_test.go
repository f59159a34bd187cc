package transformer_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func onPlatform(name string) option { return func(o *transformer.Options) { o.Platform = name } }

// proxyID returns the runAsUser or runAsGroup of probe-proxy in a manifest; -1 if it has
// none.
func proxyID(t *testing.T, text, key string) int {
	t.Helper()
	_, c, found := strings.Cut(text, "- name: probe-proxy\n")
	if !found {
		t.Fatalf("probe-proxy must have been added:\n%s", text)
	}
	c, _, _ = strings.Cut(c, "containers:\n")
	m := regexp.MustCompile(key + `: (\d+)`).FindStringSubmatch(c)
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// admits reports whether OpenShift's constraint admits a container's uid: restricted-v2
// one of the namespace's range or none, which it then sets; anyuid any.
func admits(constraint string, uid int) bool {
	return constraint == "anyuid" || uid < 0 || uid >= 1000650000 && uid < 1000660000
}

func TestOpenShiftAdmitsProbeProxyWhereItAdmitsTheApp(t *testing.T) {
	deployment := podOf("", app(httpProbe))
	config := strings.Replace(deployment, "apps/v1\nkind: Deployment", "apps.openshift.io/v1\nkind: DeploymentConfig", 1)
	for _, c := range []struct {
		name, text, platform, constraint string
		uid                              int
	}{
		{"Kubernetes", deployment, "kubernetes", "anyuid", 65532},
		{"nothing is known", deployment, "", "anyuid", 65532},
		{"OpenShift by the config", deployment, "openshift", "restricted-v2", -1},
		{"a DeploymentConfig", config, "auto", "restricted-v2", -1},
		{"a DeploymentConfig, and the config says no", config, "kubernetes", "anyuid", 65532},
		{"a pod in the range", podOf("", "securityContext: {runAsUser: 1000650000}\n"+app(httpProbe)), "openshift", "restricted-v2", -1},
		{"a pod that runs as root", podOf("", "securityContext: {runAsUser: 0}\n"+app(httpProbe)), "openshift", "anyuid", 65532},
		{"a pod with the proxy's uid", podOf("", "securityContext: {runAsUser: 1337}\n"+app(httpProbe)), "openshift", "anyuid", 65532},
		{"a pod with the proxy's gid", podOf("", "securityContext: {runAsGroup: 1337}\n"+app(httpProbe)), "openshift", "anyuid", 65532},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.text, onPlatform(c.platform))
			uid, gid := proxyID(t, r.text, "runAsUser"), proxyID(t, r.text, "runAsGroup")
			if uid != c.uid || gid != c.uid {
				t.Errorf("uid %d and gid %d, want %d", uid, gid, c.uid)
			}
			if !admits(c.constraint, uid) {
				t.Errorf("%s refuses uid %d", c.constraint, uid)
			}
			if !strings.Contains(r.text, "runAsNonRoot: true") {
				t.Errorf("probe-proxy must say that it does not run as root:\n%s", r.text)
			}
			if onOpenShift := c.platform == "openshift" || c.text == config && c.platform == "auto"; strings.Contains(r.text, "seccompProfile") == onOpenShift {
				t.Errorf("anyuid refuses a seccompProfile, restricted-v2 gives one to the pod, and Kubernetes none:\n%s", r.text)
			}
			wantNoEdits(t, plan(t, r.text, onPlatform(c.platform)))
			wantText(t, restore(t, r.text), c.text)
		})
	}
	own := plan(t, deployment, onPlatform("openshift"), func(o *transformer.Options) {
		o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 1000650001}}
	})
	if got := proxyID(t, own.text, "runAsUser"); got != 1000650001 {
		t.Errorf("the configured uid must win, got %d", got)
	}
}

// A profile from the node confines the app's program; probe-proxy is another.
func TestProbeProxyDoesNotInheritTheAppsAppArmorProfile(t *testing.T) {
	const own = "appArmorProfile:\n            type: RuntimeDefault\n"
	for _, c := range []struct {
		profile string
		opts    []option
		own     bool
	}{
		{"{type: Localhost, localhostProfile: app}", nil, true},
		{"{type: Localhost, localhostProfile: app}", []option{onPlatform("openshift")}, true},
		{"{type: Localhost, localhostProfile: app}", []option{asContainer}, true},
		{"{type: Localhost, localhostProfile: app}", []option{func(o *transformer.Options) {
			o.ProbeProxy.SecurityContext = field.Map{{Key: "appArmorProfile", Value: nil}}
		}}, false},
		{"{type: RuntimeDefault}", nil, false},
		{"{type: Unconfined}", nil, false},
		{"null", nil, false},
	} {
		before := podOf("", "securityContext: {appArmorProfile: "+c.profile+"}\n"+app(httpProbe))
		r := plan(t, before, c.opts...)
		if strings.Contains(r.text, own) != c.own || strings.Count(r.text, "appArmorProfile:") > 2 || !strings.Contains(r.text, "- name: probe-proxy\n") {
			t.Errorf("%+v:\n%s", c, r.text)
		}
		wantNoEdits(t, plan(t, r.text, c.opts...))
		wantText(t, restore(t, r.text), before)
		// With the profile gone, probe-proxy needs none of its own.
		gone := plan(t, strings.Replace(r.text, "appArmorProfile: "+c.profile, "", 1), c.opts...)
		if strings.Contains(gone.text, "appArmorProfile") {
			t.Errorf("%+v: without the pod's\n%s", c, gone.text)
		}
	}
}
