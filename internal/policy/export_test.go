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
