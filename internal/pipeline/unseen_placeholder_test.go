package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// placeholderForms are those of envsubst, sed, Ansible, Concourse, Helm, Azure DevOps, Octopus, Kptfiles and people.
var placeholderForms = []string{"$%s", "${%s}", "$(%s)", "$[%s]", "__%s__", "((%s))", "{{%s}}", "{{ .Values.%s }}", "#{%s}#", "#{%s}", "<%s>", "%%%s%%", "%%%%%s%%%%", "~%s~", "@%s@", "@@%s@@", "[[%s]]", "%s_HERE", "REPLACE-%s", ":%s"}

// portName is what IsValidPortName of k8s.io/apimachinery accepts, but for the length and the letter.
var portName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Of a file with a placeholder for a port either nothing is rewritten, or everything: with any mesh, any handler, any
// form of the placeholder. A port name that the API server accepts is no placeholder: then the other probe is rewritten.
func TestAPlaceholderIsNeverHalfRewritten(t *testing.T) {
	meshes := []string{"", "istio: {injectorRewrites: false}", "istio: {injectorRewrites: false, injectedNamespaces: [shop]}", "mesh: linkerd", "mesh: kuma", "mesh: consul", "mesh: osm"}
	names := 0
	for seed := range uint64(1500) {
		d := drawer{rand.New(rand.NewPCG(seed, 57))}
		port := d.pick("PORT", "port", "Port", "web-port", "app.port")
		if d.IntN(8) == 0 {
			for range 1 + d.IntN(16) {
				port += d.pick("a", "-", "Z", "_", "9", " ", "é")
			}
		} else if d.IntN(8) > 0 {
			port = fmt.Sprintf(d.pick(placeholderForms...), port)
		}
		handler := d.pick("httpGet: {path: /, port: %q}", "tcpSocket: {port: %q}")
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec:\n  containers:\n  - name: a\n    image: a\n" +
			"    readinessProbe: {httpGet: {path: /, port: 8080}}\n" +
			"    " + d.pick("livenessProbe", "startupProbe") + ": {" + fmt.Sprintf(handler, port) + "}\n"
		c := configOf(t, d.pick(meshes...))
		isName := portName.MatchString(port) && len(port) <= 15 && strings.ContainsAny(port, "abcdefghijklmnopqrstuvwxyz")
		out, refused := runText(t, text, c, pipeline.Rewrite)
		if changed := out != text; changed != isName || refused && isName {
			t.Fatalf("port %q, mesh %q: changed is %t, refused %t:\n%s", port, c.Spec.Mesh, changed, refused, out)
		}
		if isName {
			names++
			continue
		}
		told := messagesOf(t, text, c)
		if !strings.Contains(told, "helm-template") && !strings.Contains(told, "rewriter-needed") {
			t.Fatalf("port %q: check does not fail for it:\n%s", port, told)
		}
	}
	if names < 50 {
		t.Errorf("only %d were names", names)
	}
}

// A token in place of a value is a comment to YAML. Other comments are none.
func TestATokenInPlaceOfAValueIsNotRendered(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: a%s\n    livenessProbe:\n      httpGet:\n        port: %s\n"
	for port, isToken := range map[string]bool{
		"#{Port}#": true, "#{Port}": true, "#{App.Port}#  ": true, "  #{a-b}# # c": true,
		"80 #{Port}#": false, "80 # {Port}": false, "80\n        #{Port}#": false, "80 #{path: /}": false, "80\n      # - #{Port}": false,
	} {
		text := fmt.Sprintf(pod, "", port)
		out, _ := runText(t, text, configOf(t, ""), pipeline.Rewrite)
		if (out == text) != isToken {
			t.Errorf("%q is a token: %t, changed:\n%s", port, isToken, out)
		}
		if told := messagesOf(t, text, configOf(t, "")); strings.Contains(told, "helm-template") != isToken {
			t.Errorf("%q: %s", port, told)
		}
	}
	for _, text := range []string{"\n    args: [\"#{Port}#\"]", ":#{Build}#", "\n    args:\n    - |\n      port: #{Port}#"} {
		text = fmt.Sprintf(pod, text, "80")
		if o, err := manifest.Read("a.yaml", []byte(text)); err != nil || o.Objects()[0].TokenLine() != 0 {
			t.Errorf("%v: a token in\n%s", err, text)
		}
	}
}

// messagesOf returns the messages of check, a line each.
func messagesOf(t *testing.T, text string, c *config.RewriteProbes) string {
	t.Helper()
	stream, err := manifest.Read("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range pipeline.Run([]*manifest.Stream{stream}, c, pipeline.Judge).Messages {
		lines = append(lines, words(m))
	}
	return strings.Join(lines, "\n")
}
