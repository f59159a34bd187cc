package wire

import (
	"net/textproto"
	"slices"
	"strings"
)

// keptFields are the fields of a response that probes need. No others are kept,
// but for gRPC's metadata in base64.
var keptFields = []string{"Connection", "Content-Length", "Content-Type", "Grpc-Encoding", "Grpc-Message", "Grpc-Status", "Location", "Transfer-Encoding", "Upgrade"}

// keptField returns the canonical name of a field that is kept, or else "".
func keptField(name string) string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if slices.Contains(keptFields, name) || strings.HasSuffix(name, "-Bin") {
		return name
	}
	return ""
}

// NamesUpgrade reports whether the header Connection has the word upgrade.
func NamesUpgrade(h textproto.MIMEHeader) bool {
	return slices.ContainsFunc(h["Connection"], func(v string) bool { return strings.Contains(strings.ToLower(v), "upgrade") })
}

// ValidName reports whether s may be the name of a header: a token of RFC 9110
// section 5.6.2.
func ValidName(s string) bool {
	for i := range len(s) {
		if !isToken(s[i]) {
			return false
		}
	}
	return s != ""
}

func isToken(c byte) bool {
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// ValidValue reports whether s may be the value of a header: it must not have
// control characters other than the tab.
func ValidValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
