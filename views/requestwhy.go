package views

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// why is a question about a call and its answer, made from its record alone.
type why struct{ question, answer string }

// whys answer what people ask about a call: why it cost what it did, why it took so long, why it failed.
func (d RequestDetail) whys() []why {
	var list []why
	if text := d.whyFailed(); text != "" {
		list = append(list, why{"Why did it not succeed?", text})
	}
	return append(list, why{"Why this price?", d.whyPrice()}, why{"Where did the time go?", d.whySlow()})
}

func (d RequestDetail) whyPrice() string {
	r := d.Request
	if r.Cost == 0 && d.Rule.Charge == "nothing" {
		return d.Rule.Text
	}
	text := d.Rule.Text
	if line, part, ok := d.dearest(); ok {
		text += " Most of it, " + part + ", is for " + strings.ToLower(line.label()) + ": " + line.quantity() + " at " + line.Price.Text() +
			" per " + line.Price.Unit() + "."
	}
	if r.Cached > 0 {
		text += " " + Count(r.Cached) + " tokens of the input came from a cache."
	}
	if d.Reasoning > 0 && r.Output > 0 {
		text += " " + Percent(d.Reasoning, r.Output) + " of the output was reasoning."
	}
	if d.Overrun > 0 {
		text += " It cost " + Dollars(d.Overrun) + " more than was reserved, which we bear."
	}
	return strings.TrimSpace(text)
}

// dearest is the line that costs the most, and its part of all; false where there is nothing to choose from.
func (d RequestDetail) dearest() (line PriceLine, part string, ok bool) {
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
	return line, Percent(share.Quo(share, d.sum()).Int64(), whole), true
}

func (d RequestDetail) whySlow() string {
	r := d.Request
	switch {
	case r.Duration <= 0:
		return "It ended at once."
	case r.isVideo():
		return "The job took " + Took(r.Duration) +
			" from its creation to its end, which is the provider's queue and its making. Its page has each step."
	case r.FirstByte <= 0:
		return "It ended after " + Took(r.Duration) + " without a first byte." + d.attemptWords()
	}
	text := Took(r.FirstByte) + " of " + Took(r.Duration) + " passed until the first byte"
	if r.FirstByte*2 > r.Duration {
		text += ", so most of the time was spent waiting for the provider to begin."
	} else {
		text += ", so most of the time was the answer itself."
	}
	if spent := r.Duration - r.FirstByte; r.Streamed && r.Output > 0 && spent > time.Millisecond {
		if rate := r.Output * 1000 / max(spent.Milliseconds(), 1); rate > 0 {
			text += " It came at about " + Count(rate) + " tokens a second."
		}
	}
	return text + d.attemptWords()
}

func (d RequestDetail) attemptWords() string {
	if d.Attempts < 2 {
		return ""
	}
	return " " + strconv.Itoa(d.Attempts-1) + " earlier " + plural(d.Attempts-1, "attempt", "attempts") + " failed and took part of it."
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
	"rate_limit_exceeded":           "Wait as long as the answer's Retry-After says, or spread the calls.",
	"max_concurrency_exceeded":      "Let a running call end first, or spread the calls.",
	"no_available_provider":         "Try again in a moment, or use another model.",
	"model_temporarily_unavailable": "Use another model until it is back.",
	"model_not_found":               "Take the name from the page of models.",
	"invalid_request_error":         "The answer named the field that is wrong; the model's page has its contract.",
	"context_length_exceeded":       "Shorten the input, or use a model with a larger context.",
	"upstream_error":                "It is safe to send it again; nothing beyond what was delivered is charged.",
	"upstream_timeout":              "It is safe to send it again. A stream shows sooner that something is coming.",
	"service_unavailable":           "It is safe to send it again in a few seconds.",
	"internal_error":                "The fault is ours and has been recorded. Tell us the id of the request if it happens again.",
	"client_closed_request":         "Your side closed the connection. Raise the timeout of your client if that was not meant.",
	"shutting_down":                 "It is safe to send it again at once.",
}

func (d RequestDetail) whyFailed() string {
	r := d.Request
	if r.ErrorCode == "" {
		if r.Outcome == "succeeded" {
			return ""
		}
		return d.Rule.When
	}
	text := r.cause()
	if text == r.ErrorCode {
		text = d.Rule.When
	} else {
		text += ". " + d.Rule.When
	}
	if fix, known := fixes[r.ErrorCode]; known {
		text += " " + fix
	}
	return strings.TrimSpace(text)
}
