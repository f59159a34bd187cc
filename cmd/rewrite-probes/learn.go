package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/cluster"
	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func (t *tool) configCommand() *cobra.Command {
	var from []string
	var out string
	cmd := &cobra.Command{
		Use:   "config (--cluster | --from FILE...)",
		Short: "Print a " + configName + " with the facts about Istio",
		Long: `config prints a functionConfig with the facts that the objects of Istio's installation tell,
and names each object in a comment. Commit it as ` + configName + `, and every run knows the facts,
without a cluster. With injectorRewrites: true, Istio rewrites the probes, and rewrite-probes
does not. --cluster reads the objects of a cluster through your kubectl. --from reads
rendered manifests.

-w writes a file. If it is there, only the facts that differ are changed: your comments and
other fields stay.

It exits with 1 if the input tells no fact.`,
		Example: `  rewrite-probes config --cluster -w ` + configName + `
  helm template istiod istio/istiod | rewrite-probes config --from -`,
		Args: noArgsBut(&from),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		facts, open, err := t.learn(cmd, append(from, args...))
		if err != nil {
			return err
		}
		for _, words := range open {
			fmt.Fprintln(t.err, cmd.CommandPath()+": not known: "+field.Printable(words))
		}
		if len(facts) == 0 {
			fmt.Fprintln(t.err, "error: the input tells no fact of Istio: it needs the ConfigMaps and the Deployment of istiod")
			return &exit{exitFindings}
		}
		if out == "" {
			_, err := t.out.Write(configText(facts))
			return err
		}
		return t.writeConfig(cmd, out, facts)
	}
	f := cmd.Flags()
	f.StringArrayVar(&from, "from", nil, "`PATH` of rendered manifests, or - for stdin (repeatable)")
	f.StringVarP(&out, "write", "w", "", "`FILE` to write, or to bring up to date")
	t.cluster.add(cmd, "read the cluster with kubectl")
	return cmd
}

// noArgsBut allows arguments only behind --from, such as those that a shell makes of a pattern.
func noArgsBut(from *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && len(*from) == 0 {
			return &usageError{fmt.Errorf("%q must come after --from", args[0])}
		}
		return nil
	}
}

// learn returns the facts of a cluster, or of the manifests that paths name.
func (t *tool) learn(
	cmd *cobra.Command, paths []string,
) (facts []pipeline.Fact, open []string, err error) {
	if err := t.cluster.check(cmd); err != nil {
		return nil, nil, err
	}
	root := config.Default().Spec.Istio.RootNamespace
	switch {
	case t.cluster.cluster && len(paths) > 0, !t.cluster.cluster && len(paths) == 0:
		return nil, nil, &usageError{errors.New("give --cluster, or --from with a PATH")}
	case len(paths) > 0:
		p, err := t.readPackage(cmd.CommandPath(), paths)
		if err != nil {
			return nil, nil, err
		}
		if isUnread(p.messages) {
			t.print(p.messages)
			return nil, nil, &exit{exitUnreadable}
		}
		facts, open = pipeline.Learn(p.streams, root)
		return facts, open, nil
	}
	read, err := t.readCluster(cmd, config.Default(), cluster.Wish{FactsOnly: true, NoPods: true})
	if err != nil {
		return nil, nil, err
	}
	facts, open = pipeline.Learn(slices.Concat(read.Streams, read.Beside), root)
	for _, r := range read.Refused {
		open = append(open, r.Unknown+": "+r.Why)
	}
	if read.OpenShift {
		const at = "the API group route.openshift.io"
		f := pipeline.Fact{Path: field.NewPath("platform"), Value: "openshift", At: at}
		facts = append([]pipeline.Fact{f}, facts...)
	}
	return facts, open, nil
}

// configText returns a functionConfig with facts: those of one mapping follow each other, and so do those of one item.
func configText(facts []pipeline.Fact) []byte {
	var b strings.Builder
	const head = "apiVersion: %s\nkind: %s\nmetadata:\n  name: rewrite-probes\nspec:\n"
	fmt.Fprintf(&b, head, config.APIVersion, config.Kind)
	in, list, item := "", "", ""
	for _, f := range facts {
		if f.Replaced {
			continue
		}
		indent := "  "
		if len(f.Path) > 1 {
			indent += "  "
			if key := f.Path[0].Key; key != in {
				in = key
				fmt.Fprintf(&b, "  %s:\n", key)
			}
		}
		key := f.Path[len(f.Path)-1].Key
		if f.Item != "" {
			if key != list {
				list, item = key, ""
				fmt.Fprintf(&b, "%s%s:\n", indent, key)
			}
			if f.Item != item {
				item = f.Item
				fmt.Fprintf(&b, "%s- name: %q\n", indent, item)
			}
			key, indent = f.Key, indent+"  "
		}
		value, _ := json.Marshal(f.Value) // of texts and booleans
		fmt.Fprintf(&b, "%s# %s\n%s%s: %s\n", indent, sourceOf(f), indent, key, value)
	}
	return []byte(b.String())
}

// lineNumber is what of a place would be wrong soon in a file that is committed.
var lineNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`:[0-9]+(,| and |$)`)
})

// sourceOf names the objects that tell a fact.
func sourceOf(f pipeline.Fact) string {
	at := strings.ReplaceAll(f.At, " at the API server", "")
	return field.Printable(lineNumber().ReplaceAllString(at, "$1"))
}

// writeConfig writes a functionConfig, or sets the facts that differ in one that is there.
func (t *tool) writeConfig(cmd *cobra.Command, name string, facts []pipeline.Fact) error {
	say := func(words string) {
		fmt.Fprintln(t.err, cmd.CommandPath()+": "+field.Printable(name)+": "+words)
	}
	old, err := readNamed(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createFile(name, configText(facts)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		say("written")
		return nil
	}
	o, err := readConfig(name, func(string) ([]byte, error) { return old, err })
	if err != nil {
		return err
	}
	if _, err := config.Decode(o); err != nil {
		return err
	}
	if o.Kind() != config.Kind {
		return fmt.Errorf("%s: only a %s can be brought up to date, and this is a %s", name, config.Kind, o.Kind())
	}
	edits, said := updates(o, facts)
	if len(edits) == 0 {
		say("up to date")
		return nil
	}
	if err := o.Apply(edits); err != nil {
		return err
	}
	text, err := o.Stream().Text()
	if err != nil {
		return err
	}
	if err := writeFile(name, text, old); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, words := range said {
		say(words)
	}
	return nil
}

// updates returns the edits that set the facts which a functionConfig has otherwise, and says them.
func updates(o *manifest.Object, facts []pipeline.Fact) (edits []field.Edit, said []string) {
	spec := field.NewPath("spec")
	added := make(map[string]int) // where the new items of lists are in edits
	for _, f := range facts {
		at, isNew := spec.Join(f.Path), false
		place := at
		if f.Item != "" {
			at, isNew = itemAt(o, at, f.Item)
			place = at.Key(f.Key)
		}
		v, set := o.Value(place)
		if set && says(v, &f) || !set && f.Replaced {
			continue
		}
		said = append(said, fmt.Sprintf("%s: %v (%s)", nameOfFact("spec.", &f), f.Value, sourceOf(f)))
		entry := field.Entry{Key: f.Key, Value: f.Value}
		name := f.Path.String() + " " + f.Item
		i, isAdded := added[name]
		switch {
		case !isNew:
			edits = append(edits, field.Edit{Op: field.Set, Path: place, Value: f.Value})
		case isAdded:
			edits[i].Value = append(edits[i].Value.(field.Map), entry)
		default:
			added[name] = len(edits)
			item := field.Map{{Key: "name", Value: f.Item}, entry}
			edits = append(edits, field.Edit{Op: field.Insert, Path: at, Value: item})
		}
	}
	return edits, said
}

// says reports whether the value of a field is that of a fact. A version may have its patch too.
func says(v field.Value, f *pipeline.Fact) bool {
	said, want := fmt.Sprint(v), fmt.Sprint(f.Value)
	return said == want || strings.HasPrefix(said, want+".")
}

// itemAt returns the path of the item of a list with a name; isNew is set if there is none, and then it is that of the
// end of the list.
func itemAt(o *manifest.Object, list field.Path, name string) (at field.Path, isNew bool) {
	v, _ := o.Value(list)
	items, _ := v.(field.List)
	for i, item := range items {
		if m, _ := item.(field.Map); field.As[string](m, "name") == name {
			return list.Index(i), false
		}
	}
	return list.Index(len(items)), true
}

// nameOfFact names a fact in words: `istio.revisions (canary): injectorRewrites`.
func nameOfFact(prefix string, f *pipeline.Fact) string {
	if f.Item == "" {
		return prefix + f.Path.String()
	}
	return prefix + f.Path.String() + " (" + f.Item + "): " + f.Key
}

// differing returns a note for each field that a functionConfig has otherwise than the cluster. It is no difference
// that a field leaves open what the cluster says, or names namespaces by patterns.
func differing(name string, declared *manifest.Object, facts []pipeline.Fact) (notes []report.Message) {
	if declared == nil || declared.Kind() != config.Kind {
		return nil
	}
	spec := field.NewPath("spec")
	for _, f := range facts {
		at := spec.Join(f.Path)
		if f.Item != "" {
			item, isNew := itemAt(declared, at, f.Item)
			if isNew {
				continue
			}
			at = item.Key(f.Key)
		}
		v, set := declared.Value(at)
		said := fmt.Sprint(v)
		isOpen := said == "auto" || at[len(at)-1].Key == "holdApplicationUntilProxyStarts" && said == "false"
		if _, isList := f.Value.(field.List); !set || isList || isOpen || says(v, &f) {
			continue
		}
		cluster := fmt.Sprintf("%v", f.Value)
		if f.Replaced {
			cluster = "has revisions that differ"
		}
		text := reason.NewText("%s says `%s: %s`, and the cluster %s", name, nameOfFact("", &f), said, cluster)
		text.Why = "Source: " + sourceOf(f)
		if f.Replaced {
			text.Why = "The field is for all revisions"
		}
		text.Fix = "Run `rewrite-probes config --cluster -w " + name + "`"
		notes = append(notes, report.NewMessage(reason.ConfigDiffers, text))
	}
	return notes
}
