package emulator

import (
	"slices"
	"strings"
)

// question is a request in the form that all wires share.
type question struct {
	model     string
	stream    bool
	reasoning int64 // Reasoning is the number of tokens with which the model reasons.
	outputMax int64 // OutputMax bounds the answer; zero is no bound.
	words     int64 // Words counts the words of all messages.
	images    int
	tools     []string
	forced    string // Forced is the tool that must be called; anyTool for one of them.
	last      string // Last is the text of the last message of the user.
	answered  bool   // Answered means that the last message has the result of a tool.
	usage     bool   // Usage means that a stream must have its usage.
}

// anyTool is the choice of a tool that leaves the name open.
const anyTool = "*"

// hear adds a text to the question.
func (q *question) hear(role, text string) {
	q.words += int64(len(strings.Fields(text)))
	if role == "user" {
		q.last, q.answered = text, false
	}
}

// tool returns the tool that the answer calls; empty means none.
func (q *question) tool() string {
	if q.answered {
		return ""
	}
	for _, name := range q.tools {
		if q.forced == name || q.forced == anyTool || strings.Contains(q.last, name) {
			return name
		}
	}
	return ""
}

// answer is an answer in the form that all wires share.
type answer struct {
	thoughts, text []string // The pieces have two tokens each.
	tool           string
	arguments      string
	cut            bool // Cut means that the bound has ended the answer.
	usage          Usage
}

// These are the answers of all providers. Some pieces have characters of several bytes.
var (
	textPieces    = []string{"Olá", "! Como posso", " ajudar você", " hoje? ✓"}
	thoughtPieces = []string{"The user", " says hello"}
)

const (
	toolArguments = `{"city":"Olinda"}`
	pieceTokens   = 2
	callTokens    = 11
	promptTokens  = 12 // A prompt has these tokens beside those of its words.
	toolTokens    = 20
	imageTokens   = 85
)

// answer makes the answer to the question.
func (x *exchange) answer() *answer {
	q := &x.question
	a := &answer{}
	input := promptTokens + q.words + toolTokens*int64(len(q.tools)) + imageTokens*int64(q.images)
	a.usage.CacheRead = x.provider.Cached
	a.usage.Input = input
	if x.provider.Chat.Outside != "cache" { // The prompt has the cached tokens, which are fewer.
		a.usage.Input -= a.usage.CacheRead
	}
	if q.reasoning > 0 {
		a.thoughts = thoughtPieces
		a.usage.Reasoning = q.reasoning
	}
	output := int64(callTokens)
	if a.tool = q.tool(); a.tool != "" {
		a.arguments = toolArguments
	} else {
		a.text = textPieces
		output = pieceTokens * int64(len(textPieces))
		if q.outputMax > 0 && output > q.outputMax {
			a.cut, output = true, q.outputMax
			a.text = textPieces[:(q.outputMax+pieceTokens-1)/pieceTokens]
		}
	}
	a.usage.Output = output + q.reasoning
	return a
}

// finish chooses the word of a wire for the end of an answer.
func (a *answer) finish(stop, length, tool string) string {
	switch {
	case a.tool != "":
		return tool
	case a.cut:
		return length
	}
	return stop
}

// wholeText is the text in one piece.
func (a *answer) wholeText() string { return strings.Join(a.text, "") }

// wholeThought is the reasoning in one piece.
func (a *answer) wholeThought() string { return strings.Join(a.thoughts, "") }

// prompt counts the tokens of the whole prompt, with the part from the cache.
func (u *Usage) prompt() int64 { return u.Input + u.CacheRead }

// unknownMember is the first member of an object that is not in a list; empty means none.
func unknownMember(o object, known []string) string {
	var found []string
	for name := range o {
		if !slices.Contains(known, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
