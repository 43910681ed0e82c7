package requests

import (
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// Detail is the page of one call.
type Detail struct {
	views.Shell
	Request   LoggedRequest
	Rule      views.SettlementRule
	RateCard  string // RateCard is the id of the rate card that was in force; empty without one.
	Known     bool   // Known means that the rate card is known.
	Lines     []PriceLine
	Computed  app.Amount // Computed is the price of the lines, rounded up once.
	Reserved  app.Amount
	Overrun   app.Amount // Overrun is the cost beyond the hold, which the platform absorbed.
	Attempts  int
	Trail     Trail // Trail is empty for records from before attempts were stored.
	Reasoning int64 // Reasoning counts the output tokens of reasoning.
	Entry     int64 // Entry is the id of the ledger entry; zero without one.
	Charge    string
	Query     Query  // Query is that of the list that the reader came from.
	Newer     string // Newer and Older are the ids of the neighbors in that list; empty without one.
	Older     string
	Content   CallContent
	ErrorDocs string // ErrorDocs is the address of the documentation of the error code.
	// Message is the error message that the client was sent. It is empty when it is not known.
	Message string
}

// near is the page of a neighbour, in the same list.
func (d Detail) near(id string) string { return views.RequestPath(id) + d.Query.requestSuffix() }

// playPath opens the model in the playground, in the style of the call.
func (d Detail) playPath() string {
	values := url.Values{"model": {d.Request.Model}}
	if d.Request.IsVideo() {
		return views.VideoPlayPath + "?" + values.Encode()
	}
	values.Set("style", d.Request.Style)
	return views.PlaygroundPath + "?" + values.Encode()
}

// PriceLine is a part of the bill of a call: a quantity of one meter at a price.
type PriceLine struct {
	Meter string
	// Quantity is in the smallest unit of the meter, such as milliseconds.
	Quantity int64
	// Price is nil when the quantity is free.
	Price *views.Price
	// Conditions say, in words, which conditions of the rate card made the price.
	Conditions []string
}

// scale is how many of the stored units one unit of the price has.
func (l PriceLine) scale() int64 {
	m, err := meter.Parse(l.Meter)
	if err != nil {
		return 1
	}
	return m.Info().Unit.Scale()
}

func (l PriceLine) label() string {
	if w, known := views.MeterWords[l.Meter]; known {
		if unit, each := strings.CutPrefix(w.Label, "Each "); each {
			return strings.ToUpper(unit[:1]) + unit[1:] + "s"
		}
		return w.Label
	}
	return l.Meter
}

func (l PriceLine) quantity() string {
	if scale := l.scale(); scale > 1 && strings.HasSuffix(l.Meter, "seconds") {
		return secondWords(l.Quantity)
	} else if scale > 1 {
		return format.Number(app.Amount(l.Quantity * int64(app.Dollar) / scale).String())
	}
	return format.Count(l.Quantity)
}

// exactDigits is how many digits behind the point a price has before it is rounded: nine of a nano-dollar, and six of
// the largest quantity a price is for, and three of a millisecond.
const exactDigits = 18

// exact is the amount in units of exactDigits behind the point.
func (l PriceLine) exact() *big.Int {
	if l.Price == nil || l.Price.Per <= 0 {
		return new(big.Int)
	}
	per := big.NewInt(l.Price.Per)
	per.Mul(per, big.NewInt(l.scale()))
	sum := new(big.Int).Mul(big.NewInt(l.Quantity), big.NewInt(int64(l.Price.Amount)))
	sum.Mul(sum, big.NewInt(1_000_000_000))
	return sum.Quo(sum, per)
}

// exactWords prints it with at least the cents, and all digits that are not zero.
func exactWords(n *big.Int) string {
	digits := n.String()
	for len(digits) <= exactDigits {
		digits = "0" + digits
	}
	point := len(digits) - exactDigits
	fraction := strings.TrimRight(digits[point:], "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return "$" + format.Number(digits[:point]+"."+fraction)
}

func (l PriceLine) amount() string { return exactWords(l.exact()) }

func (d Detail) sum() *big.Int {
	sum := new(big.Int)
	for _, l := range d.Lines {
		sum.Add(sum, l.exact())
	}
	return sum
}

func (d Detail) sumWords() string { return exactWords(d.sum()) }

// rounding is what rounding up to a billionth of a dollar added.
func (d Detail) rounding() string {
	whole := new(big.Int).Mul(big.NewInt(int64(d.Computed)), big.NewInt(1_000_000_000))
	return exactWords(whole.Sub(whole, d.sum()))
}

func (d Detail) rounded() bool {
	whole := new(big.Int).Mul(big.NewInt(int64(d.Computed)), big.NewInt(1_000_000_000))
	return whole.Cmp(d.sum()) != 0
}

// waived is the sum of the lines that the account did not pay, by the rule for this finish reason.
func (d Detail) waived() app.Amount { return max(d.Computed-d.Request.Cost-d.Overrun, 0) }

// released is the part of the hold that was not charged.
func (d Detail) released() app.Amount { return max(d.Reserved-d.Request.Cost, 0) }

// ledgerPath leads to the entry with the charge: the page of the ledger that begins with it, or the day.
func (d Detail) ledgerPath() string {
	if d.Entry > 0 {
		return views.LedgerQuery{Before: d.Entry + 1}.Path()
	}
	day := d.Request.At.UTC()
	end := day.Add(d.Request.Duration + time.Minute)
	return views.LedgerQuery{Kinds: []string{views.EntryCharge}, From: day.Format(format.DayLayout), To: end.Format(format.DayLayout)}.Path()
}

func (d Detail) rulePath() string { return views.RulesPath + "#" + url.PathEscape(d.Rule.Reason) }

func (d Detail) chargePath() string { return Query{Transaction: d.Charge}.Path() }

// phase is a part of the time a call took.
type phase struct {
	kind, name string
	took       time.Duration
	at, len    int
}

// phases are the parts of the call's time side by side.
func (d Detail) phases() []phase {
	r := d.Request
	switch {
	case r.Duration <= 0:
		return nil
	case r.FirstByte <= 0 || r.FirstByte >= r.Duration:
		return []phase{{kind: "wait", name: "Until the answer", took: r.Duration, len: views.BarUnits}}
	}
	scale := max(r.Duration/views.BarUnits, 1)
	waited := min(max(int(r.FirstByte/scale), views.BarMin), views.BarUnits-views.BarMin)
	return []phase{
		{kind: "wait", name: "Until the first byte", took: r.FirstByte, len: waited},
		{kind: "stream", name: "The answer", took: r.Duration - r.FirstByte, at: waited, len: views.BarUnits - waited},
	}
}

// moment is one line of the timeline.
type moment struct {
	icon  ui.IconName
	title string
	after time.Duration // After counts from the beginning of the call.
	text  string
}

// crashedReason is the settlement rule of a call whose process ended in its middle.
const crashedReason = "crashed"

// timeline is what is known to have happened, in order. Steps before the call was sent have no times of their own: the record
// holds the beginning, the first byte and the end. That they were passed follows from there being a record at all.
func (d Detail) timeline() []moment {
	r := d.Request
	key := "With the key " + r.KeyName + "."
	if id, deleted := strings.CutPrefix(r.KeyName, "deleted key "); deleted {
		key = "With the deleted key " + id + "."
	}
	if r.KeyID == "" && r.KeyName == "Playground" {
		key = "From the playground, by a member of the account."
	}
	list := []moment{
		{icon: ui.IconPlay, title: "The call arrived", text: key},
		{icon: ui.IconCheck, title: "Key, limits and request checked", text: "What fails here is refused at once and costs nothing."},
		{icon: ui.IconWallet, title: "Credit reserved", text: reservedWords(d.Reserved)},
	}
	list = append(list, d.attempts()...)
	if r.FirstByte > 0 {
		list = append(list, moment{icon: ui.IconRadio, title: "First byte to you", after: r.FirstByte})
	}
	end := moment{icon: ui.IconCircleCheck, title: "The call ended: " + r.Badge().Text, after: r.Duration, text: d.finishWords()}
	if r.Badge().Tone != ui.Success {
		end.icon = ui.IconCircleAlert
	}
	return append(list, end, d.settled())
}

// attempts are the tries at providers. The record counts them and names the last one, which decided; the earlier ones had no
// whole answer, else there would have been no later one.
func (d Detail) attempts() []moment {
	r := d.Request
	if d.Attempts == 0 {
		return []moment{{icon: ui.IconCircleX, title: "It was not sent to a provider"}}
	}
	var list []moment
	switch earlier := d.Attempts - 1; {
	case earlier == 1:
		list = append(list, moment{icon: ui.IconRefresh, title: "Attempt 1: no answer",
			text: "It failed before anything was delivered, and costs nothing."})
	case earlier > 1:
		list = append(list, moment{
			icon: ui.IconRefresh, title: "Attempts 1 to " + strconv.Itoa(earlier) + ": no answer",
			text: "They failed before anything was delivered, and cost nothing.",
		})
	}
	last := moment{icon: ui.IconSend, title: "Attempt " + strconv.Itoa(d.Attempts) + ": sent to " + r.usedModel(),
		text: "It answered, and decided."}
	if d.Attempts == 1 {
		last.title = "Sent to " + r.usedModel()
		last.text = ""
	}
	if r.ErrorCode != "" {
		last.text = "It ended with " + r.ErrorCode + "."
	}
	return append(list, last)
}

func (d Detail) settled() moment {
	r := d.Request
	settled := moment{icon: ui.IconReceipt, title: "Settled: " + format.Dollars(r.Cost) + " charged",
		text: "The charge was durable before the last byte was sent."}
	switch {
	case r.IsVideo():
		settled.text = "The charge was made in the same step that ended the job."
	case d.Rule.Reason == crashedReason:
		settled.text = "The process that served it ended, and the next one charged what was known to be delivered."
	}
	if r.Cost == 0 {
		settled.title, settled.text = "Settled: nothing charged", "The reserved credit was released."
	}
	return settled
}

func reservedWords(reserved app.Amount) string {
	if reserved <= 0 {
		return "Nothing was reserved for it."
	}
	return format.Dollars(reserved) + " was reserved for it, the most that it may cost."
}

func (d Detail) finishWords() string {
	switch {
	case d.Request.Finish != "":
		return "The provider's reason: " + d.Request.Finish + "."
	case d.Request.ErrorCode != "":
		return d.Request.Cause() + "."
	}
	return ""
}

// curl is the call as a command, with its own body where that is stored whole.
func (d Detail) curl() string {
	body := d.sampleBody()
	if d.hasBody() {
		body = d.Content.Request.Text
	}
	return "curl " + strings.TrimSuffix(d.BaseURL, "/v1") + views.Style(d.Request.Style).Path() + " \\\n  -H \"Authorization: Bearer $" +
		codesample.KeyVariable + "\" \\\n" +
		"  -H \"Content-Type: application/json\" \\\n  -d " + codesample.ShellText(body)
}

// hasBody reports whether the body of the request is stored without anything cut off or taken out.
func (d Detail) hasBody() bool {
	c := d.Content
	return c.State == ContentKept && c.Request.JSON && !c.Request.Cut && c.Redacted == 0 && c.Request.Text != ""
}

func (d Detail) curlSaid() string {
	if d.hasBody() {
		return "Copied as cURL, with its content"
	}
	return "Copied as cURL, without the content"
}

// sampleBody is a body for the model and style of the call, in which the reader fills in the content.
func (d Detail) sampleBody() string {
	r := d.Request
	body := `{"model": ` + codesample.Quote(r.Model) + `, "messages": [{"role": "user", "content": "…"}]`
	switch views.Style(r.Style) {
	case "messages":
		body += `, "max_tokens": 1024`
	case "responses":
		body = `{"model": ` + codesample.Quote(r.Model) + `, "input": "…"`
	case "native":
		body = `{"model": ` + codesample.Quote(r.Model) + `, "contents": [{"role": "user", "parts": [{"text": "…"}]}]`
	case views.VideosStyle:
		body = `{"model": ` + codesample.Quote(r.Model) + `, "prompt": "…"`
		if r.Seconds > 0 {
			body += `, "seconds": "` + strconv.FormatInt(r.Seconds, 10) + `"`
		}
	}
	if r.Streamed {
		body += `, "stream": true`
	}
	return body + "}"
}
