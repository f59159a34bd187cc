package kubectl

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Fields and items are found as encoding/json finds them, in texts that nobody chose, and no part of a text
// is taken for the whole.
func TestPartsAreFoundAsADecoderFindsThem(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := make([]any, r.IntN(5))
		for i := range list {
			list[i] = randomValue(r, 4)
		}
		object := map[string]any{"items": list, "metadata": randomValue(r, 2), "a": "]}\\\""}
		for _, write := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return json.MarshalIndent(v, " ", "\t") }} {
			text, err := write(object)
			if err != nil {
				t.Fatal(err)
			}
			compareParts(t, text, object, list)
			for range 20 {
				cut := text[:r.IntN(len(text))]
				if _, ok := items(field(cut, "items")); ok && !strings.Contains(string(cut), `"metadata"`) {
					continue // the list ended before the cut
				} else if got := field(cut, "metadata"); got != nil && !json.Valid(got) {
					t.Errorf("of %s a part is taken for the metadata: %s", cut, got)
				}
			}
		}
	}
}

func compareParts(t *testing.T, text []byte, object map[string]any, list []any) {
	t.Helper()
	n := 0
	for key, value := range fields(text) {
		n++
		var got any
		if err := json.Unmarshal(value, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(object[key]) {
			t.Errorf("%s has at %q %s (%v), want %v", text, key, value, err, object[key])
		}
	}
	all, ok := items(field(text, "items"))
	if n != len(object) || !ok || len(all) != len(list) {
		t.Errorf("%s has %d fields and %d items (%t)", text, n, len(all), ok)
	}
	for i, item := range all {
		var got any
		if err := json.Unmarshal(item, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(list[i]) {
			t.Errorf("item %d of %s is %s", i, text, item)
		}
	}
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return float64(r.IntN(1000)) / 8
	case n == 2:
		return r.IntN(2) == 0
	case n < 5 || depth == 0:
		letters := []string{`"`, `\`, "{", "]", ",", ":", "a", " ", "\n", "é"}
		s := ""
		for range r.IntN(6) {
			s += letters[r.IntN(len(letters))]
		}
		return s
	case n < 7:
		m := map[string]any{}
		for i := range r.IntN(4) {
			m[fmt.Sprint("k", i)] = randomValue(r, depth-1)
		}
		return m
	}
	list := make([]any, r.IntN(4))
	for i := range list {
		list[i] = randomValue(r, depth-1)
	}
	return list
}

// What is no list has no items, and ends no loop late.
func TestWhatIsNoListHasNoItems(t *testing.T) {
	for _, text := range []string{"", " ", "{", "[", "[1", "[1,", "[1,]", "[1 2]", `["a`, `["a\"]`, "[[1]", "null", "{}", "]"} {
		if all, ok := items([]byte(text)); ok {
			t.Errorf("%q has the items %q", text, all)
		}
	}
	for _, text := range []string{"[]", "[ ]", "\n[\t1 , {} ]", `["\\"]`} {
		if _, ok := items([]byte(text)); !ok {
			t.Errorf("%q is no list", text)
		}
	}
	for _, text := range []string{"", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, "{1:2}", `{"a" 1}`, `"a"`} {
		for k, v := range fields([]byte(text)) {
			if k != "a" || string(v) != "1" {
				t.Errorf("%q has the field %q: %s", text, k, v)
			}
		}
	}
}

// BenchmarkItems finds the metadata of each item of a list, as json.go and as encoding/json do.
func BenchmarkItems(b *testing.B) {
	pod := `{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"shop/web:1.0"}]},"status":{"a":[` +
		strings.Repeat(`{"type":"Ready","reason":"a \"quoted\" one"},`, 40) + `{}]}}`
	text := []byte(`{"kind":"PodList","items":[` + strings.Repeat(pod+",\n", 4000) + pod + `]}`)
	b.Run("brackets", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			all, _ := items(field(text, "items"))
			for _, item := range all {
				field(item, "metadata")
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var list struct{ Items []json.RawMessage }
			if err := json.Unmarshal(text, &list); err != nil {
				b.Fatal(err)
			}
			for _, item := range list.Items {
				var object struct{ Metadata json.RawMessage }
				if err := json.Unmarshal(item, &object); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
