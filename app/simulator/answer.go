package simulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// answerTokensMax bounds what "count to" and "say" produce, all choices together.
	answerTokensMax = 1_000_000
	// endlessTokensMax bounds a stream that never ends by itself.
	endlessTokensMax = 10_000_000
	// endlessBodyTokens is what an answer that ignores every limit has when it is not streamed.
	endlessBodyTokens = 20_000
	// quoteRunesMax is how much of a prompt an answer repeats.
	quoteRunesMax = 80
)

const (
	// cachedMark begins a system text that counts as read from the prompt cache.
	cachedMark = "cached:"
	// cachingMark begins a system text that counts as written to the prompt cache.
	cachingMark = "caching:"
)

// ending is why an answer ends. Each style has its own word for it.
type ending uint8

const (
	endNatural ending = iota
	endStop           // A stop sequence was met.
	endLength         // The output limit was met.
	endCalls          // The caller has to run tools.
	endFilter         // The model refuses.
)

// answer is what the simulator says, before a style gives it its form.
type answer struct {
	reasoning string
	text      string
	calls     []call
	end       ending
	stop      string // Stop is the stop sequence that was met.
	word      string // Word replaces the word of the style for end; empty keeps it.
	blocked   bool   // Blocked means that the prompt itself was refused.
	endless   bool
	usage     usage
}

type call struct{ name, arguments string }

// usage counts tokens. The cached ones are parts of input, the reasoning ones a part of output.
type usage struct{ input, cacheRead, cacheWrite, output, reasoning int64 }

// textPieces are the tokens of the text, over and over again when the answer is endless.
func (a *answer) textPieces() iter.Seq[string] {
	if !a.endless || a.text == "" {
		return pieces(a.text)
	}
	return func(yield func(string) bool) {
		for n := 0; n < endlessTokensMax; {
			for piece := range pieces(a.text + " ") {
				if !yield(piece) {
					return
				}
				n++
			}
		}
	}
}

// answerTo derives the answer from the prompt alone, so that a test knows what comes and the body and the stream of one prompt agree.
func answerTo(p *prompt, f *fault) *answer {
	a := &answer{}
	// The caller asks for reasoning, or does not forbid it and the name of the model promises it.
	if p.thinking == thinkingOn || p.thinking == thinkingByModel && strings.Contains(p.model, "reason") {
		a.reasoning = fmt.Sprintf("The user wants an answer to %s. A short and direct reply serves best.", quote(p.asked))
	}
	a.compose(p)
	if p.begun.text != "" && f.prefill == "" {
		a.text = strings.TrimPrefix(a.text, p.begun.text) // The assistant has already said the beginning.
	}
	a.cutAtStop(p.stops)
	limit := p.limit
	if f.ignoreMax || f.endless {
		limit = unlimited
	}
	if most := answerTokensMax / p.choices; p.choices > 1 && (limit == unlimited || limit > most) {
		limit = most
	}
	a.endless = f.endless
	if n := countTokens(a.text); f.endless && !p.stream && n > 0 {
		a.text = strings.Repeat(a.text+" ", int(endlessBodyTokens/n)+1)
	}
	a.cutAtLimit(limit)
	a.count(p, f)
	return a
}

// compose decides what to say. The order matters: results of tools first, then the commands that tests use, then
// tools, formats and at last conversation.
func (a *answer) compose(p *prompt) {
	if text, end, ok := command(p.asked); ok && len(p.results) == 0 {
		a.text, a.end = text, end
		a.blocked = end == endFilter && text == ""
		return
	}
	if len(p.results) > 0 && p.choice.mode != "required" {
		a.text = "According to the tool: " + strings.Join(p.results, "; ") + "."
		return
	}
	if calls := scripted(p.asked); len(calls) > 0 && len(p.tools) > 0 {
		a.calls, a.end = calls, endCalls
		return
	}
	if calls := p.callsFor(); len(calls) > 0 {
		a.calls, a.end = calls, endCalls
		if strings.Contains(p.asked, "narrate") {
			a.text = "Let me look that up."
		}
		return
	}
	switch p.format {
	case "schema":
		a.text = instance(p.schema, hintsOf(p.asked))
	case "object":
		var b buffer
		b.raw(`{"answer":"a simulated reply","prompt":`).str(shorten(opening(p.asked), quoteRunesMax)).raw("}")
		a.text = string(b.b)
	default:
		a.text = seen(p.media) + converse(p)
	}
}

// openingBytesMax is how much of a long text decides what the answer to it says.
const openingBytesMax = 64 << 10

// opening is the beginning of a text. A provider reads a prompt of many megabytes in no more time than others, so the simulator does not
// look for words in all of it.
func opening(text string) string {
	if len(text) <= openingBytesMax {
		return text
	}
	return strings.ToValidUTF8(text[:openingBytesMax], "")
}

// command recognises the prompts that tests use because they determine the answer to the letter.
func command(asked string) (text string, end ending, ok bool) {
	word, rest, found := strings.Cut(asked, ":")
	if found {
		switch strings.ToLower(word) {
		case "echo":
			return strings.TrimPrefix(rest, " "), endNatural, true
		case "refuse":
			return "I cannot help with that.", endFilter, true
		case "block":
			return "", endFilter, true
		}
	}
	fields := strings.Fields(opening(asked))
	if len(fields) != 3 {
		return "", endNatural, false
	}
	switch first, last := strings.ToLower(fields[0]), fields[2]; {
	case first == "count" && fields[1] == "to":
		if n, err := strconv.Atoi(last); err == nil && n > 0 && n <= answerTokensMax {
			return counting(n), endNatural, true
		}
	case first == "say" && (last == "words" || last == "word"):
		if n, err := strconv.Atoi(fields[1]); err == nil && n > 0 && n <= answerTokensMax {
			return saying(n), endNatural, true
		}
	}
	return "", endNatural, false
}

// scripted are the calls that the prompt spells out, one a line, as "call: NAME ARGUMENTS". Nothing of the arguments
// is read or changed, so that a test knows every byte of them.
func scripted(asked string) []call {
	var calls []call
	for line := range strings.Lines(asked) {
		rest, ok := strings.CutPrefix(line, "call: ")
		if !ok {
			continue
		}
		name, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if strings.HasPrefix(arguments, "{") && json.Valid([]byte(arguments)) {
			calls = append(calls, call{name, arguments})
		}
	}
	return calls
}

// counting is "1 2 3 … n", one token each.
func counting(n int) string {
	b := make([]byte, 0, n*3)
	for i := 1; i <= n; i++ {
		if i > 1 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(i), 10)
	}
	return string(b)
}

// saying is n words, one token each.
func saying(n int) string {
	words := strings.Fields("the quick brown fox jumps over a lazy dog while seven wise owls watch from an old tree")
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i%len(words)])
	}
	return b.String()
}

// seen acknowledges attachments: "I see 1 image (image/png, 120 bytes). ".
func seen(all []media) string {
	var b strings.Builder
	for _, kind := range []string{"image", "audio", "file"} {
		var these []string
		for _, m := range all {
			if m.kind == kind {
				these = append(these, m.String())
			}
		}
		if len(these) == 0 {
			continue
		}
		noun := kind
		if len(these) > 1 && kind != "audio" {
			noun += "s"
		}
		fmt.Fprintf(&b, "I see %d %s (%s). ", len(these), noun, strings.Join(these, "; "))
	}
	return b.String()
}

// callsFor are the tool calls that the prompt asks for: one, or two when the user says "both" or "parallel".
func (p *prompt) callsFor() []call {
	if len(p.tools) == 0 || p.choice.mode == "none" {
		return nil
	}
	chosen := -1
	for i, t := range p.tools {
		if t.name == p.choice.name || chosen < 0 && p.choice.name == "" && mentions(p.asked, t.name) {
			chosen = i
		}
	}
	lower := strings.ToLower(opening(p.asked))
	if chosen < 0 && p.choice.mode == "auto" && !strings.Contains(lower, "call") && !strings.Contains(lower, "tool") {
		return nil
	}
	chosen = max(chosen, 0)
	hints := hintsOf(p.asked)
	calls := []call{p.tools[chosen].callWith(hints)}
	if p.parallel && (strings.Contains(lower, "both") || strings.Contains(lower, "parallel")) {
		second := p.tools[chosen]
		if p.choice.name == "" {
			second = p.tools[(chosen+1)%len(p.tools)]
		}
		calls = append(calls, second.callWith(hints.next()))
	}
	return calls
}

// mentions reports whether a name is in a text as a word of its own.
func mentions(text, name string) bool {
	words := strings.FieldsFunc(opening(text), func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.Contains(words, name)
}

// callWith makes up the arguments, which are always an object.
func (t tool) callWith(h hints) call {
	arguments := instance(t.schema, h)
	if !strings.HasPrefix(arguments, "{") {
		arguments = "{}"
	}
	return call{t.name, arguments}
}

// topics are the replies to what people try first in a playground. The first topic of which the prompt has a word
// is taken; %s is the prompt, quoted.
var topics = []struct {
	words []string
	reply string
}{
	{[]string{"hello", "hi", "hey"}, "Hello! I am a simulated model, here to show how answers arrive. " +
		"You wrote %s, and here it is answered. What shall we try next?"},
	{[]string{"code", "function", "program", "script"}, "Here is a small start for %s:\n\n```go\nfunc main() {\n\t" +
		"fmt.Println(\"a simulated answer\")\n}\n```\n\nIt compiles once you import `fmt`; the rest is yours."},
	{[]string{"list", "ideas", "steps", "plan"}, "For %s I would go step by step:\n\n1. **Say** what a good result looks like.\n" +
		"2. **Try** the smallest version of it.\n3. **Compare** the two, and keep what worked."},
	{[]string{"why", "how", "explain", "what"}, "On %s: the short answer is that it depends on what you want to see. " +
		"This model is simulated, so it looks nothing up, but tokens, usage and timing are exactly as a real one reports them."},
	{[]string{"poem", "haiku", "verse", "story"}, "About %s:\n\nA prompt goes out at dawn,\n" +
		"words come back one by one,\nthe counter adds them up."},
}

// converse is the reply of last resort. It mentions what the user said.
func converse(p *prompt) string {
	if strings.TrimSpace(p.asked) == "" {
		if len(p.media) > 0 {
			return "What would you like to know about it?"
		}
		return "Hello! What would you like to talk about?"
	}
	said := quote(p.asked)
	words := strings.FieldsFunc(strings.ToLower(opening(p.asked)), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, topic := range topics {
		for _, word := range topic.words {
			if slices.Contains(words, word) {
				return fmt.Sprintf(topic.reply, said)
			}
		}
	}
	openings := []string{
		"You said %s, so here it goes.", "Thank you for %s, which I read twice.", "I read %s with interest.", "Let us look at %s together.",
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.asked))
	return fmt.Sprintf(openings[h.Sum32()%uint32(len(openings))], said) +
		" I am a simulated model, so this reply is made from your own words, the same every time."
}

func quote(s string) string {
	return "“" + shorten(strings.Join(strings.Fields(opening(s)), " "), quoteRunesMax) + "”"
}

// shorten cuts s to at most runes runes and shows that it did.
func shorten(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes-1]) + "…"
}

// cutAtStop ends the text before the earliest stop sequence.
func (a *answer) cutAtStop(stops []string) {
	at := -1
	for _, stop := range stops {
		if stop == "" {
			continue
		}
		if i := strings.Index(a.text, stop); i >= 0 && (at < 0 || i < at) {
			at, a.stop = i, stop
		}
	}
	if at >= 0 {
		a.text, a.calls, a.end = a.text[:at], nil, endStop
	}
}

// cutAtLimit ends the answer when the output limit is met. A tool call that does not fit whole is left out.
func (a *answer) cutAtLimit(limit int64) {
	if limit == unlimited {
		return
	}
	reasoning, used := firstTokens(a.reasoning, limit)
	text, more := firstTokens(a.text, limit-used)
	used += more
	if len(reasoning) < len(a.reasoning) || len(text) < len(a.text) {
		a.reasoning, a.text, a.calls, a.end, a.stop = reasoning, text, nil, endLength, ""
		return
	}
	for i, c := range a.calls {
		used += c.tokens()
		if used > limit {
			a.calls, a.end = a.calls[:i], endLength
			return
		}
	}
}

// tokens is what a call costs: one for its name, and those of its arguments.
func (c call) tokens() int64 { return 1 + countTokens(c.arguments) }

// count fills the usage. Directives for cached tokens win over a marked system text.
func (a *answer) count(p *prompt, f *fault) {
	u := usage{input: p.input, reasoning: countTokens(a.reasoning)}
	u.output = u.reasoning + countTokens(a.text)
	for _, c := range a.calls {
		u.output += c.tokens()
	}
	u.output *= p.choices
	u.reasoning *= p.choices
	switch p.cachedPrefix {
	case cachedMark:
		u.cacheRead = p.system
	case cachingMark:
		u.cacheWrite = p.system
	}
	if f.cached > 0 {
		u.cacheRead = min(f.cached, u.input)
	}
	if f.cacheWrite > 0 {
		u.cacheWrite = f.cacheWrite
	}
	u.cacheWrite = min(u.cacheWrite, u.input-u.cacheRead)
	a.usage = u
}
