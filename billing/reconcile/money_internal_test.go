package reconcile

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAmountsAreExact compares parsed amounts with rational numbers.
func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 5))
	for range 2000 {
		digits := random.IntN(12) + 1
		s := strings.TrimLeft(big.NewInt(random.Int64N(1<<33)).String(), "0") + "." + strings.Repeat("0", random.IntN(5))
		for range digits {
			s += string(rune('0' + random.IntN(10)))
		}
		for _, unitDigits := range []int{0, -2} {
			m, err := parseMoney(s, unitDigits)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			want, _ := new(big.Rat).SetString(s)
			want.Mul(want, new(big.Rat).SetInt(powerOfTen(attoDigits+unitDigits)))
			if !want.IsInt() || want.Num().Cmp(&m.atto) != 0 {
				t.Errorf("%s in units of 1e%d is %s attodollars, want %s", s, unitDigits, &m.atto, want)
			}
		}
	}
}

// TestAmountsAreRoundedOnce adds up many amounts below a nano-dollar. Each alone would be rounded to nothing.
func TestAmountsAreRoundedOnce(t *testing.T) {
	t.Parallel()
	var sum money
	for range 1000 {
		m, err := parseMoney("0.0000000004", 0)
		if err != nil {
			t.Fatal(err)
		}
		sum.add(&m)
	}
	if amount, err := sum.amount(); err != nil || amount != 400 {
		t.Errorf("a thousand times 0.4 nano-dollars is %d nano-dollars, %v", amount, err)
	}
}

func TestAmountsOfEveryForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "0.06": "0.06", "6e-05": "0.00006", "1E2": "100", "1.5e+3": "1500", "0E-6176": "0", "-0.0": "0", "00012.50": "12.5",
		"0.0000000005": "0.000000001", "0.00000000049": "0", "1e-300": "0", "0.30000000000000004": "0.3", "9999999999": "9999999999",
	} {
		m, err := parseMoney(text, 0)
		amount, tooLarge := m.amount()
		if text == "9999999999" { // This is more than an app.Amount holds.
			if err != nil || tooLarge == nil {
				t.Errorf("%s: %v, %v", text, err, tooLarge)
			}
		} else if err != nil || tooLarge != nil || amount.String() != want {
			t.Errorf("%s is %s, %v, %v, want %s", text, amount, err, tooLarge, want)
		}
	}
	for _, text := range []string{
		"", "-", ".", "1.", ".5", "+1", "1e", "e5", "1e99999", "0x10", "1_000", "1,5", "NaN", "Infinity", "-1", "-1e-9", "1 ", "12345678901",
		strings.Repeat("1", 300),
	} {
		if m, err := parseMoney(text, 0); err == nil {
			t.Errorf("%q was read as %s", text, &m.atto)
		}
	}
}
