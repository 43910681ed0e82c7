package reconcile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// number is a count of a file. The zero value is a member that is absent or null.
type number struct {
	value    int64
	isStated bool
}

// parseNumber reads a whole number.
func parseNumber(s string) (number, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case strings.HasPrefix(s, "-"):
		return number{}, errNegative
	case errors.Is(err, strconv.ErrSyntax):
		return number{}, errors.New("this is not a whole number")
	case err != nil || n > countMax:
		return number{}, fmt.Errorf("the number is larger than %d", int64(countMax))
	}
	return number{value: n, isStated: true}, nil
}

// UnmarshalJSONFrom reads a whole number that is not negative, or null.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) (err error) {
	v, err := d.ReadValue()
	switch {
	case err != nil || v.Kind() == 'n':
		return err
	case v.Kind() != '0':
		return errors.New("this is not a number")
	}
	*n, err = parseNumber(string(v))
	return err
}

// dollars is an amount in dollars, as a number or as text. Both occur.
type dollars struct{ *money }

// UnmarshalJSONFrom reads an amount that is not negative, or null.
func (a *dollars) UnmarshalJSONFrom(d *jsontext.Decoder) error { return readMoney(d, &a.money, 0) }

// cents is an amount in cents, as text with decimals.
type cents struct{ *money }

// UnmarshalJSONFrom reads an amount that is not negative, or null.
func (a *cents) UnmarshalJSONFrom(d *jsontext.Decoder) error { return readMoney(d, &a.money, -2) }

func readMoney(d *jsontext.Decoder, to **money, unitDigits int) error {
	v, err := d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return err
	}
	s := string(v)
	if v.Kind() == '"' {
		unquoted, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		s = string(unquoted)
	} else if v.Kind() != '0' {
		return errDecimal
	}
	m, err := parseMoney(s, unitDigits)
	*to = &m
	return err
}

// text is a text, or empty when the member is absent or null.
type text string

// UnmarshalJSONFrom reads a text or null.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	switch {
	case err != nil || v.Kind() == 'n':
		return err
	case v.Kind() != '"':
		return errors.New("this is not a text")
	}
	unquoted, err := jsontext.AppendUnquote(nil, v)
	*t = text(unquoted)
	return err
}

// currency is a currency of which only US dollars can be compared.
type currency struct{}

// UnmarshalJSONFrom refuses every other currency.
func (c *currency) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var name text
	if err := name.UnmarshalJSONFrom(d); err != nil {
		return err
	}
	if name != "" && !strings.EqualFold(string(name), "usd") {
		return fmt.Errorf("the currency is %q; only US dollars can be compared", string(name))
	}
	return nil
}

// instant is a time: seconds since 1970, or a text such as 2026-11-27T00:00:00Z.
type instant struct{ time.Time }

// unixMax is the last second of the year 9999.
const unixMax = 253_402_300_799

// UnmarshalJSONFrom reads either form, or null.
func (t *instant) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	switch {
	case err != nil || v.Kind() == 'n':
		return err
	case v.Kind() == '0':
		seconds, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || seconds < 0 || seconds > unixMax {
			return errors.New("this is not a number of seconds since 1970")
		}
		t.Time = time.Unix(seconds, 0).UTC()
		return nil
	case v.Kind() == '"':
		unquoted, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		if t.Time, err = time.Parse(time.RFC3339, string(unquoted)); err == nil {
			return nil
		}
	}
	return errors.New("this is not a time such as 2026-11-27T00:00:00Z")
}
