// Package spelling finds the known word that a misspelt one stands for.
package spelling

import (
	"slices"
	"strings"
)

// Near returns the known words that a misspelt one may stand for, in the order of known: those
// that differ from it in the fewest letters. If none is that near, it returns those that contain
// the word. The case of letters does not matter.
func Near(word string, known []string) []string {
	for letters := range mostLetters(word) + 1 {
		if found := filter(
			known,
			func(k string) bool { return Within(letters, word, k) },
		); len(found) > 0 {
			return found
		}
	}
	if len(word) < 3 {
		return nil
	}
	return filter(
		known,
		func(k string) bool {
			return strings.Contains(strings.ToLower(k), strings.ToLower(word))
		},
	)
}

// IsSlip reports whether a name is probably another one with a slip of the hand. Names that people
// number or count by letters, such as shop and shop2 or team-a and team-b, are no slips of each other.
// Of a name with three letters, only two that are swapped are one.
func IsSlip(name, meant string) bool {
	parts, others := strings.Split(name, "-"), strings.Split(meant, "-")
	if len(parts) != len(others) || name == meant {
		return false
	}
	for i, part := range parts {
		if part != others[i] &&
			(strings.ContainsAny(part+others[i], "0123456789") || !isSlip(part, others[i])) {
			return false
		}
	}
	return true
}

func isSlip(part, meant string) bool {
	return Within(mostLetters(part), part, meant) ||
		len(part) == 3 && len(meant) == 3 && Within(1, part, meant) && sorted(part) == sorted(meant)
}

func sorted(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}

// DidYouMean returns the question that ends a message about a misspelt word; "" if no known word
// is near.
func DidYouMean(word string, known []string) string {
	if meant := Near(word, known); len(meant) > 0 {
		return "did you mean " + strings.Join(meant, ", ") + "?"
	}
	return ""
}

// mostLetters returns how many letters of a word may be wrong: two are most of a short one.
func mostLetters(word string) int {
	return min(2, (len(word)-1)/3)
}

func filter(words []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return !keep(w)
	})
}

// Within reports whether one word is made of another if at most n letters are added, removed,
// replaced or swapped with their neighbour. The case of letters does not matter.
func Within(n int, a, b string) bool {
	return within(n, strings.ToLower(a), strings.ToLower(b))
}

func within(n int, a, b string) bool {
	for a != "" &&
		b != "" &&
		a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case n == 0 || a == "" || b == "":
		return max(len(a), len(b)) <= n
	case within(n-1, a[1:], b), within(n-1, a, b[1:]):
		return true
	case within(n-1, a[1:], b[1:]):
		return true
	}
	return areSwapped(a, b) &&
		within(n-1, a[2:], b[2:])
}

// areSwapped reports whether the first two letters of a are those of b in the other order.
func areSwapped(a, b string) bool {
	return len(a) > 1 &&
		len(b) > 1 &&
		a[0] == b[1] &&
		a[1] == b[0]
}
