package policy

import "slices"

// Mistakes returns the keys of mistakes.
func Mistakes() []string {
	var keys []string
	for _, m := range mistakes {
		keys = append(keys, m.key.String())
	}
	return keys
}

// AnyOf is anyOf.
var AnyOf = anyOf

// NamesInReasons returns the names of the expressions of reasons.cel.
func NamesInReasons() []string {
	var names []string
	for _, t := range readTexts("reasons.cel") {
		names = append(names, t.name)
	}
	return names
}

// HasFields reports whether groups.cel says which fields a mistake is about.
func HasFields(key string) bool {
	return slices.ContainsFunc(readTexts("groups.cel"), func(t text) bool { return t.name == key && t.expression != "" })
}
