package requests

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"umg/views/format"
)

// said is one sentence of an answer, and when it is true of a call. An answer is every sentence that is, in order, up to one
// that leaves nothing to add.
type said struct {
	when func(Detail) bool
	text func(Detail) string
	last bool
}

var priceAnswers = []said{
	{when: func(d Detail) bool { return d.Request.Cost == 0 && d.Rule.Charge == "nothing" }, text: ruleText, last: true},
	{when: holds, text: ruleText},
	{when: Detail.hasDearest, text: Detail.dearestWords},
	{when: func(d Detail) bool { return d.Request.Cached > 0 }, text: func(d Detail) string {
		return format.CountOf(d.Request.Cached, "token", "tokens") + " of the input came from a cache."
	}},
	{when: func(d Detail) bool { return d.Reasoning > 0 && d.Request.Output > 0 }, text: func(d Detail) string {
		return format.Percent(d.Reasoning, d.Request.Output) + " of the output was reasoning."
	}},
	{when: func(d Detail) bool { return d.Overrun > 0 }, text: func(d Detail) string {
		return "It cost " + format.Dollars(d.Overrun) + " more than was reserved, which we bear."
	}},
}

const (
	longInput  = 20_000 // input tokens that take a noticeable time
	longOutput = 1_000  // output tokens that take a noticeable time
)

var timeAnswers = []said{
	{when: func(d Detail) bool { return d.Request.Duration <= 0 }, text: literal("It ended at once."), last: true},
	{when: func(d Detail) bool { return d.Request.IsVideo() }, text: func(d Detail) string {
		return "The job took " + format.Duration(d.Request.Duration) +
			" from its creation to its end, including the provider's queue and the rendering. Its page has each step."
	}, last: true},
	{when: Detail.inOnePiece, text: func(d Detail) string {
		return "The answer came in one piece after " + format.Duration(d.Request.Duration) +
			". Nothing is sent before all of it is there; streamed, its first words come sooner."
	}},
	{when: Detail.neverBegan, text: func(d Detail) string {
		return "It ended after " + format.Duration(d.Request.Duration) + " without a first byte."
	}},
	{when: Detail.waitedMost, text: func(d Detail) string {
		return d.firstByteWords() + ", so most of the time was spent waiting for the provider to begin."
	}},
	{when: Detail.wroteMost, text: func(d Detail) string {
		return d.firstByteWords() + ", so most of the time was the answer itself."
	}},
	{when: func(d Detail) bool { return d.rate() > 0 }, text: func(d Detail) string {
		return "It came at about " + format.CountOf(d.rate(), "token", "tokens") + " a second."
	}},
	{when: func(d Detail) bool { return d.Request.Input >= longInput }, text: func(d Detail) string {
		return "Its input of " + format.Count(d.Request.Input) + " tokens had to be read first."
	}},
	{when: func(d Detail) bool { return d.inOnePiece() && d.Request.Output >= longOutput }, text: func(d Detail) string {
		return "It is long: " + format.Count(d.Request.Output) + " tokens."
	}},
	{when: Detail.triedAgain, text: func(d Detail) string {
		if took := d.failedTook(); took > 0 {
			return "Attempts that failed took " + format.Duration(took) + " of it."
		}
		if d.Trail.known() {
			return ""
		}
		return strconv.Itoa(d.Attempts-1) + " earlier " + plural(d.Attempts-1, "attempt", "attempts") + " failed and took part of it."
	}},
}

func answerOf(d Detail, answers []said) string {
	var sentences []string
	for _, s := range answers {
		if !s.when(d) {
			continue
		}
		if text := s.text(d); text != "" {
			sentences = append(sentences, text)
		}
		if s.last {
			break
		}
	}
	return strings.Join(sentences, " ")
}

func literal(text string) func(Detail) string {
	return func(Detail) string { return text }
}

func holds(Detail) bool { return true }

func ruleText(d Detail) string { return d.Rule.Text }

func (d Detail) triedAgain() bool { return d.Attempts > 1 }

// inOnePiece reports whether an answer came whole, which is no moment of its own.
func (d Detail) inOnePiece() bool {
	return d.Request.FirstByte <= 0 && d.Request.Outcome == "succeeded" && !d.Request.Streamed
}

func (d Detail) neverBegan() bool { return d.Request.FirstByte <= 0 && !d.inOnePiece() }

func (d Detail) waitedMost() bool {
	return d.Request.FirstByte > 0 && d.Request.FirstByte*2 > d.Request.Duration
}

func (d Detail) wroteMost() bool {
	return d.Request.FirstByte > 0 && d.Request.FirstByte*2 <= d.Request.Duration
}

func (d Detail) firstByteWords() string {
	return format.Duration(d.Request.FirstByte) + " of " + format.Duration(d.Request.Duration) + " passed until the first byte"
}

// rate is how many tokens a second a stream had, zero where that says nothing.
func (d Detail) rate() int64 {
	r := d.Request
	spent := r.Duration - r.FirstByte
	if r.FirstByte <= 0 || !r.Streamed || r.Output == 0 || spent <= time.Millisecond {
		return 0
	}
	return r.Output * 1000 / max(spent.Milliseconds(), 1)
}

// dearest is the line that costs the most, and its part of all; false where there is nothing to choose from.
func (d Detail) dearest() (line PriceLine, part string, ok bool) {
	priced := 0
	for _, l := range d.Lines {
		if l.exact().Sign() == 0 {
			continue
		}
		priced++
		if !ok || l.exact().Cmp(line.exact()) > 0 {
			line, ok = l, true
		}
	}
	if priced < 2 || d.Rule.Charge == "nothing" {
		return line, "", false
	}
	const whole = 1000
	share := new(big.Int).Mul(line.exact(), big.NewInt(whole))
	return line, format.Percent(share.Quo(share, d.sum()).Int64(), whole), true
}

func (d Detail) hasDearest() bool {
	_, _, ok := d.dearest()
	return ok
}

func (d Detail) dearestWords() string {
	line, part, _ := d.dearest()
	return "The largest part of it, " + part + ", is for " + strings.ToLower(line.label()) + ": " +
		line.quantity() + " at " + line.Price.Text() + " per " +
		line.Price.Unit() + "."
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// fixes say what helps against an error.
var fixes = map[string]string{
	"insufficient_quota":            "Add credit on the billing page.",
	"budget_exceeded":               "Raise the budget of the key on the keys page, or wait until it is refilled.",
	"spend_limit_exceeded":          "Raise the account's spend limit on the billing page, or wait until it resets.",
	"rate_limit_exceeded":           "Wait as long as the answer's Retry-After says, or spread the calls.",
	"max_concurrency_exceeded":      "Let a running call end first, or spread the calls.",
	"body_bytes_exceeded":           "Let a call with a large body end first.",
	"no_available_provider":         "Try again in a moment, or use another model.",
	"model_temporarily_unavailable": "Use another model until it is back.",
	"model_not_found":               "Take the name from the page of models.",
	"invalid_request_error":         "The answer named the field that is wrong; the model's page has its contract.",
	"context_length_exceeded":       "Shorten the input, or use a model with a larger context.",
	"upstream_error":                "It is safe to retry; only delivered content is charged.",
	"upstream_timeout":              "It is safe to send it again. A stream shows sooner that something is coming.",
	"service_unavailable":           "It is safe to send it again in a few seconds.",
	"internal_error":                "The fault is ours and has been recorded. Tell us the id of the request if it happens again.",
	closedByClient:                  "Your client closed the connection. If that was not intended, raise its timeout.",
	"shutting_down":                 "It is safe to send it again at once.",
}
