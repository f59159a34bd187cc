package kubectl

import (
	"bytes"
	"iter"
	"strings"
)

// A list is mostly skipped: of 160 MB of pods, a run keeps a few. So its items are found by their
// brackets, and read by others. Text that is not JSON ends early. encoding/json takes 4 to 12 times the CPU
// for the same (BenchmarkItems), which is some seconds for 160 MB.

// fields yields the keys of an object in JSON, with their values as they are written.
func fields(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		at := space(text, 0)
		if at == len(text) || text[at] != '{' {
			return
		}
		for at++; ; at++ {
			key := space(text, at)
			colon := space(text, skip(text, key))
			value := space(text, colon+1)
			end := skip(text, value)
			if end <= value ||
				text[key] != '"' ||
				text[colon] != ':' {
				return
			}
			if !yield(string(bytes.Trim(text[key:colon], "\" \t\r\n")), text[value:end]) {
				return
			}
			if at = space(text, end); at == len(text) || text[at] != ',' {
				return
			}
		}
	}
}

// field returns the value of a key; nil if it is absent.
func field(text []byte, key string) []byte {
	for k, v := range fields(text) {
		if k == key {
			return v
		}
	}
	return nil
}

// items returns the items of a list in JSON, and whether the text is one.
func items(text []byte) (all [][]byte, ok bool) {
	at := space(text, 0)
	if at == len(text) || text[at] != '[' {
		return nil, false
	}
	if at = space(text, at+1); at < len(text) && text[at] == ']' {
		return nil, true
	}
	for {
		end := skip(text, at)
		if end <= at {
			return nil, false
		}
		all = append(all, text[at:end])
		at = space(text, end)
		switch {
		case at < len(text) && text[at] == ',':
			at = space(text, at+1)
		default:
			return all, at < len(text) && text[at] == ']'
		}
	}
}

// space returns the offset behind white space.
func space(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \n\t\r", text[at]) >= 0 {
		at++
	}
	return min(at, len(text))
}

// skip returns the offset behind the value that begins at another; that one if there is no value, or if it
// does not end.
func skip(text []byte, start int) int {
	depth := 0
	for at := start; at < len(text); at++ {
		switch text[at] {
		case '"':
			end := quoted(text, at)
			if end < 0 {
				return start
			}
			at = end
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return at // behind a number or a word
			}
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return start
}

// quoted returns the offset of the quote that ends the string which begins at another; -1 if none does.
func quoted(text []byte, start int) int {
	for at := start + 1; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return -1
		}
		at += n
		slashes := at
		for text[slashes-1] == '\\' {
			slashes--
		}
		if (at-slashes)%2 == 0 {
			return at
		}
	}
}
