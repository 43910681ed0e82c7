package operator

import (
	"math"
	"net/url"
	"strconv"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/chart"
	"umg/views/format"
	"umg/views/ui"
)

const (
	codesPath     = views.TrialsPath + "/codes"
	pastCodesMax  = 100 // ended codes that the page shows
	trialBarWidth = 70  // percent of a column's width
)

// These are the reasons why no user gets trial credit.
const (
	TrialsOff      = "off"
	TrialsUnmailed = "unmailed"
	TrialsGiven    = "given"
)

// Trials is what newcomers are given, and the codes that give credit.
type Trials struct {
	views.Shell
	Rules   TrialRules
	Closed  string     // why no user gets trial credit now; empty while trials are open
	FreeAt  *time.Time // when the next trial can be given
	Given   app.Amount // amount of the last 24 hours
	Count   int64      // trials of the last 24 hours
	Days    []TrialDay // oldest first
	Places  []TrialPlace
	Codes   []PromoCode // newest first
	More    bool        // there are older codes
	Made    string      // a code that was just made
	Failure *views.LoadFailure
}

// TrialRules are the policy in force.
type TrialRules struct {
	Amount, DailyMax app.Amount
	Days             int
	Verified         bool // only users with a verified address get it
	Mails            bool
	NetworkMax       int
	DomainMax        int
}

// TrialDay is the trials and the credit that were given on a day in UTC.
type TrialDay struct {
	Day    time.Time
	Count  int64
	Amount app.Amount
	Paid   int64 // accounts with a trial of that day that have bought credit since
}

// TrialPlace is a network or a domain that gets no more for now.
type TrialPlace struct {
	Network bool
	Name    string
	Count   int64
	FreeAt  time.Time
}

// PromoCode is a code that gives credit.
type PromoCode struct {
	Code             string
	Amount           app.Amount
	Redeemed, Times  int64
	Days             int // validity of the credit in days; 0 means that it does not expire
	Reason, By       string
	EndedBy          string
	CreatedAt, Until time.Time
}

// trialSetting is one line of the policy, and what sets it.
type trialSetting struct{ name, value, flag, env string }

func (t Trials) settings() []trialSetting {
	r := t.Rules
	who := "Everyone who signs up, at once"
	if r.Verified {
		who = "Anyone who has verified their e-mail address"
	}
	return []trialSetting{
		{"Credit for a new account", format.Dollars(r.Amount), "--trial-credit", "UMG_TRIAL_CREDIT"},
		{"It lasts", format.CountOf(int64(r.Days), "day", "days"), "--trial-days", "UMG_TRIAL_DAYS"},
		{"Who gets it", who, "--trial-without-verification", "UMG_TRIAL_WITHOUT_VERIFICATION"},
		{"Total per 24 h", format.Dollars(r.DailyMax), "--max-daily-trial-credit", "UMG_MAX_DAILY_TRIAL_CREDIT"},
		{"A network, in 24 hours", format.CountOf(int64(r.NetworkMax), "trial", "trials"), "", ""},
		{"A domain of addresses, in 24 hours", format.CountOf(int64(r.DomainMax), "trial", "trials"), "", ""},
	}
}

// closedTitle and closedText say why no user gets trial credit, and what to do about it.
func (t Trials) closedTitle() string {
	switch t.Closed {
	case TrialsOff:
		return "Trials are off"
	case TrialsUnmailed:
		return "No one can get trial credit"
	}
	return "The trial credit for 24 hours is used up"
}

func (t Trials) closedText() string {
	switch t.Closed {
	case TrialsOff:
		return "New accounts start without credit. Start the server with --trial-credit and an amount of dollars to give them some."
	case TrialsUnmailed:
		return "It is for verified addresses, and this server sends no mail to verify them with. Set UMG_SMTP and --mail-from, or start " +
			"it with --trial-without-verification to give it at sign-up."
	}
	return "New accounts are asked to come back tomorrow. Raise --max-daily-trial-credit to give more."
}

// share is how much of a day's limit is given, in thousandths.
func (t Trials) share() int {
	most := int64(t.Rules.DailyMax)
	if most <= 0 {
		return 0
	}
	if scale := most >> 40; scale > 0 {
		return int(min(int64(t.Given)/scale*1000/(most/scale), 1000))
	}
	return int(min(int64(t.Given)*1000/most, 1000))
}

func (t Trials) shareTone() string {
	switch s := t.share(); {
	case s >= 1000:
		return "danger"
	case s >= 800:
		return "warning"
	}
	return ""
}

// sums of the days shown.
func (t Trials) sums() (count int64, amount app.Amount, paid int64) {
	for _, d := range t.Days {
		count, amount, paid = count+d.Count, amount+d.Amount, paid+d.Paid
	}
	return count, amount, paid
}

// trialSeries are the colours of the chart: trials without a purchase are drawn pale.
var trialSeries = [2]int{0, 6}

// chart draws the trials by day, with those that led to a purchase in front.
func (t Trials) chart() chart.Chart {
	c := chart.Chart{Names: []string{"Bought credit since", "Did not"}, Columns: make([]chart.Column, len(t.Days))}
	var largest int64
	for _, d := range t.Days {
		largest = max(largest, d.Count)
	}
	top := chart.ScaleTop(largest)
	c.Top = format.Count(top)
	if top%2 == 0 {
		c.Half = format.Count(top / 2)
	}
	count, amount, paid := t.sums()
	for i, d := range t.Days {
		col := &c.Columns[i]
		left, right := chart.FullScale*i/len(t.Days), chart.FullScale*(i+1)/len(t.Days)
		width := (right - left) * trialBarWidth / 100
		col.HitX, col.HitWidth, col.X, col.Width = chart.Position(left), chart.Position(right-left),
			chart.Position(left+(right-left-width)/2), chart.Position(width)
		col.Middle, col.Name = chart.Position(left+(right-left)/2), d.Day.Format("2 Jan")
		col.Hint = format.Day(d.Day) + ": " + format.CountOf(d.Count, "trial", "trials") + ", " + format.Dollars(d.Amount) + ", " +
			format.Count(d.Paid) +
			" bought credit since"
		foot := chart.FullScale
		for i, n := range []int64{d.Paid, d.Count - d.Paid} {
			if n > 0 {
				height := min(max(chart.HeightOf(n, top), chart.MinHeight), foot)
				foot -= height
				col.Pieces = append(col.Pieces, chart.Piece{Series: trialSeries[i], Y: chart.Position(foot), Height: chart.Position(height)})
			}
		}
	}
	c.Label()
	c.Summary = "Trials by day of UTC over the last " + strconv.Itoa(len(t.Days)) + " days: " + format.CountOf(count, "trial", "trials") +
		" of " +
		format.Dollars(amount) + " in all, of which " + format.Count(paid) + " bought credit since."
	return c
}

func (p TrialPlace) kind() string {
	if p.Network {
		return "Network"
	}
	return "Domain"
}

// live reports whether a code still gives credit.
func (c PromoCode) live(now time.Time) bool { return c.Redeemed < c.Times && now.Before(c.Until) }

func (c PromoCode) verdict(now time.Time) views.Badge {
	switch {
	case c.live(now):
		return views.Badge{Tone: ui.Success, Text: "Active"}
	case c.Redeemed >= c.Times:
		return views.Badge{Tone: ui.Plain, Text: "Used up"}
	}
	return views.Badge{Tone: ui.Plain, Text: "Ended"}
}

func (c PromoCode) lasts() string {
	if c.Days == 0 {
		return "Never expires"
	}
	return "Credit lasts " + format.CountOf(int64(c.Days), "day", "days")
}

// EndPath is the address of the form that ends the code.
func (c PromoCode) EndPath() string { return codesPath + "/" + url.PathEscape(c.Code) + "/end" }

// codes are those that still give credit, or those that do not.
func (t Trials) codes(live bool) []PromoCode {
	var list []PromoCode
	for _, c := range t.Codes {
		if c.live(t.Now) == live {
			list = append(list, c)
		}
	}
	return list
}

// made is the code that was made just now.
func (t Trials) made() *PromoCode {
	for i, c := range t.Codes {
		if c.Code == t.Made && t.Made != "" {
			return &t.Codes[i]
		}
	}
	return nil
}

// given is the credit that a code has given so far, capped at the greatest amount.
func (c PromoCode) given() app.Amount {
	if c.Redeemed > 0 && c.Amount > math.MaxInt64/app.Amount(c.Redeemed) {
		return math.MaxInt64
	}
	return app.Amount(c.Redeemed) * c.Amount
}

// promises is what a new code does, in a sentence.
func (c PromoCode) promises() string {
	most := format.CountOf(c.Times, "account", "accounts")
	if c.Times > 1 {
		most = "up to " + most
	}
	end := c.Until.UTC().Format("2 Jan 2006, 15:04") + " UTC"
	return "Gives " + format.Dollars(c.Amount) + " to " + most + ", once each, until " + end + ". " + c.lasts() + "."
}

// CodeForm is what an operator types to make a code.
type CodeForm struct {
	views.Shell
	Code, Amount, Times, Days, Until, Reason                                        string
	CodeError, AmountError, TimesError, DaysError, UntilError, ReasonError, Problem string
	PasswordError                                                                   string
}

// EndWords say what ending the code does.
func (c PromoCode) EndWords() string {
	return "No account can redeem it any more. It was redeemed " + format.Count(c.Redeemed) + " of " + format.Count(c.Times) +
		" times; the " + format.Dollars(c.given()) + " that it gave stay where they are."
}
