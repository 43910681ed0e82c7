package credential

import (
	"fmt"
	"net/http"
	"time"
)

// clockDifferenceMin is the least difference between two clocks that can make a signature or an assertion invalid.
const clockDifferenceMin = 5 * time.Minute

// clockStep is the unit of a difference. Dates of answers have no fractions of seconds, and answers take some time.
const clockStep = 10 * time.Second

// AdviceOnClock tells the operator how much the clock of the gateway differs from that of an answer. It returns an empty text when they
// differ by less than five minutes, and when the answer has no date.
func AdviceOnClock(answer http.Header, now time.Time) string {
	at, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return ""
	}
	switch difference := now.Sub(at).Round(clockStep); {
	case difference >= clockDifferenceMin:
		return fmt.Sprintf("the clock of the gateway is %s ahead of the provider's and must be set", difference)
	case difference <= -clockDifferenceMin:
		return fmt.Sprintf("the clock of the gateway is %s behind the provider's and must be set", -difference)
	}
	return ""
}
