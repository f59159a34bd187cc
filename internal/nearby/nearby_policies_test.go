package nearby_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// The answers of a real Envoy 1.40 under a real istiod 1.31, PERMISSIVE, to calls from the node;
// see the doc of package authz.
const policiesFile = "../authz/testdata/policies.json"

type (
	envoyAnswers struct {
		PodIP, NodeIP string
		Cases         []struct {
			Name     string
			Policies []struct {
				Namespace string
				Spec      json.RawMessage
			}
			Probes []envoyProbe
		}
	}
	envoyProbe struct {
		Kind, Scheme, Declared, Path, Host, Answer string
		Port                                       int
		Passes                                     bool
	}
)

// request returns the request of a probe to a pod with an address; "" is not known. The client of
// the grpc rows was curl.
func (p *envoyProbe) request(podIP, nodeIP string) *authz.Request {
	q := &authz.Request{
		Method: "GET", Path: authz.Known(p.Path), Host: authz.HostOf(strconv.Itoa(p.Port)), Port: p.Port,
		TCP:    p.Scheme == "HTTPS" || p.Declared == "tcp",
		Header: map[string][]authz.PartialText{"user-agent": {authz.Begins("kube-probe/1.")}},
	}
	if p.Kind == "grpc" {
		q.Method, q.Path = "POST", authz.Known("/grpc.health.v1.Health/Check")
		q.Header["user-agent"] = []authz.PartialText{authz.Known("curl/8")}
	}
	if podIP != "" {
		q.Source, q.Destination = netip.MustParseAddr(nodeIP), netip.MustParseAddr(podIP)
		q.Host = authz.Known(podIP + ":" + strconv.Itoa(p.Port))
	}
	if p.Host != "" {
		q.Host = authz.Known(p.Host)
	}
	return q
}

func TestEveryAnswerOfEnvoyIsForetold(t *testing.T) {
	text, err := os.ReadFile(policiesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all envoyAnswers
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	rows, open := 0, 0
	pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "a", Labels: field.KeyValues{{Key: "app", Value: "a"}}}
	for _, c := range all.Cases {
		docs := []string{web}
		for i, p := range c.Policies {
			docs = append(docs, fmt.Sprintf("apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: p%d, namespace: %s}\nspec: %s\n", i, p.Namespace, p.Spec))
		}
		s := of(t, "shop", "all.yaml", documents(docs...))
		for _, p := range c.Probes {
			if p.Kind == "tcpSocket" || p.Port == 15020 || p.Port == 15099 {
				if !p.Passes {
					t.Errorf("%s: %+v does not pass", c.Name, p)
				}
				continue // policies are not about connections and ports that are not captured
			}
			rows++
			got := s.Refuses(root, pods, p.request(all.PodIP, all.NodeIP))
			if strings.HasPrefix(c.Name, "CUSTOM") {
				if got.Is != certain.Maybe {
					t.Errorf("%s: %+v: %v of a provider that is not known", c.Name, p, got)
				}
			} else if got.Is != certain.Of(!p.Passes) {
				t.Errorf("%s: %+v: refused is %v", c.Name, p, got)
			}
			// Without the addresses nothing else is certain.
			if without := s.Refuses(root, pods, p.request("", "")); without.Is == certain.Maybe {
				open++
			} else if without.Is != got.Is {
				t.Errorf("%s: %+v: refused is %v without the addresses", c.Name, p, without)
			}
		}
	}
	if rows < 300 || open > rows/5 {
		t.Errorf("of %d rows %d are open without the addresses", rows, open)
	}
}
