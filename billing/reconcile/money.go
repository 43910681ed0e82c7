package reconcile

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"umg/app"
)

// These limits apply to an amount in an export. Some providers write a zero as 0E-6176.
const (
	digitsMax   = 200
	exponentMax = 10_000
	wholeMax    = 10 // Amounts are below ten billion dollars.
)

// attoDigits is the precision in which amounts of an export are added up: they have more decimals than an app.Amount has.
const attoDigits = 18

var (
	errNegative = errors.New("the number is negative")
	errDecimal  = errors.New("this is not a decimal number")
)

// money is an exact sum of amounts in attodollars, 1e-18 dollars. The zero value is no money.
type money struct{ atto big.Int }

// parseMoney reads decimal text such as 0.06, 6e-05 or 123.45. The unit is ten to the power of unitDigits dollars: zero for dollars,
// -2 for cents. Digits beyond an attodollar are rounded to the nearest.
func parseMoney(s string, unitDigits int) (m money, err error) {
	if strings.HasPrefix(s, "-") && strings.Trim(s, "-0.eE+") != "" {
		return m, errNegative
	}
	mantissa, exponent, err := splitExponent(strings.TrimPrefix(s, "-"))
	if err != nil {
		return m, err
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	switch {
	case whole == "" || hasPoint && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return m, errDecimal
	case digits == "":
		return m, nil
	case len(digits) > digitsMax:
		return m, fmt.Errorf("the number has more than %d digits", digitsMax)
	}
	power := exponent - len(fraction) + unitDigits
	if len(digits)+power > wholeMax {
		return m, fmt.Errorf("the amount has more than %d digits before the point", wholeMax)
	}
	m.atto.SetString(digits, 10)
	if power += attoDigits; power >= 0 {
		m.atto.Mul(&m.atto, powerOfTen(power))
	} else if -power > digitsMax+1 {
		m.atto.SetInt64(0)
	} else {
		m.atto.Set(nearest(&m.atto, powerOfTen(-power)))
	}
	return m, nil
}

// splitExponent separates the exponent from a number.
func splitExponent(s string) (mantissa string, exponent int, err error) {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s, 0, nil
	}
	exponent, err = strconv.Atoi(s[at+1:])
	if err != nil || exponent > exponentMax || exponent < -exponentMax {
		return "", 0, errDecimal
	}
	return s[:at], exponent, nil
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// nearest divides and rounds to the nearest whole number, halves up. No number is negative.
func nearest(n, divisor *big.Int) *big.Int {
	half := new(big.Int).Rsh(divisor, 1)
	return half.Div(half.Add(half, n), divisor)
}

// add adds another amount.
func (m *money) add(other *money) { m.atto.Add(&m.atto, &other.atto) }

// amount is the sum in nano-dollars, rounded to the nearest. It fails when an app.Amount cannot hold it.
func (m *money) amount() (app.Amount, error) {
	nanos := nearest(&m.atto, powerOfTen(attoDigits-9))
	if !nanos.IsInt64() {
		return 0, errors.New("the sum of the amounts is more than can be compared")
	}
	return app.Amount(nanos.Int64()), nil
}
