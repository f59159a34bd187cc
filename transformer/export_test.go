package transformer

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// NotAside returns notes for a plan in which nothing is asked aside.
func NotAside() *Notes { return &Notes{notAside: true} }

// LeftAloneBy returns why each rule of a site, asked alone, leaves probes and hooks of an input alone.
func (p *Planner) LeftAloneBy(in Input) map[string][]string {
	a := answer(know(p.settings, p.read(&in)))
	by := make(map[string][]string)
	for _, rule := range slices.Concat(siteRules, answererRules) {
		by[nameOf(rule)] = leftAlone(rule, &a)
	}
	return by
}

// RulesWithCase returns the names of the rules of a site that have a case in siteCases.
func RulesWithCase() (names []string) {
	for _, c := range siteCases {
		names = append(names, nameOf(c.rule))
	}
	return names
}

func nameOf(rule siteRule) string {
	name := runtime.FuncForPC(reflect.ValueOf(rule).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}
