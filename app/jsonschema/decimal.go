package jsonschema

import (
	"bytes"
	"cmp"
	"strconv"
)

// numberBytesMax bounds the length of one number. The longest exact decimal form of a 64-bit float has 767 digits.
const numberBytesMax = 1024

// decimal is a JSON number without rounding, so that comparisons are exact for integers beyond 2^53 and for fractions that no
// float can hold.
type decimal struct {
	// digits is the mantissa as it was written, from its first digit that is not zero. It may contain one point.
	digits []byte
	// exponent is the power of ten of the first of the digits.
	exponent int
	negative bool
	zero     bool
}

// CompareNumbers compares two JSON numbers exactly: -1 when a is less than b, 0 when they are equal, +1 when a is greater.
func CompareNumbers(a, b string) int { return numberOf(a).compare(numberOf(b)) }

// NumberInRange reports whether a JSON number can be held by a 64-bit float, perhaps rounded.
func NumberInRange(raw []byte) bool {
	if _, ok := plainInteger(raw); ok {
		return true
	}
	_, ok := parseDecimal(raw)
	return ok
}

func numberOf(literal string) decimal {
	d, _ := parseDecimal([]byte(literal))
	return d
}

// parseDecimal parses a number that follows the JSON grammar. It reports false for numbers that no 64-bit float can hold, such as
// 1e999 and 1e-999, and for numbers longer than numberBytesMax, because programs disagree on those.
func parseDecimal(raw []byte) (decimal, bool) {
	var d decimal
	if len(raw) > numberBytesMax {
		return d, false
	}
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	mantissa, shift := raw, 0
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		mantissa = raw[:e]
		n, err := strconv.Atoi(string(bytes.TrimPrefix(raw[e+1:], []byte("+"))))
		if err != nil {
			n = exponentOverflow
		}
		shift = n
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first < 0 {
		d.zero, d.negative = true, false
		return d, true
	}
	d.digits = mantissa[first:]
	d.exponent = point - first - 1 + shift
	if first > point {
		d.exponent = point - first + shift
	}
	// Only numbers near the ends of the range of floats need the parser of floats.
	const surelyInside = 300
	if -surelyInside < d.exponent && d.exponent < surelyInside {
		return d, true
	}
	float, err := strconv.ParseFloat(string(raw), 64)
	return d, err == nil && float != 0
}

const exponentOverflow = 1 << 30

// plainInteger parses the common case, an integer of at most 18 digits, without making a decimal.
func plainInteger(raw []byte) (int64, bool) {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) != len(raw) {
		n = -n
	}
	return n, true
}

// whole reports whether the number is an integer. As in JSON Schema, 1.0 and 1e2 are integers.
func (d decimal) whole() bool {
	if d.zero {
		return true
	}
	last, seen := 0, 0
	for _, c := range d.digits {
		if c == '.' {
			continue
		}
		if c != '0' {
			last = seen
		}
		seen++
	}
	return d.exponent >= last
}

// compare orders two numbers exactly: -1 when d is smaller than e, 0 when they are equal, +1 when it is larger.
func (d decimal) compare(e decimal) int {
	if order := cmp.Compare(d.sign(), e.sign()); order != 0 || d.zero {
		return order
	}
	order := cmp.Compare(d.exponent, e.exponent)
	for i, j := 0, 0; order == 0 && (i < len(d.digits) || j < len(e.digits)); {
		var a, b byte
		a, i = nextDigit(d.digits, i)
		b, j = nextDigit(e.digits, j)
		order = cmp.Compare(a, b)
	}
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) sign() int {
	switch {
	case d.zero:
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// nextDigit returns the digit at i, or the one after a point at i, and the next index. All digits after the last one are zeros.
func nextDigit(digits []byte, i int) (byte, int) {
	if i < len(digits) && digits[i] == '.' {
		i++
	}
	if i >= len(digits) {
		return '0', i
	}
	return digits[i], i + 1
}
