package policy_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/policy"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

func options(engine string, actions ...string) policy.Options {
	return policy.Options{Engine: engine, Actions: actions, Name: "rewrite-probes"}
}

func TestTheExamplesAreWhatTheCommandPrints(t *testing.T) {
	for name, o := range map[string]policy.Options{
		"validating-admission-policy.yaml": options(policy.Kubernetes, policy.Warn, policy.Audit),
		"kyverno.yaml":                     options(policy.Kyverno, policy.Audit),
	} {
		text, notes, err := policy.Make(config.Default(), o)
		if err != nil || len(notes) > 0 {
			t.Fatal(err, notes)
		}
		golden.Compare(t, filepath.Join("../../examples/policy", name), text)
	}
}

func TestOptionsThatMakeNoPolicyAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    policy.Options
		want string
	}{
		{options("opa", policy.Warn), `--engine "opa" must be kubernetes or kyverno`},
		{options(policy.Kubernetes), `--action "" must be warn, audit, deny`},
		{options(policy.Kubernetes, "Warn"), `--action "Warn" must be warn, audit, deny`},
		{options(policy.Kubernetes, policy.Audit, policy.Audit), `--action "audit" is given twice`},
		{options(policy.Kyverno, policy.Deny, policy.Audit, policy.Warn), `--action "deny,audit,warn" must not have warn and deny: a denial says why, too`},
		{policy.Options{Engine: policy.Kubernetes, Actions: []string{policy.Deny}, Name: "A"}, `--name "A" must be the name of an object: lower-case letters, digits, dashes and dots`},
		{policy.Options{Engine: policy.Kubernetes, Actions: []string{policy.Deny}, Name: ""}, `--name "" must be the name of an object: lower-case letters, digits, dashes and dots`},
	} {
		if err := c.o.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	for name, isName := range map[string]bool{
		"a": true, "a.b-c": true, "1": true, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false, strings.Repeat("a", 62) + "-": false, "a_b": false, "-a": false, "a.": false, "a b": false,
	} {
		o := options(policy.Kubernetes, policy.Warn)
		o.Name = name
		if err := o.Validate(); (err == nil) != isName {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, o := range []policy.Options{options(policy.Kubernetes, policy.Deny, policy.Audit), options(policy.Kyverno, policy.Warn)} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestWhatAPolicyCannotExpressOfTheConfigIsSaid(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh = "osm"
	if _, _, err := policy.Make(c, options(policy.Kubernetes, policy.Warn)); err == nil || !strings.Contains(err.Error(), "`spec.mesh` is \"osm\"") {
		t.Errorf("error is %v", err)
	}
	c = config.Default()
	c.Spec.Select = &config.Selector{Kinds: []string{"Deployment"}, Namespaces: []string{"shop"}}
	c.Spec.Exclude = &config.Selector{LabelSelector: "a=b", Namespaces: []string{"legacy"}}
	c.Spec.Istio.InjectorRewrites = true
	text, notes, err := policy.Make(c, options(policy.Kubernetes, policy.Warn))
	if err != nil || len(notes) != 3 || !strings.Contains(notes[0], "`spec.select`") || !strings.Contains(notes[1], "`spec.exclude`") || !strings.Contains(notes[2], "injectorRewrites") {
		t.Errorf("%v, notes %q", err, notes)
	}
	if s := string(text); strings.Count(s, "request.namespace.matches('^(shop)$')") != 2 || strings.Contains(s, "legacy") {
		t.Errorf("the namespaces of select count, and those of an exclude that has more do not:\n%s", s)
	}
}

// An API server that cannot ask a policy refuses the object just where the policy could refuse it.
func TestOnlyADenialFailsIfItCannotBeAsked(t *testing.T) {
	for _, engine := range policy.Engines() {
		for _, actions := range [][]string{{policy.Warn}, {policy.Audit}, {policy.Deny}, {policy.Warn, policy.Audit}, {policy.Deny, policy.Audit}, {policy.Audit, policy.Deny}} {
			text, _, err := policy.Make(config.Default(), options(engine, actions...))
			fails, ignores := strings.Count(string(text), "failurePolicy: Fail\n"), strings.Count(string(text), "failurePolicy: Ignore\n")
			if want := slices.Contains(actions, policy.Deny); err != nil || fails+ignores != 2 || (fails == 2) != want {
				t.Errorf("%s, %q: %v, %d policies fail and %d ignore it", engine, actions, err, fails, ignores)
			}
		}
	}
}

// The policy for groups finds what a run with the same config would rewrite, and what only the author can correct.
func TestAHandlerThatIsNotRewrittenIsNotFound(t *testing.T) {
	all := policy.Mistakes()
	for _, c := range []struct{ rewrite, missing []string }{
		{[]string{"httpGet", "tcpSocket", "grpc", "lifecycle"}, nil},
		{[]string{"httpGet"}, []string{"vm-grpc-refused"}},
		{[]string{"grpc"}, []string{"vm-https-verified"}},
		{[]string{"tcpSocket"}, []string{"vm-grpc-refused", "vm-https-verified"}},
		{nil, []string{"vm-grpc-refused", "vm-https-verified"}},
	} {
		o := config.Default()
		o.Spec.Rewrite = c.rewrite
		text, _, err := policy.Make(o, options(policy.Kubernetes, policy.Warn))
		if err != nil {
			t.Fatal(err)
		}
		_, groups, _ := strings.Cut(string(text), "workloadgroups")
		for _, key := range all {
			if found := strings.Contains(groups, "["+key+"]"); found == slices.Contains(c.missing, key) {
				t.Errorf("rewrite %q: %s is found: %t", c.rewrite, key, found)
			}
		}
	}
}

// An expression under a name that is misspelled would be left out, or become a variable.
func TestThePolicyHasEveryReasonToLeaveAPodAlone(t *testing.T) {
	known := policy.NamesInReasons()
	for _, outside := range []reason.Key{reason.Ambient, reason.ProbesMadeElsewhere} {
		known = append(known, outside.String())
	}
	for _, d := range reason.All() {
		if isOfPod := d.Leaves == reason.WholePod; isOfPod != slices.Contains(known, d.Name) {
			t.Errorf("%s leaves a whole pod alone: %t; reasons.cel has it, or says why not: %t", d.Name, isOfPod, !isOfPod)
		}
	}
	for _, name := range known {
		if _, isReason := reason.Parse(name); !isReason {
			t.Errorf("reasons.cel has %q, which is not a reason", name)
		}
	}
	if slices.Sort(known); len(slices.Compact(slices.Clone(known))) != len(known) {
		t.Errorf("reasons.cel has a name twice: %q", known)
	}
}

func TestEveryMistakeOfAWorkloadGroupIsHeeded(t *testing.T) {
	known := keySet(append(policy.Mistakes(),
		"vm-config-invalid",                      // CEL cannot read YAML
		"vm-source-differs", "vm-source-unknown", // the workload is another object
	))
	if !known["dangling"] {
		t.Error("a rewritten probe without its original is not heeded")
	}
	delete(known, "dangling") // pods have it too
	for _, d := range reason.Of(reason.Group) {
		if (d.Severity == reason.Error) != known[d.Name] {
			t.Errorf("%s is %s; the policy takes it for a mistake: %t", d.Name, d.Severity, known[d.Name])
		}
		delete(known, d.Name)
	}
	for key := range known {
		t.Errorf("there is no reason %s", key)
	}
}

func keySet(keys []string) map[string]bool {
	set := make(map[string]bool)
	for _, key := range keys {
		set[key] = true
	}
	return set
}

func FuzzPatternsMatchAsTheyDoInTheConfig(f *testing.F) {
	for _, p := range []string{"shop", "team-*", "t?am", "a.b", "*a?", "a|b", "(a)", "é*", "^a$"} {
		for _, name := range []string{"shop", "team-a", "a", "ax", "a.b", "axb", "b", "team", "t-am"} {
			f.Add(p, name)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.ContainsAny(pattern, `[]\`) || !utf8.ValidString(pattern) || !regexp.MustCompile(`^[a-z0-9-]*$`).MatchString(name) {
			return // the config refuses the pattern; it is no name of a namespace
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := regexp.Compile(policy.AnyOf([]string{pattern}))
		if err != nil {
			t.Fatalf("%q becomes no regular expression: %v", pattern, err)
		}
		if got := r.MatchString(name); got != want {
			t.Errorf("%q matches %q: %t, want %t (%s)", pattern, name, got, want, r)
		}
	})
}

func TestEveryPlaceholderInCELIsFilledIn(t *testing.T) {
	for _, key := range policy.Mistakes() {
		if !policy.HasFields(key) {
			t.Errorf("groups.cel has no fields for %s", key)
		}
	}
	text, _, err := policy.Make(config.Default(), options(policy.Kubernetes, policy.Deny))
	if at := regexp.MustCompile(`\$[A-Z]\w*|\bp\[[a-z]+\]`).FindIndex(text); err != nil || at != nil {
		t.Errorf("%v; a placeholder is left: %s", err, text[at[0]:])
	}
}

// A selector is expressed if it has nothing but namespaces. Of select they count even if it has more, of exclude they do not.
func TestOnlyNamespacesOfASelectorAreExpressed(t *testing.T) {
	shop := []string{"shop", "b?nk", "*-x"}
	const condition = "request.namespace.matches('^(shop|b[^/]nk|[^/]*-x)$')"
	for name, s := range map[string]config.Selector{
		"nothing else": {Namespaces: shop}, "kinds": {Namespaces: shop, Kinds: []string{"Pod"}}, "names": {Namespaces: shop, Names: []string{"a"}}, "labels": {Namespaces: shop, LabelSelector: "a=b"},
	} {
		for _, isSelect := range []bool{true, false} {
			c := config.Default()
			want, begin, key := condition, "", "`spec.select`"
			if isSelect {
				c.Spec.Select = &s
			} else {
				c.Spec.Exclude = &s
				begin, key = "!", "`spec.exclude`"
				if name != "nothing else" {
					want = ""
				}
			}
			text, notes, err := policy.Make(c, options(policy.Kyverno, policy.Audit))
			isNoted := len(notes) == 1 && strings.HasPrefix(notes[0], key)
			if err != nil || isNoted != (name != "nothing else") || len(notes) > 1 {
				t.Errorf("%s, select: %t: %v, %q", name, isSelect, err, notes)
			}
			if got := strings.Count(string(text), begin+condition+" && "); got != 2*min(len(want), 1) {
				t.Errorf("%s, select: %t: %d policies have the namespaces", name, isSelect, got)
			}
		}
	}
}

// What is not rewritten is not found in pods, whatever it is.
func TestEveryHandlerThatIsNotRewrittenIsLeftOut(t *testing.T) {
	all := []string{"httpGet", "tcpSocket", "grpc", "lifecycle"}
	whole, _, _ := policy.Make(config.Default(), options(policy.Kubernetes, policy.Warn))
	if strings.Contains(string(whole), "in ['postStart', 'preStop'] ?") {
		t.Error("there is a condition although everything is rewritten")
	}
	for i := range all {
		c := config.Default()
		c.Spec.Rewrite = slices.Delete(slices.Clone(all), i, i+1)
		text, _, err := policy.Make(c, options(policy.Kubernetes, policy.Warn))
		hooks := "true"
		handlers := slices.DeleteFunc(slices.Clone(c.Spec.Rewrite), func(s string) bool { return s == "lifecycle" })
		if all[i] == "lifecycle" {
			hooks = "false"
		}
		want := "in ['postStart', 'preStop'] ? " + hooks + " : p[3] in ['" + strings.Join(handlers, "', '") + "']) && "
		if err != nil || strings.Count(string(text), want) != 1 {
			t.Errorf("without %s: %v, want %q in\n%s", all[i], err, want, text)
		}
	}
}

func TestAnInjectorThatRewritesIsNoted(t *testing.T) {
	for _, c := range []struct {
		v    any
		want int
	}{{true, 1}, {"true", 1}, {false, 0}, {"false", 0}, {"auto", 0}} {
		o := config.Default()
		o.Spec.Istio.InjectorRewrites = c.v
		if _, notes, err := policy.Make(o, options(policy.Kubernetes, policy.Warn)); err != nil || len(notes) != c.want {
			t.Errorf("%#v: %v, %q", c.v, err, notes)
		}
	}
}
