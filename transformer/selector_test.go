package transformer

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The rules are those of Kubernetes' label selectors; the labels of a pod may not be known.
func TestAnExpressionSelectsByTheLabelAndItsAbsence(t *testing.T) {
	label := func(v string) field.KeyValues {
		return field.KeyValues{{Key: "other", Value: "web"}, {Key: "app", Value: v}}
	}
	pods := []struct {
		name   string
		labels field.KeyValues
	}{
		{"web", label("web")}, {"db", label("db")}, {"empty", label("")}, {"without the label", field.KeyValues{{Key: "other", Value: "web"}}}, {"without known labels", nil},
	}
	for _, c := range []struct {
		operator string
		values   []string
		want     [5]certainty // of pods
	}{
		{"In", []string{"a", "web"}, [5]certainty{always, never, never, never, maybe}},
		{"In", []string{""}, [5]certainty{never, never, always, never, maybe}},
		{"NotIn", []string{"a", "web"}, [5]certainty{never, always, always, always, maybe}},
		{"NotIn", []string{""}, [5]certainty{always, always, never, always, maybe}},
		{"Exists", nil, [5]certainty{always, always, always, never, maybe}},
		{"DoesNotExist", nil, [5]certainty{never, never, never, always, maybe}},
		{"Like", []string{"web"}, [5]certainty{never, never, never, never, maybe}},
	} {
		x := NodeSelectorRequirement{Key: "app", Operator: c.operator, Values: c.values}
		for i, pod := range pods {
			alone := LabelSelector{MatchExpressions: []NodeSelectorRequirement{x}}
			if got := alone.selects(pod.labels); got != c.want[i] {
				t.Errorf("%s %q: %s: %v, want %v", c.operator, c.values, pod.name, got, c.want[i])
			}
			// Everything must match.
			other := NodeSelectorRequirement{Key: "other", Operator: "Exists"}
			both := LabelSelector{MatchLabels: field.KeyValues{{Key: "other", Value: "web"}}, MatchExpressions: []NodeSelectorRequirement{other, x, other}}
			if got := both.selects(pod.labels); got != c.want[i] {
				t.Errorf("%s %q and others: %s: %v, want %v", c.operator, c.values, pod.name, got, c.want[i])
			}
			none := LabelSelector{MatchLabels: field.KeyValues{{Key: "other", Value: "db"}}, MatchExpressions: []NodeSelectorRequirement{x}}
			if got := none.selects(pod.labels); pod.labels != nil && got != never {
				t.Errorf("%s %q and another label: %s: %v", c.operator, c.values, pod.name, got)
			}
		}
	}
}

func TestARuleAdmitsAnAddressToAPort(t *testing.T) {
	kubelet := netip.MustParseAddr("169.254.7.127")
	spec := PodSpec{Containers: []Container{{Ports: []ContainerPort{{Name: "web", ContainerPort: 8080}}}}}
	block := func(cidr string, except ...string) string {
		list, _ := json.Marshal(except)
		return fmt.Sprintf(`{"ipBlock":{"cidr":%q,"except":%s}}`, cidr, list)
	}
	for rule, want := range map[string]bool{
		`{}`: true,
		`{"from":[` + block("169.254.7.127/32") + `]}`:                               true,
		`{"from":[` + block("169.254.7.128/32") + `]}`:                               false,
		`{"from":[` + block("all") + `]}`:                                            false,
		`{"from":[` + block("::/0") + `]}`:                                           false,
		`{"from":[{}]}`:                                                              false, // pods
		`{"from":[{},` + block("169.254.0.0/16") + `]}`:                              true,
		`{"from":[` + block("0.0.0.0/0", "10.0.0.0/8", "169.254.7.0/24") + `]}`:      false,
		`{"from":[` + block("0.0.0.0/0", "10.0.0.0/8", "169.254.8.0/24", "x") + `]}`: true,
		`{"from":[` + block("10.0.0.0/8") + `],"ports":[{"port":8080}]}`:             false,
		`{"ports":[{"port":8080}]}`:                                                  true,
		`{"ports":[{"port":8080,"protocol":"TCP"}]}`:                                 true,
		`{"ports":[{"port":8080,"protocol":"UDP"}]}`:                                 false,
		`{"ports":[{"protocol":"UDP"},{"port":8081},{"port":8079}]}`:                 false,
		`{"ports":[{"protocol":"UDP"},{"port":8081},{"port":"web"}]}`:                true,
		`{"ports":[{"port":"other"}]}`:                                               false,
		`{"ports":[{}]}`:                                                             true,
		`{"ports":[{"port":8080,"endPort":8090}]}`:                                   true,
		`{"ports":[{"port":8070,"endPort":8080}]}`:                                   true,
		`{"ports":[{"port":8070,"endPort":8079}]}`:                                   false,
		`{"ports":[{"port":8081,"endPort":8090}]}`:                                   false,
		`{"ports":[{"port":80,"endPort":90},{"port":8000,"endPort":9000}]}`:          true,
		`{"from":[` + block("169.254.7.127/32") + `],"ports":[{"port":80}]}`:         false,
		`{"from":[` + block("169.254.7.127/32") + `],"ports":[{"port":8080}]}`:       true,
	} {
		var r NetworkRule
		if err := json.Unmarshal([]byte(rule), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.admits(kubelet, &spec, 8080); got != want {
			t.Errorf("%s: %t", rule, got)
		}
	}
}
