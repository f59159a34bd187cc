package authz

import (
	"net/netip"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A PartialText is what is known of a text in a request: it begins and ends in a certain way, and
// what is between may be anything that fits.
type PartialText struct {
	start, end string
	// fits reports whether a text may be between; nil if nothing is.
	fits func(between string, whole bool) bool
}

// Known returns a text that is known.
func Known(s string) PartialText { return PartialText{start: s} }

// Begins returns a text of which only the beginning is known.
func Begins(s string) PartialText {
	return PartialText{start: s, fits: func(string, bool) bool { return true }}
}

// IsKnown reports whether the whole text is known.
func (t PartialText) IsKnown() bool { return t.fits == nil }

// String returns what is known of the text.
func (t PartialText) String() string { return t.start + t.end }

// HostOf returns the Host that a client sends to an address that is not known, with the port.
func HostOf(port string) PartialText {
	return PartialText{end: ":" + port, fits: fitsAddress}
}

// fitsAddress reports whether a text may be the address of a pod, or a part of it.
func fitsAddress(s string, whole bool) bool {
	if !whole {
		return strings.Trim(s, "0123456789abcdef.:[]") == ""
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return err == nil
}

// lower returns the text in lower case.
func (t PartialText) lower() PartialText {
	t.start, t.end = strings.ToLower(t.start), strings.ToLower(t.end)
	return t
}

// matches returns whether the text matches a pattern: "x", "x*", "*x" or "*".
func (t PartialText) matches(pattern string) certain.Certainty {
	switch {
	case pattern == "*":
		return certain.Of(t.start+t.end != "" || t.fits != nil)
	case strings.HasPrefix(pattern, "*"):
		return t.hasSuffix(pattern[1:])
	case strings.HasSuffix(pattern, "*"):
		return t.hasPrefix(pattern[:len(pattern)-1])
	}
	return t.is(pattern)
}

func (t PartialText) is(s string) certain.Certainty {
	if t.fits == nil {
		return certain.Of(s == t.start+t.end)
	}
	between, ok := strings.CutPrefix(s, t.start)
	between, fits := strings.CutSuffix(between, t.end)
	return atMost(ok && fits && t.fits(between, true))
}

func (t PartialText) hasPrefix(s string) certain.Certainty {
	if t.fits == nil {
		return certain.Of(strings.HasPrefix(t.start+t.end, s))
	}
	if strings.HasPrefix(t.start, s) {
		return certain.Always
	}
	between, ok := strings.CutPrefix(s, t.start)
	return atMost(ok && t.fits(strings.TrimSuffix(between, t.end), false))
}

func (t PartialText) hasSuffix(s string) certain.Certainty {
	if t.fits == nil {
		return certain.Of(strings.HasSuffix(t.start+t.end, s))
	}
	if strings.HasSuffix(t.end, s) {
		return certain.Always
	}
	between, ok := strings.CutSuffix(s, t.end)
	return atMost(ok && t.fits(strings.TrimPrefix(between, t.start), false))
}

// atMost returns Maybe for what is possible.
func atMost(possible bool) certain.Certainty {
	if possible {
		return certain.Maybe
	}
	return certain.Never
}
