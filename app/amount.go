package app

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is money in nano-dollars (1e-9 US dollars), which reaches ±9.2 billion dollars. There is no other
// currency and no fraction of a nano-dollar: calculations in 128 bits round up once, in billing.
type Amount int64

// These are units of an amount.
const (
	Nano   Amount = 1
	Cent   Amount = 10_000_000
	Dollar Amount = 1_000_000_000
)

const fractionDigits = 9

// String prints decimal dollars exactly, without trailing zeros and without a currency sign: "0.000043", "12", "-3.5".
func (a Amount) String() string {
	var short [32]byte
	return string(a.AppendTo(short[:0]))
}

// AppendTo appends the decimal dollars that String prints.
func (a Amount) AppendTo(dst []byte) []byte {
	u := uint64(a) // In two's complement, the negation below is right even for the most negative amount.
	if a < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = strconv.AppendUint(dst, u/uint64(Dollar), 10)
	fraction := u % uint64(Dollar)
	if fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := uint64(Dollar) / 10; fraction > 0; unit /= 10 {
		dst = append(dst, byte('0'+fraction/unit))
		fraction %= unit
	}
	return dst
}

// MarshalJSON prints the amount as a JSON number of dollars, from the integer and never through a float.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// ParseAmount reads decimal dollars such as "5", "0.000043" or "-3.50". More than nine decimals, signs other than a
// leading minus, exponents and amounts beyond the range are refused.
func ParseAmount(s string) (Amount, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	if whole == "" || (hasPoint && fraction == "") || len(fraction) > fractionDigits || !allDigits(whole) || !allDigits(fraction) {
		return 0, fmt.Errorf("%q is not an amount in dollars with at most %d decimals", s, fractionDigits)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", fractionDigits-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is more dollars than an account can hold", s)
	}
	if negative {
		n = -n
	}
	return Amount(n), nil
}

// UnmarshalText parses decimal dollars in flags and files.
func (a *Amount) UnmarshalText(text []byte) error {
	parsed, err := ParseAmount(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
