package wire

import (
	"net/textproto"
	"slices"
	"strings"
)

// keptFields are the fields of a response that probes need. No others are kept.
var keptFields = []string{"Connection", "Content-Length", "Content-Type", "Grpc-Encoding", "Grpc-Message", "Grpc-Status", "Location", "Trailer", "Transfer-Encoding", "Upgrade"}

// keptField returns the canonical name of a field that is kept, or else "".
func keptField(name string) string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if slices.Contains(keptFields, name) {
		return name
	}
	return ""
}

// NamesUpgrade reports whether the header Connection has the word upgrade.
func NamesUpgrade(h textproto.MIMEHeader) bool {
	return slices.ContainsFunc(
		h["Connection"],
		func(v string) bool {
			return strings.Contains(strings.ToLower(v), "upgrade")
		},
	)
}

// ValidName reports whether s may be the name of a header: a token of RFC 9110
// section 5.6.2.
func ValidName(s string) bool {
	return s != "" &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return !isToken(r)
		})
}

func isToken(r rune) bool {
	return r >= '0' && r <= '9' ||
		r >= 'a' && r <= 'z' ||
		r >= 'A' && r <= 'Z' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// ValidValue reports whether s may be the value of a header: it must not have
// control characters other than the tab.
func ValidValue(s string) bool {
	return !strings.ContainsFunc(
		s,
		func(r rune) bool {
			return r < ' ' && r != '\t' || r == 0x7f
		},
	)
}
