package transformer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Problem is an option that does not fit the dialect.
type Problem struct {
	Path field.Path // in the spec of the functionConfig: probeProxy.name
	Text string     // begins with the value
}

// Problems returns what does not fit the dialect of the options: who answers,
// the port, and names that belong to a mesh or to us.
func (o Options) Problems() []Problem {
	d := dialectNamed(o.Dialect)
	if d == nil {
		return []Problem{{field.NewPath("dialect"), fmt.Sprintf("%q must be one of %s", o.Dialect, strings.Join(Dialects(), ", "))}}
	}
	var problems []Problem
	add := func(at field.Path, format string, args ...any) {
		problems = append(problems, Problem{at, fmt.Sprintf(format, args...)})
	}
	if all := d.answerers(); !slices.Contains(all, o.AnsweredBy) {
		last := len(all) - 1
		add(field.NewPath("answeredBy"), "%q must be %s or %s in the dialect %s", o.AnsweredBy, strings.Join(all[:last], ", "), all[last], o.Dialect)
	}
	if o.Port < 1 || o.Port > 65535 {
		add(field.NewPath("port"), "\"%d\" must be a port from 1 to 65535", o.Port)
	} else if err := d.checkPort(o.Port); err != nil {
		add(field.NewPath("port"), "\"%d\" %v", o.Port, err)
	}
	for _, x := range dialects {
		if x.isProxy(&Container{Name: o.ProbeProxy.Name}) {
			add(field.NewPath("probeProxy", "name"), "%q is the name of %s's own sidecar; choose another", o.ProbeProxy.Name, x.title)
		}
	}
	for i, item := range o.ProbeProxy.Env {
		m, _ := item.(field.Map)
		name, _ := m.Get("name")
		if name == portEnv || slices.ContainsFunc(dialects, func(x *dialect) bool { return name == x.envName() }) {
			add(field.NewPath("probeProxy").Item("env", i).Key("name"), "%q is written by rewrite-probes itself", name)
		}
	}
	return problems
}
