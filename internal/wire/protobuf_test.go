package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestTheFieldsOfAMessageAreThoseThatWereAppended, up to where it breaks off.
func TestTheFieldsOfAMessageAreThoseThatWereAppended(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	broken := 0
	for range 300 {
		var message []byte
		var want []string
		ends := map[int]int{0: 0} // how many fields end at an offset
		for range r.IntN(6) {
			number := protowire.Number(1 + r.IntN(40))
			before := len(message)
			var kind protowire.Type
			switch text := strings.Repeat("x", r.IntN(200)); r.IntN(4) {
			case 0:
				kind, message = protowire.BytesType, AppendString(message, number, text)
			case 1:
				kind, message = protowire.BytesType, AppendBytes(message, number, []byte(text))
			case 2:
				kind, message = protowire.VarintType, protowire.AppendVarint(protowire.AppendTag(message, number, protowire.VarintType), r.Uint64())
			case 3:
				kind, message = protowire.Fixed32Type, protowire.AppendFixed32(protowire.AppendTag(message, number, protowire.Fixed32Type), r.Uint32())
			}
			if len(message) == before {
				continue // an empty string is the default
			}
			_, _, n := protowire.ConsumeTag(message[before:])
			want = append(want, fmt.Sprintf("%d %d %x", number, kind, message[before+n:]))
			ends[len(message)] = len(want)
		}
		for cut := range len(message) + 1 {
			var got []string
			ok := Fields(message[:cut], func(number protowire.Number, kind protowire.Type, value []byte) {
				got = append(got, fmt.Sprintf("%d %d %x", number, kind, value))
			})
			n, isEnd := ends[cut]
			for at := cut; !isEnd; at-- {
				if k, found := ends[at]; found {
					n, broken = k, broken+1
					break
				}
			}
			if ok != isEnd || !slices.Equal(got, want[:n]) {
				t.Fatalf("%x up to %d: %t %v, want %t %v", message, cut, ok, got, isEnd, want[:n])
			}
		}
	}
	if broken < 1000 {
		t.Errorf("only %d messages broke off", broken)
	}
}

func TestOnlyAnEmptyStringIsLeftOut(t *testing.T) {
	if got := AppendString([]byte("a"), 1, ""); string(got) != "a" {
		t.Errorf("an empty string: %q", got)
	}
	if got := AppendString([]byte("a"), 1, "b"); string(got) != "a\x0a\x01b" {
		t.Errorf("a string: %q", got)
	}
	if got := AppendBytes([]byte("a"), 2, nil); string(got) != "a\x12\x00" {
		t.Errorf("an empty message: %q", got)
	}
}
