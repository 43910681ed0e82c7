package models

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views/format"
)

// Calculation is what a call of a model costs, for quantities that the reader chose.
type Calculation struct {
	Inputs []CalcInput
	Sizes  []string // Sizes are the sizes to choose from; empty when the price does not depend on it.
	Size   string
	// Terms are the terms to choose from, as the conditions of the prices tell them apart. The first is the usual service. It is empty when
	// the price does not depend on any.
	Terms    []CalcTerms
	Term     string
	Requests CalcInput // Requests is the number of requests per day.
	Lines    []CalcLine
	Total    app.Amount
	Day      app.Amount // Day is the cost of a day's requests.
	Month    app.Amount // Month is the cost of thirty days.
	Error    string     // A set Error replaces the result.
}

// CalcInput is a quantity: the meter's name, how it is called, and what was entered.
type CalcInput struct{ Name, Label, Value, Error string }

// attrs marks a field that has no valid quantity; its error is shown in place of the price.
func (in CalcInput) attrs() templ.Attributes {
	attrs := templ.Attributes{"inputmode": "numeric"}
	if in.Error != "" {
		attrs["aria-invalid"], attrs["aria-describedby"] = "true", "calc-result"
	}
	return attrs
}

// CalcTerms are terms of a call: the value in the form, and which calls they are.
type CalcTerms struct{ Value, Label string }

// CalcLine is one meter's part of the price.
type CalcLine struct {
	Label    string
	Quantity int64
	Rate     string // Rate is the display form of the rate.
	Amount   app.Amount
	// Condition says which condition made the rate; empty for the usual rate.
	Condition string
}

// apart says whether the lines come to more than the total, because each of them is rounded up here.
func (c Calculation) apart() bool {
	var sum app.Amount
	for _, l := range c.Lines {
		sum += l.Amount
	}
	return sum != c.Total
}

// LastCalls are the reader's last text requests, and what they would have cost with a model.
type LastCalls struct {
	Count       int64
	From, To    time.Time
	Paid, Would app.Amount
	Models      []LastModel // Models are sorted by cost.
	Error       string
}

// LastModel are those of the requests that one model answered.
type LastModel struct {
	Model       string
	Count       int64
	Paid, Would app.Amount
}

// difference is what the model would have saved or cost, in words.
func (l LastCalls) difference() string {
	switch {
	case l.Would < l.Paid:
		return format.Dollars(l.Paid-l.Would) + " less (\u2212" + format.Percent(int64(l.Paid-l.Would), int64(l.Paid)) + ")"
	case l.Would > l.Paid:
		return format.Dollars(l.Would-l.Paid) + " more"
	}
	return "the same"
}
