package policy

// Reasons returns the keys of onPurpose.
func Reasons() []string {
	var keys []string
	for _, r := range onPurpose {
		keys = append(keys, r.key)
	}
	return keys
}

// Mistakes returns the keys of mistakes.
func Mistakes() []string {
	var keys []string
	for _, m := range mistakes {
		keys = append(keys, m.key)
	}
	return keys
}

// AnyOf is anyOf.
var AnyOf = anyOf

// NamesInReasons returns the names of the expressions of reasons.cel.
func NamesInReasons() []string {
	var names []string
	for _, v := range reasonTexts() {
		names = append(names, v.Name)
	}
	return names
}

// HasFields reports whether groups.cel says which fields a mistake is about.
func HasFields(key string) bool { return groupTexts().get(key) != "" }
