package transformer

import (
	"math"
	"math/big"
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

// or returns q, or other if q is not given.
func (q quantity) or(other quantity) quantity {
	if q.set {
		return q
	}
	return other
}

func (q quantity) plus(other quantity) quantity {
	return quantity{q.milli + other.milli, q.set || other.set}
}

func (q quantity) max(other quantity) quantity {
	return quantity{max(q.milli, other.milli), q.set || other.set}
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

// quantityUnits holds the suffixes of whole thousandths, as thousandths.
var quantityUnits = map[string]uint64{
	"m": 1, "": 1e3, "k": 1e6, "M": 1e9, "G": 1e12, "T": 1e15, "P": 1e18,
	"Ki": 1e3 << 10, "Mi": 1e3 << 20, "Gi": 1e3 << 30, "Ti": 1e3 << 40, "Pi": 1e3 << 50,
}

// maxQuantity bounds the length of a quantity that is read; anything longer is no amount
// of CPU or memory.
const maxQuantity = 40

// readQuantity returns the quantity that a manifest's value stands for. ok is false if
// it stands for none, is negative, or is larger than any machine.
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
	end := strings.LastIndexAny(s, ".0123456789") + 1
	if unit, known := quantityUnits[s[end:]]; known {
		if n, err := strconv.ParseUint(s[:end], 10, 63); err == nil {
			high, low := bits.Mul64(n, unit)
			return quantity{int64(low), true}, high == 0 && low <= math.MaxInt64
		}
	}
	return readRareQuantity(s)
}

// readRareQuantity reads a quantity with a fraction, an exponent, or a unit that is
// smaller than a thousandth.
func readRareQuantity(s string) (q quantity, ok bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(s)
	}
	number, suffix := s[:end], s[end:]
	amount, valid := new(big.Rat).SetString("0" + number)
	if len(s) > maxQuantity || !valid || strings.Trim(number, ".") == "" {
		return quantity{}, false
	}
	unit := new(big.Rat)
	if thousandths, known := quantityUnits[suffix]; known {
		unit.SetInt(new(big.Int).SetUint64(thousandths))
	} else if suffix == "n" || suffix == "u" {
		unit.SetFrac64(1, map[string]int64{"u": 1e3, "n": 1e6}[suffix])
	} else if exponent, err := strconv.Atoi(strings.TrimLeft(suffix, "eE")); err == nil && len(suffix) <= 4 {
		unit.SetString("1e" + strconv.Itoa(exponent+3))
	} else {
		return quantity{}, false
	}
	amount.Mul(amount, unit)
	up := new(big.Int).Add(amount.Num(), new(big.Int).Sub(amount.Denom(), big.NewInt(1)))
	up.Quo(up, amount.Denom())
	return quantity{up.Int64(), true}, up.IsInt64()
}
