package resources

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A quantity is an amount of a resource in thousandths of its unit, rounded up as the
// API server does. set is false if it is not given, which is not the same as zero.
type quantity struct {
	milli int64
	set   bool
}

// largest is more than any machine has.
var largest = quantity{math.MaxInt64, true}

// largestExponent is more than any digit needs to make nothing of a quantity, or the largest.
const largestExponent = 999

// or returns q, or other if q is not given.
func (q quantity) or(other quantity) quantity {
	if q.set {
		return q
	}
	return other
}

func (q quantity) plus(other quantity) quantity {
	sum := quantity{q.milli + other.milli, q.set || other.set}
	if sum.milli < 0 { // it is too large
		return largest
	}
	return sum
}

func (q quantity) max(other quantity) quantity {
	return quantity{max(q.milli, other.milli), q.set || other.set}
}

func (q quantity) atMost(limit quantity) quantity {
	if limit.set {
		q.milli = min(q.milli, limit.milli)
	}
	return q
}

// String returns the quantity of a resource as a manifest has it.
func (q quantity) String() string {
	const mi = 1000 << 20
	switch {
	case q.milli >= mi && q.milli%mi == 0:
		return strconv.FormatInt(q.milli/mi, 10) + "Mi"
	case q.milli%1000 == 0:
		return strconv.FormatInt(q.milli/1000, 10)
	}
	return strconv.FormatInt(q.milli, 10) + "m"
}

// quantityUnits holds the units of quantities, as thousandths: powers of two and of ten.
var quantityUnits = map[string]struct{ two, ten int }{
	"n": {0, -6},
	"u": {0, -3},
	"m": {0, 0},
	"":  {0, 3},
	"k": {0, 6}, "Ki": {10, 3},
	"M": {0, 9}, "Mi": {20, 3},
	"G": {0, 12}, "Gi": {30, 3},
	"T": {0, 15}, "Ti": {40, 3},
	"P": {0, 18}, "Pi": {50, 3},
	"E": {0, 21}, "Ei": {60, 3},
}

// IsQuantity reports whether a manifest's value is a quantity that is not negative.
func IsQuantity(v field.Value) bool {
	_, ok := readQuantity(v)
	return ok
}

// IsOver reports whether two values are quantities, and the first is larger.
func IsOver(a, b field.Value) bool {
	x, isX := readQuantity(a)
	y, isY := readQuantity(b)
	return isX && isY && x.milli > y.milli
}

// readQuantity returns the quantity that a manifest's value stands for. ok is false if it stands
// for none, or is negative. What is larger than any machine is largest.
func readQuantity(v field.Value) (q quantity, ok bool) {
	var s string
	switch v := v.(type) {
	case nil: // the API reads null as zero
		return quantity{set: true}, true
	case string:
		s = strings.TrimPrefix(v, "+")
	case int:
		s = strconv.Itoa(v)
	case float64:
		s = strconv.FormatFloat(v, 'f', -1, 64)
	}
	number := s
	suffix := strings.TrimLeft(s, ".0123456789")
	number = number[:len(s)-len(suffix)]
	unit, isUnit := quantityUnits[suffix]
	if exponent, isExponent := strings.CutPrefix(strings.ToLower(suffix), "e"); isExponent && !isUnit {
		n, err := strconv.Atoi(exponent)
		unit.ten = min(max(n, -largestExponent), largestExponent) + 3
		isUnit = err == nil
	}
	whole, fraction, _ := strings.Cut(number, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits, err := strconv.ParseUint("0"+whole+fraction, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange) && isUnit:
		return largest, true
	case !isUnit || err != nil || strings.Trim(number, ".") == "":
		return quantity{}, false
	}
	return scaled(digits, unit.two, unit.ten-len(fraction)), true
}

// scaled returns digits times powers of two and of ten, rounded up, as thousandths.
func scaled(digits uint64, two, ten int) quantity {
	high, low := bits.Mul64(digits, 1<<two) // of 128 bits
	for ; ten > 0 && high == 0; ten-- {
		high, low = bits.Mul64(low, 10)
	}
	up := uint64(0)
	for ; ten < 0; ten++ {
		var rest uint64
		low, rest = bits.Div64(high%10, low, 10)
		high /= 10
		up |= min(rest, 1)
	}
	low += up
	if high > 0 || low > uint64(largest.milli) {
		return largest
	}
	return quantity{int64(low), true}
}
