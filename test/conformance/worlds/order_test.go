package worlds

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// documents returns those of a stream.
func documents(text []byte) [][]byte { return bytes.Split(text, []byte("\n---\n")) }

// timed returns the objects of a stream as an API server prints them that has made one after the other.
func timed(text []byte) ([]byte, error) {
	all := documents(text)
	for i, d := range all {
		var object map[string]any
		if err := yaml.Unmarshal(d, &object); err != nil {
			return nil, err
		}
		object["metadata"].(map[string]any)["creationTimestamp"] = fmt.Sprintf("2026-11-28T10:00:%02dZ", i)
		var err error
		if all[i], err = yaml.Marshal(object); err != nil {
			return nil, err
		}
		all[i] = bytes.TrimSuffix(all[i], []byte("\n"))
	}
	return append(bytes.Join(all, []byte("\n---\n")), '\n'), nil
}

// others are objects that are about no pod of a case: another selector, another namespace, another direction.
func others(namespace string) []byte {
	nobody := map[string]any{"matchLabels": map[string]string{"app": "nobody"}}
	labels := map[string]any{"labels": map[string]string{"app": "nobody"}}
	all := map[string]any{
		"security.istio.io/v1 PeerAuthentication":    map[string]any{"selector": nobody, "mtls": map[string]string{"mode": "STRICT"}},
		"security.istio.io/v1 AuthorizationPolicy":   map[string]any{"selector": nobody, "action": "DENY", "rules": []any{map[string]any{}}},
		"security.istio.io/v1 RequestAuthentication": map[string]any{"selector": nobody, "jwtRules": []any{map[string]any{"issuer": "x", "fromParams": []string{"full"}}}},
		"networking.istio.io/v1 Sidecar": map[string]any{"workloadSelector": labels, "ingress": []any{
			map[string]any{"port": map[string]any{"number": 8080, "name": "tcp", "protocol": "TCP"}, "defaultEndpoint": "127.0.0.1:9999", "captureMode": "NONE"}}},
		"networking.istio.io/v1 ServiceEntry": map[string]any{"workloadSelector": labels, "hosts": []string{"a.example.com"}, "ports": []any{
			map[string]any{"number": 8080, "name": "grpc", "protocol": "GRPC"}}},
		"networking.istio.io/v1alpha3 EnvoyFilter":  map[string]any{"workloadSelector": labels, "configPatches": []any{}},
		"extensions.istio.io/v1alpha1 WasmPlugin":   map[string]any{"selector": nobody, "url": "oci://example.com/x"},
		"networking.istio.io/v1 VirtualService":     map[string]any{"hosts": []string{"web"}},
		"networking.istio.io/v1 DestinationRule":    map[string]any{"host": "web", "trafficPolicy": map[string]any{"tls": map[string]string{"mode": "DISABLE"}}},
		"networking.istio.io/v1beta1 WorkloadEntry": map[string]any{"address": "10.0.0.9", "labels": map[string]string{"app": "nobody"}},
		"v1 Service": map[string]any{"selector": map[string]string{"app": "nobody"}, "ports": []any{
			map[string]any{"port": 8080, "name": "grpc-a"}, map[string]any{"port": 8081, "name": "tcp-a"}}},
	}
	var b strings.Builder
	for kind, spec := range all {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		b.WriteString(object(apiVersion, kind, namespace, "nobody", nil, spec))
		selected := maps.Clone(spec.(map[string]any))
		for _, key := range []string{"selector", "workloadSelector"} {
			delete(selected, key) // it is about its own namespace
		}
		b.WriteString(object(apiVersion, kind, "elsewhere2", "nobody", nil, selected))
	}
	return []byte(b.String())
}

// said is what check says of each probe, without the places and the names of what says so.
func said(text []byte, k *knowledge, mode pipeline.Wants) (map[string]string, error) {
	c, err := rewriting.Config(k.config)
	if err != nil {
		return nil, err
	}
	_, r, err := rewriting.RunIn(rewriting.Folder{Name: here, Others: k.files}, text, c, mode)
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			found[p.Field.String()] = fmt.Sprintf("%v if %q", p.StrictTLS, places.ReplaceAllString(p.If, ""))
		}
	}
	for _, m := range r.Messages {
		if mode == pipeline.Judge && isOfCheck(m.Reason.String()) {
			found["message: "+m.Field.String()] += " " + m.Reason.String()
		}
	}
	return found, nil
}

// The order of objects says nothing, nor do objects about other pods; and explain shows what check says.
func TestOrderAndOthersChangeNothing(t *testing.T) {
	open := 0
	for seed := uint64(1); seed <= templates()/6; seed++ {
		g := newSource(seed)
		w := g.workload(seed)
		call(&w)
		for number := range uint64(6) {
			w := w
			k := g.knowledge(&w)
			k.call()
			w.Template = *w.Template.DeepCopy()
			(&source{rand.New(rand.NewPCG(seed, 4000+number))}).sidecars(&k, &w)
			(&source{rand.New(rand.NewPCG(seed, 6000+number))}).inbound(&k, &w, 2)
			text, err := manifests(&w, &k)
			if err != nil {
				t.Fatal(err)
			}
			want, err := said(text, &k, pipeline.Judge)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range want {
				if strings.Contains(v, "if \"") && !strings.HasSuffix(v, `if ""`) {
					open++
				}
			}
			compare := func(what string, text []byte, want map[string]string, mode pipeline.Wants) {
				if got, err := said(text, &k, mode); err != nil || !maps.Equal(got, want) {
					t.Errorf("%s (seed %d): %v, %v\nwant %v\n%s", what, seed, err, got, want, text)
				}
			}
			verdicts := maps.Clone(want)
			maps.DeleteFunc(verdicts, func(key, _ string) bool { return strings.HasPrefix(key, "message: ") })
			compare("explain", text, verdicts, pipeline.Inspect)
			compare("beside others", append(bytes.Clone(text), others(w.Namespace)...), want, pipeline.Judge)
			all := documents(bytes.TrimSuffix(text, []byte("\n")))
			(&source{rand.New(rand.NewPCG(seed, 8000+number))}).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			compare("in another order", append(bytes.Join(all, []byte("\n---\n")), '\n'), want, pipeline.Judge)
		}
	}
	if t.Logf("%d verdicts are open", open); open < int(templates())/16 {
		t.Errorf("only %d verdicts are open", open)
	}
}
