package policy

// Reasons returns the keys of onPurpose.
func Reasons() []string {
	var keys []string
	for _, r := range onPurpose {
		keys = append(keys, r.key)
	}
	return keys
}

// AnyOf is anyOf.
var AnyOf = anyOf
