package requests

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Trail is how a call went, step by step. Door and Body come before its beginning, from which the other steps are counted.
type Trail struct {
	Door     time.Duration
	Body     time.Duration
	Checked  time.Duration
	Admitted time.Duration
	Funded   time.Duration
	Attempts []TrailAttempt
}

// TrailAttempt is one request to a provider.
type TrailAttempt struct {
	Provider string
	Status   int           // zero without an answer
	Cause    string        // empty for the attempt that answered
	Start    time.Duration // since the beginning of the call
	First    time.Duration // time until the first content; zero without any
	Took     time.Duration // time until it failed; zero for the attempt that answered
}

// known reports whether the record has a trail; those of before have none.
func (t Trail) known() bool { return t.Funded > 0 || len(t.Attempts) > 0 }

// trailBar is a piece of the picture of a step.
type trailBar struct {
	kind    string // "own", "wait", "stream" or "bad"
	at, len int
}

// trailStep is one line of the timeline.
type trailStep struct {
	title  string
	status string // status of the provider's answer
	text   string
	tone   ui.Tone
	begun  time.Duration // since the beginning of the call
	took   time.Duration // zero for a moment
	before bool          // the event was before the beginning of the call
	bars   []trailBar
}

// trailScale places moments in the picture, which begins when the call arrived.
type trailScale struct{ lead, whole time.Duration }

func (s trailScale) at(d time.Duration) int {
	return min(max(int((d+s.lead)/max(s.whole/views.BarUnits, 1)), 0), views.BarUnits-views.BarMin)
}

// bar is a piece from one moment to another, wide enough to be seen.
func (s trailScale) bar(kind string, from, to time.Duration) trailBar {
	at := s.at(from)
	return trailBar{kind: kind, at: at, len: min(max(s.at(to)-at, views.BarMin), views.BarUnits-at)}
}

// trailSteps are the steps of the call in order.
func (d Detail) trailSteps() []trailStep {
	t := d.Trail
	s := trailScale{lead: t.Door + t.Body, whole: t.Door + t.Body + d.Request.Duration}
	own := func(title, text string, from, to time.Duration) trailStep {
		return trailStep{title: title, text: text, begun: from, took: max(to-from, 0), before: to <= 0 && from < 0,
			bars: []trailBar{s.bar("own", from, to)}}
	}
	var steps []trailStep
	if t.Door > 0 {
		steps = append(steps, own("Key recognised", d.Request.KeyName, -s.lead, -t.Body))
	}
	if t.Body > 0 {
		steps = append(steps, own("Request received", "As fast as your client sent it", -t.Body, 0))
	}
	if t.Funded > 0 {
		steps = append(steps, own("Request checked", "Its fields, its price, and a route for it", 0, t.Checked),
			own("Limits checked", "", t.Checked, t.Admitted), own("Credit reserved", format.Dollars(d.Reserved), t.Admitted, t.Funded))
	}
	steps = append(steps, d.attemptSteps(s)...)
	if first := d.Request.FirstByte; first > 0 {
		steps = append(steps, trailStep{title: "First byte to you", begun: first, bars: []trailBar{s.bar("stream", first, first)}})
	}
	return append(steps, d.lastSteps(s)...)
}

// attemptSteps are the requests to providers in the order in which they were sent, and the time in which none was running.
func (d Detail) attemptSteps(s trailScale) (steps []trailStep) {
	if d.Attempts == 0 {
		steps = []trailStep{{title: "Not sent to a provider", text: "None was available", tone: ui.Danger, begun: d.Trail.Funded}}
		return append(steps, d.gapSteps(s, d.Trail.Funded, d.Request.Duration, gapUnsent)...)
	}
	tries := slices.Clone(d.Trail.Attempts)
	slices.SortStableFunc(tries, func(a, b TrailAttempt) int { return int(a.Start - b.Start) })
	covered, gap := d.Trail.Funded, gapPrepare
	for i, a := range tries {
		steps = append(steps, d.gapSteps(s, covered, a.Start, gap)...)
		step, end := d.attemptStep(s, i, tries)
		steps = append(steps, step)
		covered, gap = max(covered, end), gapBackOff
	}
	if more := int64(d.Attempts - len(tries)); more > 0 {
		steps = append(steps, trailStep{title: format.CountOf(more, "more attempt", "more attempts"),
			text: "Never sent, or beyond the attempts with times"})
		gap = gapMore
	} else {
		gap = gapEnd
	}
	return append(steps, d.gapSteps(s, covered, d.Request.Duration, gap)...)
}

// attemptStep is one of the requests to providers, and when it ended.
func (d Detail) attemptStep(s trailScale, i int, tries []TrailAttempt) (step trailStep, end time.Duration) {
	a := tries[i]
	end = a.Start + a.Took
	if a.Took == 0 {
		end = max(d.Request.Duration, a.Start)
	}
	step = trailStep{title: "Attempt " + strconv.Itoa(i+1) + ": " + a.Provider, text: a.words(tries), begun: a.Start, took: end - a.Start}
	if a.Status > 0 {
		step.status = strconv.Itoa(a.Status)
	}
	if a.failed() {
		step.tone = ui.Danger
	}
	switch {
	case a.First > 0:
		step.bars = append(step.bars, s.bar("wait", a.Start, a.Start+a.First), s.bar("stream", a.Start+a.First, end))
	case a.failed():
		step.bars = append(step.bars, s.bar("bad", a.Start, end))
	default:
		step.bars = append(step.bars, s.bar("wait", a.Start, end))
	}
	return step, end
}

// The names of time in which no step of the record and no attempt was running.
const (
	gapPrepare = "Request prepared for the provider"
	gapBackOff = "Back-off before the next attempt"
	gapMore    = "Attempts without times of their own"
	gapEnd     = "Error returned"
	gapUnsent  = "Search for a provider"
)

// gapSteps names the time from one moment to another. It is empty when none passed.
func (d Detail) gapSteps(s trailScale, from, to time.Duration, title string) []trailStep {
	if to <= from {
		return nil
	}
	if title == gapEnd && !d.failed() {
		title = "Answer completed"
	}
	return []trailStep{{title: title, begun: from, took: to - from, bars: []trailBar{s.bar("own", from, to)}}}
}

// trailTotal is the whole time of the call, from its first byte to us until its end.
func (d Detail) trailTotal() time.Duration { return d.Trail.Door + d.Trail.Body + d.Request.Duration }

// lastSteps are the end of the call and its charge.
func (d Detail) lastSteps(s trailScale) []trailStep {
	end := trailStep{title: "Ended: " + d.Request.Badge().Text, text: strings.TrimSuffix(d.finishWords(), "."), begun: d.Request.Duration}
	if tone := d.Request.Badge().Tone; tone == ui.Danger {
		end.tone = tone
	}
	end.bars = []trailBar{s.bar("own", end.begun, end.begun)}
	settled := d.settled()
	return []trailStep{end, {title: settled.title, text: strings.TrimSuffix(settled.text, ".")}}
}

// failed reports whether the attempt failed, rather than was given up here or by its caller.
func (a TrailAttempt) failed() bool {
	return a.Cause != "" && a.Cause != causeEnded && a.Cause != causeLeft
}

const (
	causeEnded = "ended"
	causeLeft  = "client_left"
)

// causeWords say why an attempt failed.
var causeWords = map[string]string{
	"connect": "No connection to the provider", "dns": "The provider was not found", "tls": "No secure connection to the provider",
	"reset": "The connection broke off", "first_byte_timeout": "No answer in time", "idle_timeout": "Its answer stopped coming",
	"total_timeout": "It took too long", "rate_limited": "The provider had too many requests", "server_error": "The provider failed",
	"refused": "The provider refused the request", "redirect": "An answer that cannot be used", "content": "An answer that cannot be used",
	"too_large": "An answer that is too large", "unavailable": "The provider couldn't take it", causeLeft: "Your client closed the connection",
}

// words say how the attempt went.
func (a TrailAttempt) words(all []TrailAttempt) string {
	other := slices.ContainsFunc(all, func(b TrailAttempt) bool { return b.Cause == "" })
	switch {
	case a.Cause == "" && a.First > 0:
		return "First content after " + format.FineDuration(a.First)
	case a.Cause == "":
		return "It answered"
	case a.Cause == causeEnded && other:
		return "Given up, as another answered first"
	case a.Cause == causeEnded:
		return "Given up"
	case causeWords[a.Cause] == "":
		return "It failed: " + a.Cause
	case a.First > 0:
		return causeWords[a.Cause] + ", after it had begun"
	}
	return causeWords[a.Cause]
}

// failedTook is how long attempts went on that failed.
func (d Detail) failedTook() (took time.Duration) {
	for _, a := range d.Trail.Attempts {
		if a.failed() {
			took += a.Took
		}
	}
	return took
}

// untimed reports whether nothing but words is known of a step, which then have its whole line.
func (s trailStep) untimed() bool { return len(s.bars) == 0 && s.took <= 0 }

// begunWords is when a step began.
func (s trailStep) begunWords() string {
	switch {
	case s.before || s.begun < 0:
		return "\u2212" + format.FineDuration(-s.begun)
	case s.begun == 0:
		return "0"
	}
	return "+" + format.FineDuration(s.begun)
}
