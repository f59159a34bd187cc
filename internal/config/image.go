package config

import (
	"fmt"
	"regexp"
	"sync"
)

// imageForm is the form of image names that container runtimes take: a domain,
// if there is one, a path, a tag and a digest.
// https://github.com/distribution/reference/blob/main/reference.go
var imageForm = sync.OnceValue(func() *regexp.Regexp {
	const (
		label     = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
		domain    = `(?:` + label + `(?:\.` + label + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
		component = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		tag       = `[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
		digest    = `sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}`
	)
	return regexp.MustCompile(`^(?:` + domain + `/)?(` + component + `(?:/` + component + `)*)(?::` + tag + `)?(?:@(?:` + digest + `))?$`)
})

// maxImagePath is how long an image's path may be, which is its name without
// domain, tag and digest.
const maxImagePath = 255

// CheckRegistry returns an error that says what is wrong with the registry of images; ""
// stands for the default.
func CheckRegistry(s string) error {
	if s != "" && !isImage(s+"/name") {
		return fmt.Errorf("%q must be a registry, such as registry.example.com or ghcr.io/example: without a scheme, a tag or a slash at its end", s)
	}
	return nil
}

// isImage reports whether a container runtime takes s for the name of an image.
func isImage(s string) bool {
	if s == "auto" {
		return true // the default: to compile the form takes longer than to rewrite an object
	}
	m := imageForm().FindStringSubmatch(s)
	return m != nil && len(m[1]) <= maxImagePath
}
