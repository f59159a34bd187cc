package manifest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// A textInfo is what the first pass over the input finds out.
type textInfo struct {
	start int   // behind a byte order mark
	crlf  bool  // the first line ends with CRLF
	odd   []int // where line breaks are that only the full parser knows
}

// checkText looks at every byte once. Text that is not UTF-8 or that YAML forbids
// is an error about the byte at the offset at.
func checkText(in []byte) (info textInfo, at int, err error) {
	if bytes.HasPrefix(in, []byte("\xef\xbb\xbf")) {
		info.start = 3
	}
	if len(in) >= 2 && (in[0] == 0xff && in[1] == 0xfe || in[0] == 0xfe && in[1] == 0xff) ||
		len(in) >= 4 && (in[0] == 0 && in[1] != 0 && in[2] == 0 || in[1] == 0 && in[0] != 0 && in[3] == 0) {
		return info, 0, fmt.Errorf("must be UTF-8 text, and is UTF-16 or UTF-32: convert it, for example with iconv -t UTF-8")
	}
	p := info.start
	for p+8 <= len(in) {
		if p+32 <= len(in) {
			w := in[p : p+32 : p+32]
			if odd := oddBytes(binary.LittleEndian.Uint64(w)) | oddBytes(binary.LittleEndian.Uint64(w[8:])) |
				oddBytes(binary.LittleEndian.Uint64(w[16:])) | oddBytes(binary.LittleEndian.Uint64(w[24:])); odd == 0 {
				p += 32
				continue
			}
		}
		odd := oddBytes(binary.LittleEndian.Uint64(in[p:]))
		if odd == 0 {
			p += 8
			continue
		}
		p += bits.TrailingZeros64(odd) >> 3
		if p, err = info.look(in, p); err != nil {
			return info, p, err
		}
	}
	for p < len(in) {
		if p, err = info.look(in, p); err != nil {
			return info, p, err
		}
	}
	if i := bytes.IndexByte(in, '\n'); i > 0 {
		info.crlf = in[i-1] == '\r'
	}
	return info, 0, nil
}

// oddBytes is not 0 where one of 8 bytes is no printable ASCII and no line
// feed; the lowest bit that is set is then the highest of the first such byte.
// (A byte's carry disturbs only those behind it, and only one that is odd has any.)
func oddBytes(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	control := ^(x + 0x60*ones)
	noFeed := (x ^ 0x0a*ones) + 0x7f*ones
	del := x + ones
	return (control&noFeed | del | x) & highs
}

// look returns the offset behind the character at p, or that of the character
// and why it must not be there.
func (info *textInfo) look(in []byte, p int) (int, error) {
	c := in[p]
	switch {
	case c == '\n' || c == '\t' || c >= 0x20 && c < 0x7f:
		return p + 1, nil
	case c == '\r':
		if p+1 == len(in) || in[p+1] != '\n' {
			info.odd = append(info.odd, p)
		}
		return p + 1, nil
	case c == 0:
		return p, fmt.Errorf("must be text, and has a NUL byte here")
	case c < 0x80:
		return p, fmt.Errorf("must be text, and has the control character %#02x here", c)
	}
	r, n := utf8.DecodeRune(in[p:])
	switch {
	case r == utf8.RuneError && n == 1:
		return p, fmt.Errorf("must be UTF-8 text, and has the byte %#02x here, which is none", c)
	case r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
		info.odd = append(info.odd, p)
	case r < 0xa0 || r == 0xfffe || r == 0xffff:
		return p, fmt.Errorf("must be text, and has the control character %U here", r)
	}
	return p + n, nil
}
