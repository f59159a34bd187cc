package manifest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// A textInfo is what the first look at the input tells.
type textInfo struct {
	start int   // behind a byte order mark
	crlf  bool  // the first line ends with CRLF
	odd   []int // where line breaks are that only the full parser knows
}

// checkText looks at every byte once: text that is not UTF-8 or that YAML
// forbids is an error.
func checkText(in []byte) (info textInfo, at int, err error) {
	if bytes.HasPrefix(in, []byte("\xef\xbb\xbf")) {
		info.start = 3
	}
	if len(in) >= 2 && (in[0] == 0xff && in[1] == 0xfe || in[0] == 0xfe && in[1] == 0xff) ||
		len(in) >= 4 && (in[0] == 0 && in[1] != 0 && in[2] == 0 || in[1] == 0 && in[0] != 0 && in[3] == 0) {
		return info, 0, fmt.Errorf("must be UTF-8 text, and is UTF-16 or UTF-32: convert it, for example with iconv -t UTF-8")
	}
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	p := info.start
	for p+8 <= len(in) {
		if p+16 <= len(in) {
			// Nothing but printable ASCII, the usual case.
			x, y := binary.LittleEndian.Uint64(in[p:]), binary.LittleEndian.Uint64(in[p+8:])
			if (x|y|(x-0x20*ones)|(y-0x20*ones)|(x+ones)|(y+ones))&highs == 0 {
				p += 16
				continue
			}
		}
		x := binary.LittleEndian.Uint64(in[p:])
		// In each byte of x (all ASCII): is it below 0x20, a line feed, DEL?
		low := ^((x | highs) - 0x20*ones)
		feed := ^(((x ^ 0x0a*ones) | highs) - ones)
		del := ^(((x ^ 0x7f*ones) | highs) - ones)
		if odd := (x | (low ^ feed) | del) & highs; odd != 0 {
			p += bits.TrailingZeros64(odd) >> 3
			if p, err = info.look(in, p); err != nil {
				return info, p, err
			}
			continue
		}
		p += 8
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

// look takes the character at p: the offset of the next one, or why it must
// not be there.
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
