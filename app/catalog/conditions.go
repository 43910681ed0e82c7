package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// FileCondition is other prices for some calls: those for which all of its members hold that are set. It has either rates, or a factor
// for the prices that hold so far.
type FileCondition struct {
	// PromptOver is for calls with more input tokens than this, cached ones included.
	PromptOver int64 `yaml:"prompt_over,omitempty" json:"prompt_over,omitempty"`
	// EachOver is for the units of each meter of Rates beyond this many. The units up to it keep their price.
	EachOver    int64  `yaml:"each_over,omitempty" json:"each_over,omitempty"`
	ServiceTier string `yaml:"service_tier,omitempty" json:"service_tier,omitempty"`
	Region      string `yaml:"region,omitempty" json:"region,omitempty"`
	Speed       string `yaml:"speed,omitempty" json:"speed,omitempty"`
	Size        string `yaml:"size,omitempty" json:"size,omitempty"`
	Quality     string `yaml:"quality,omitempty" json:"quality,omitempty"`
	// Hours, Days and Except are in UTC. Hours without days are those of every day.
	Hours  []HourRange `yaml:"hours,omitempty,flow" json:"hours,omitempty"`
	Days   []string    `yaml:"days,omitempty,flow" json:"days,omitempty"`
	Except []Date      `yaml:"except,omitempty,flow" json:"except,omitempty"`

	Rates Rates `yaml:"rates,omitempty" json:"rates,omitempty"`
	// Times multiplies the prices of Meters, and those of all meters of tokens when there are none.
	Times  Factor   `yaml:"times,omitempty" json:"times,omitempty"`
	Meters []string `yaml:"meters,omitempty,flow" json:"meters,omitempty"`
}

// Factor multiplies prices. It is in ten-thousandths, so that no price passes through a float; zero is no factor.
type Factor int64

// factorNanos is a ten-thousandth in nano-units, in which amounts are parsed and printed.
const factorNanos = 100_000

// factorOne is the factor that changes nothing.
const factorOne Factor = 10_000

// ParseFactor reads a decimal number above zero with at most four decimals.
func ParseFactor(s string) (Factor, error) {
	n, err := app.ParseAmount(s)
	if err != nil || n <= 0 || n%factorNanos != 0 {
		return 0, fmt.Errorf("%q is not a number above 0 with at most four decimals, such as 0.5", s)
	}
	return Factor(n / factorNanos), nil
}

// MarkUp multiplies an amount of nano-dollars, rounded up.
func (f Factor) MarkUp(nanos int64) int64 {
	whole, part := nanos/int64(factorOne), nanos%int64(factorOne)
	return whole*int64(f) + (part*int64(f)+int64(factorOne)-1)/int64(factorOne)
}

// String prints the factor as the file has it.
func (f Factor) String() string {
	const places = 4
	whole, fraction := strconv.FormatInt(int64(f/factorOne), 10), fmt.Sprintf("%0*d", places, int64(f%factorOne))
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// UnmarshalYAML reads the scalar as text.
func (f *Factor) UnmarshalYAML(v *yaml.Node) error {
	factor, err := ParseFactor(v.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", v.Line, err)
	}
	*f = factor
	return nil
}

// MarshalYAML prints the factor as a number.
func (f Factor) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: f.String()}, nil
}

// MarshalText prints the factor as the file has it.
func (f Factor) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (f *Factor) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFactor(string(text))
	return err
}

// HourRange is a part of each day, written like 01:00-04:00, without its end.
type HourRange billing.Hours

var hourRangeForm = regexp.MustCompile(`^([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])$`)

const (
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
)

// String prints the range as the file has it.
func (h HourRange) String() string { return clockText(h.From) + "-" + clockText(h.To) }

func clockText(minute int) string {
	return fmt.Sprintf("%02d:%02d", minute/minutesPerHour, minute%minutesPerHour)
}

// UnmarshalText reads a range.
func (h *HourRange) UnmarshalText(text []byte) error {
	parts := hourRangeForm.FindStringSubmatch(string(text))
	if parts == nil {
		return fmt.Errorf("%q is not a part of a day; write it as 01:00-04:00", text)
	}
	var numbers [5]int
	for i := range numbers[1:] {
		numbers[i+1], _ = strconv.Atoi(parts[i+1]) // The form has only digits.
	}
	h.From, h.To = numbers[1]*minutesPerHour+numbers[2], numbers[3]*minutesPerHour+numbers[4]
	if h.From >= h.To || h.To > minutesPerDay {
		return fmt.Errorf("%q ends before it begins or after the day; write a range over midnight as two", text)
	}
	return nil
}

// MarshalText prints the range as the file has it.
func (h HourRange) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalYAML reads a range and names the line of a wrong one.
func (h *HourRange) UnmarshalYAML(v *yaml.Node) error {
	if err := h.UnmarshalText([]byte(v.Value)); err != nil {
		return fmt.Errorf("line %d: hours: %w", v.Line, err)
	}
	return nil
}

// dayWords are the days as the file has them, by time.Weekday.
var dayWords = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// condition converts the condition to the one that billing computes with.
func (c *FileCondition) condition() (billing.Condition, error) {
	out := billing.Condition{
		PromptOver: c.PromptOver, EachOver: c.EachOver, ServiceTier: c.ServiceTier, Region: c.Region, Speed: c.Speed, Size: c.Size,
		Quality: c.Quality, Times: int64(c.Times),
	}
	var err error
	if out.Rates, err = c.Rates.rates(); err != nil {
		return out, err
	}
	for i, r := range out.Rates {
		scale := r.Meter.Info().Unit.Scale()
		if i > 0 && out.EachOver > 0 && scale != out.Rates[0].Meter.Info().Unit.Scale() {
			return out, errors.New("each_over is in units of the meters of its rates, so they must have the same unit")
		}
	}
	if len(out.Rates) > 0 {
		out.EachOver *= out.Rates[0].Meter.Info().Unit.Scale()
	}
	for _, name := range c.Meters {
		m, err := meter.Parse(name)
		if err != nil {
			return out, err
		}
		out.Meters = append(out.Meters, m)
	}
	if len(c.Hours)+len(c.Days)+len(c.Except) == 0 {
		return out, nil
	}
	out.Schedule = &billing.Schedule{}
	for _, h := range c.Hours {
		out.Schedule.Hours = append(out.Schedule.Hours, billing.Hours(h))
	}
	for _, word := range c.Days {
		day := slices.Index(dayWords, word)
		if day < 0 {
			return out, fmt.Errorf("%q is not a day; write mon, tue, wed, thu, fri, sat or sun", word)
		}
		out.Schedule.Weekdays = append(out.Schedule.Weekdays, time.Weekday(day))
	}
	for _, day := range c.Except {
		out.Schedule.Except = append(out.Schedule.Except, time.Time(day).Format(time.DateOnly))
	}
	return out, nil
}

// check adds the problems of the condition's members. Those of all conditions together are found by the check of the card.
func (c *FileCondition) check(p problems) {
	for _, n := range []struct {
		field string
		n     int64
	}{{"prompt_over", c.PromptOver}, {"each_over", c.EachOver}} {
		if n.n < 0 || n.n > conditionEdgeMax {
			p.addf(n.field, "%d is not between 1 and %d", n.n, conditionEdgeMax)
		}
	}
	for _, word := range []struct{ field, text string }{
		{"service_tier", c.ServiceTier}, {"region", c.Region}, {"speed", c.Speed}, {"size", c.Size}, {"quality", c.Quality},
	} {
		if word.text != "" && !termForm.MatchString(word.text) {
			p.addf(word.field, "%q must be small letters, digits, dots, hyphens and underscores", word.text)
		}
	}
	for _, day := range c.Days {
		p.oneOf("days", day, dayWords)
	}
	for _, name := range sortedKeys(c.Rates) {
		if _, err := meter.Parse(name); err != nil {
			p.addf("rates", "%v", err)
		}
	}
	for _, name := range c.Meters {
		if _, err := meter.Parse(name); err != nil {
			p.addf("meters", "%v", err)
		}
	}
}

// conditionEdgeMax bounds prompt_over and each_over.
const conditionEdgeMax = 1 << 30

// termForm is what words of terms look like. Records separate terms by spaces and equals signs.
var termForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// conditionError is the place and the text of an error that newCard returns. The text of an error of a condition begins with its number
// and, for most of them, the member that is wrong.
func conditionError(field string, err error) (at, text string) {
	number, rest, ok := strings.Cut(err.Error(), ": ")
	n, numberErr := strconv.Atoi(strings.TrimPrefix(number, "condition "))
	if !ok || numberErr != nil {
		return field, err.Error()
	}
	at = fmt.Sprintf("%s[%d]", field, n-1)
	member, _, _ := strings.Cut(rest, " ")
	if slices.Contains([]string{"times", "each_over", "prompt_over", "meters", "hours"}, member) {
		at += "." + member
	}
	return at, rest
}

// checkCard adds the problems of prices and conditions. The card is empty when there are any.
func checkCard(p problems, field string, rates Rates, conditionsField string, conditions []FileCondition) billing.RateCard {
	before := len(*p.all)
	for _, name := range sortedKeys(rates) {
		if _, err := meter.Parse(name); err != nil {
			p.addf(field, "%v", err)
		}
	}
	for i := range conditions {
		conditions[i].check(p.at("%s[%d]", conditionsField, i))
	}
	if len(*p.all) > before {
		return billing.RateCard{}
	}
	if _, err := rates.card(""); err != nil {
		p.addf(field, "%v", err)
		return billing.RateCard{}
	}
	card, err := newCard("", rates, conditions)
	if err != nil {
		at, text := conditionError(conditionsField, err)
		p.addf(at, "%s", text)
		return billing.RateCard{}
	}
	return card
}
