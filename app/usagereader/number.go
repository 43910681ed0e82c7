package usagereader

import (
	"math"

	"umg/app/llm"
)

// digitsMax is how many digits of a number with decimals are read. The digits after them are below any unit of a price.
const digitsMax = 17

// parseNumber reads a number and multiplies it by ten to the power of shift, rounded to the nearest. A boolean is 0 or 1. Without a shift
// only whole numbers up to llm.TokensMax are counts. Any other value is llm.Unknown.
func parseNumber(value []byte, shift int) int64 {
	switch value[0] {
	case 't':
		return 1
	case 'f':
		return 0
	}
	if shift > 0 {
		return parseDecimal(value, shift)
	}
	n := int64(0)
	if len(value) > len("2147483648") {
		return parseWhole(value)
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return parseWhole(value)
		}
		n = n*10 + int64(c-'0')
	}
	if n > llm.TokensMax {
		return llm.Unknown
	}
	return n
}

// parseWhole reads a whole number that is written with decimals or an exponent, as some servers do.
func parseWhole(value []byte) int64 {
	n := parseDecimal(value, secondShift)
	if n < 0 || n%1_000 != 0 || n/1_000 > llm.TokensMax {
		return llm.Unknown
	}
	return n / 1_000
}

// parseDecimal reads a number that may have decimals and an exponent.
func parseDecimal(value []byte, shift int) int64 {
	n, digits, at, pointed := int64(0), 0, 0, false
	for ; at < len(value); at++ {
		c := value[at]
		switch {
		case c == '.' && !pointed:
			pointed = true
			continue
		case c < '0' || c > '9':
		case digits >= digitsMax:
			if !pointed {
				shift++
			}
			continue
		default:
			n = n*10 + int64(c-'0')
			if n > 0 {
				digits++
			}
			if pointed {
				shift--
			}
			continue
		}
		break
	}
	exponent, ok := parseExponent(value[at:])
	if !ok || at == 0 {
		return llm.Unknown
	}
	for shift += exponent; shift > 0 && n > 0; shift-- {
		if n > math.MaxInt64/10 {
			return llm.Unknown
		}
		n *= 10
	}
	for ; shift < -1 && n > 0; shift++ {
		n /= 10
	}
	if shift == -1 {
		n = (n + 5) / 10
	}
	return n
}

// parseExponent reads the exponent of a number, which may be missing.
func parseExponent(text []byte) (int, bool) {
	const exponentMax = 99
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	sign, text := 1, text[1:]
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' || n > exponentMax {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return sign * n, len(text) > 0
}
