package playground

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/prompt"
	playpages "umg/views/playground"
)

const (
	callsMax   = 128 // One turn has at most this many calls.
	noCall     = "call_unknown"
	roleAnswer = "assistant"
	roleTool   = "tool"
)

// readTurns reads the conversation. Each list of fields has one value for every turn.
func readTurns(form url.Values) (turns []playpages.Turn, refuse error) {
	at := func(name string, i int) string {
		if values := form[name]; i < len(values) {
			return PlainLines(values[i])
		}
		return ""
	}
	for i, role := range form["turn_role"][:min(len(form["turn_role"]), turnsMax)] {
		t := playpages.Turn{Answer: role == roleAnswer, Text: at("turn_text", i), Note: at("turn_note", i)}
		switch role {
		case roleAnswer:
			var err error
			if t.Calls, err = readCalls(i, at("turn_calls", i)); err != nil && refuse == nil {
				refuse = err
			}
		case roleTool:
			t.CallID = at("turn_call", i)
			if open := unanswered(turns); t.CallID == "" && len(open) > 0 {
				t.CallID = open[0].ID
			} else if t.CallID == "" {
				t.CallID = noCall
			}
		default:
			t.Image = at("turn_image", i)
		}
		turns = append(turns, t)
	}
	return turns, refuse
}

// readCalls reads the calls of tools that an answer made.
func readCalls(turn int, text string) ([]playpages.ToolCall, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var calls []playpages.ToolCall
	if err := json.Unmarshal([]byte(text), &calls); err != nil || len(calls) > callsMax {
		return nil, turnError(turn, "The calls of this turn are no list of {\"id\", \"name\", \"arguments\"} with at most %d of them.", callsMax)
	}
	for i := range calls {
		if calls[i].Name == "" {
			return nil, turnError(turn, "Call %d of this turn has no name.", i+1)
		}
		if calls[i].ID == "" {
			calls[i].ID = "call_" + strconv.Itoa(turn) + "_" + strconv.Itoa(i)
		}
	}
	return calls, nil
}

// roleOf is the role of a turn in a saved prompt and in a run.
func roleOf(t playpages.Turn) string {
	switch {
	case t.Answer:
		return prompt.Assistant
	case t.CallID != "":
		return prompt.Tool
	}
	return prompt.User
}

// turnError is an error in a turn of the conversation.
func turnError(number int, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At("turns[" + strconv.Itoa(number) + "]")
}

// unanswered returns the calls of the last answer that have no result yet.
func unanswered(turns []playpages.Turn) []playpages.ToolCall {
	at := len(turns)
	for at > 0 && turns[at-1].CallID != "" {
		at--
	}
	if at == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(turns[at-1].Calls), func(c playpages.ToolCall) bool {
		return slices.ContainsFunc(turns[at:], func(t playpages.Turn) bool { return t.CallID == c.ID })
	})
}

// addResults adds an empty turn for each call that has no result, to be filled in.
func (s *pane) addResults() {
	f := &s.view.Form
	for _, call := range unanswered(f.Turns) {
		f.Turns = append(f.Turns, playpages.Turn{CallID: call.ID})
	}
}

// checkTurns rejects a conversation in which a call is not followed by its result, or a result has no call. No style can express that.
func checkTurns(turns []playpages.Turn) error {
	for i, t := range turns {
		switch {
		case t.CallID != "":
			if !slices.ContainsFunc(unanswered(turns[:i]), func(c playpages.ToolCall) bool { return c.ID == t.CallID }) {
				return turnError(i, "This result answers no call of the answer before it. Delete it, or move it behind its call.")
			}
		case i > 0:
			if open := unanswered(turns[:i]); len(open) > 0 {
				return missingResult(turns, i, open[0])
			}
		}
	}
	if open := unanswered(turns); len(open) > 0 {
		return missingResult(turns, len(turns), open[0])
	}
	return nil
}

// missingResult returns the error of a call without a result, at the turn before turns[end] that made the call.
func missingResult(turns []playpages.Turn, end int, call playpages.ToolCall) error {
	for end--; end > 0 && turns[end].CallID != ""; end-- {
	}
	return turnError(end, "The call of %s (%s) has no result. Add its result below the answer before you go on.", call.Name, call.ID)
}

// newTurn returns the turn with the prompt and the image of the form.
func (s *pane) newTurn() playpages.Turn {
	f := s.view.Form
	t := playpages.Turn{Text: f.Prompt, Image: f.Image}
	if t.Image == "" {
		t.Image = f.ImageURL
	}
	return t
}

func blankTurn(t playpages.Turn) bool {
	return strings.TrimSpace(t.Text) == "" && t.Image == "" && len(t.Calls) == 0 && t.CallID == ""
}

// conversation is the conversation that is sent: the turns, and the new one unless the last answer is asked for once more. Turns in
// which nothing is said are left out.
func (s *pane) conversation() []playpages.Turn {
	turns := slices.Clone(s.view.Form.Turns)
	if turn := s.newTurn(); s.action != playpages.ActionRegenerate && !blankTurn(turn) {
		turns = append(turns, turn)
	}
	return turns
}

// needsAnswer reports whether the conversation ends with a message that a model can answer.
func needsAnswer(turns []playpages.Turn) bool {
	for _, t := range slices.Backward(turns) {
		if !blankTurn(t) {
			return !t.Answer || len(t.Calls) > 0
		}
	}
	return false
}

// arrange changes the conversation as the pressed button says. It returns false for buttons that ask a model.
func (s *pane) arrange() bool {
	f := &s.view.Form
	switch s.action {
	case playpages.ActionClear:
		f.Turns, f.Prompt, f.Image, f.ImageURL = nil, "", "", ""
	case playpages.ActionAddUser, playpages.ActionAddAnswer:
		turn := s.newTurn()
		if turn.Answer = s.action == playpages.ActionAddAnswer; turn.Answer {
			turn.Image = ""
		}
		f.Turns = append(f.Turns, turn)
		f.Prompt, f.Image, f.ImageURL = "", "", ""
	case playpages.ActionAddResult:
		s.addResults()
	case playpages.ActionRegenerate:
		for n := len(f.Turns); n > 0 && f.Turns[n-1].Answer; n-- {
			f.Turns = f.Turns[:n-1]
		}
		return false
	default:
		verb, number, found := strings.Cut(s.action, "-")
		n, err := strconv.Atoi(number)
		if !found || err != nil || n < 0 || n >= len(f.Turns) {
			return found // The page is older than the conversation and is shown unchanged.
		}
		s.arrangeTurn(verb+"-", n)
	}
	return true
}

// arrangeTurn changes one turn as the pressed button says.
func (s *pane) arrangeTurn(verb string, n int) {
	f := &s.view.Form
	switch verb {
	case playpages.ActionEdit:
		s.edit(n)
	case playpages.ActionDelete:
		end := n + 1
		for f.Turns[n].Answer && end < len(f.Turns) && f.Turns[end].CallID != "" { // Results without their call are removed, too.
			end++
		}
		f.Turns = slices.Delete(f.Turns, n, end)
	case playpages.ActionUp:
		if n > 0 {
			f.Turns[n-1], f.Turns[n] = f.Turns[n], f.Turns[n-1]
		}
	case playpages.ActionDown:
		if n+1 < len(f.Turns) {
			f.Turns[n], f.Turns[n+1] = f.Turns[n+1], f.Turns[n]
		}
	case playpages.ActionBranch:
		f.Turns = f.Turns[:n+1]
	}
}

// edit moves the text of a turn into the prompt, and removes the turn and all later ones.
func (s *pane) edit(number int) {
	f := &s.view.Form
	t := f.Turns[number]
	if t.Answer || t.CallID != "" {
		return
	}
	f.Prompt, f.Image, f.ImageURL, f.Turns = t.Text, "", "", f.Turns[:number]
	if imageData.MatchString(t.Image) {
		f.Image = t.Image
	} else {
		f.ImageURL = t.Image
	}
}
