package translate

import (
	"slices"
	"strconv"
	"strings"

	"umg/app/llm"
)

// arrangeHistory changes the history to the form that providers of a style accept. The styles differ in what they allow, and their
// providers refuse the whole call for an id that is used twice or a result in the wrong place.
func (t *translation) arrangeHistory(upstream llm.Style) {
	r := t.request
	r.Turns = copyTurns(r.Turns)
	makeIDsUnique(r.Turns)
	// In the responses style, results may be anywhere.
	if upstream != llm.Responses {
		r.Turns = moveLateResults(r.Turns)
	}
	if upstream == llm.Chat {
		// Many providers of the chat style accept no second system message, so the leading ones become one.
		n := 0
		for n < len(r.Turns) && r.Turns[n].Role == llm.System && r.Turns[n].Name == "" {
			n++
		}
		if n > 1 {
			var parts []llm.Part
			for i := range n {
				parts = append(parts, r.Turns[i].Parts...)
			}
			r.Turns = r.Turns[n-1:]
			r.Turns[0].Parts = parts
		}
		for i := range r.Turns {
			joinTurn(&r.Turns[i])
		}
	}
}

// copyTurns returns a copy of a history whose parts may be changed.
func copyTurns(turns []llm.Turn) []llm.Turn {
	turns = slices.Clone(turns)
	n := 0
	for i := range turns {
		n += len(turns[i].Parts)
	}
	all := make([]llm.Part, 0, n)
	for i := range turns {
		from := len(all)
		all = append(all, turns[i].Parts...)
		turns[i].Parts = all[from:len(all):len(all)]
	}
	return turns
}

// makeIDsUnique gives a call another id when an earlier call has it already, as with providers that restart their numbering in each
// answer. Results belong to the calls of their id in order.
func makeIDsUnique(turns []llm.Turn) {
	ids := map[string]*sameID{}
	taken := map[string]bool{}
	for i := range turns {
		for j := range turns[i].Parts {
			switch p := &turns[i].Parts[j]; p.Kind {
			case llm.Call:
				same := ids[p.Call.ID]
				if same == nil {
					same = &sameID{}
					ids[p.Call.ID] = same
				}
				p.Call.ID = same.next(p.Call.ID, taken)
			case llm.Result:
				if same := ids[p.Result.CallID]; same != nil {
					p.Result.CallID = same.nextAnswered()
				}
			}
		}
	}
}

// sameID holds the calls that had one id.
type sameID struct {
	// count is the number of calls whose id was already used.
	count int
	// open are the ids of the calls without a result.
	open []string
	// last is the id of the call with the latest result.
	last string
}

func (s *sameID) next(id string, taken map[string]bool) string {
	fresh := id
	for taken[fresh] {
		s.count++
		fresh = id + "_" + strconv.Itoa(s.count+1)
	}
	taken[fresh] = true
	s.open = append(s.open, fresh)
	return fresh
}

func (s *sameID) nextAnswered() string {
	if len(s.open) > 0 {
		s.last, s.open = s.open[0], s.open[1:]
	}
	return s.last
}

// partPosition is the position of a part in a history.
type partPosition struct{ turn, part int }

// moveLateResults moves the results of calls directly after their calls. It leaves a history alone that would then end in another role,
// because only the provider can decide what that means.
func moveLateResults(turns []llm.Turn) []llm.Turn {
	late := lateResults(turns)
	if len(late) == 0 {
		return turns
	}
	out := make([]llm.Turn, 0, len(turns)+len(late))
	moved := map[partPosition]bool{}
	var carried []llm.Part
	for i, turn := range turns {
		if len(carried) > 0 && turn.Role != llm.User {
			out = append(out, llm.Turn{Parts: carried})
			carried = nil
		}
		kept := carried
		carried = nil
		for j, p := range turn.Parts {
			if moved[partPosition{i, j}] {
				continue
			}
			kept = append(kept, p)
			if at, ok := late[p.Call.ID]; ok && p.Kind == llm.Call && at.turn > i {
				moved[at] = true
				carried = append(carried, turns[at.turn].Parts[at.part])
			}
		}
		if turn.Parts = kept; len(kept) > 0 {
			out = append(out, turn)
		}
	}
	if lastSpeaker(out) != lastSpeaker(turns) {
		return turns
	}
	return out
}

// lastSpeaker is the role of the last turn, without turns of the system.
func lastSpeaker(turns []llm.Turn) llm.Role {
	for _, turn := range slices.Backward(turns) {
		if turn.Role != llm.System {
			return turn.Role
		}
	}
	return llm.System
}

// lateResults are the results that are not in the turn after their calls, by the id of the call.
func lateResults(turns []llm.Turn) map[string]partPosition {
	// asked is the turn of each call, by the id of the call.
	asked := map[string]int{}
	late := map[string]partPosition{}
	for i := range turns {
		for j := range turns[i].Parts {
			switch p := &turns[i].Parts[j]; p.Kind {
			case llm.Call:
				asked[p.Call.ID] = i
			case llm.Result:
				from, ok := asked[p.Result.CallID]
				if _, known := late[p.Result.CallID]; ok && !known && from+1 < i {
					late[p.Result.CallID] = partPosition{i, j}
				}
				// A second result of one call is not moved.
				delete(asked, p.Result.CallID)
			}
		}
	}
	return late
}

// paragraph separates texts that are joined.
const paragraph = "\n\n"

// joinTurn joins neighbouring texts, so that a message of text only is a plain string. Many providers of the chat style accept lists of
// parts only with images, or never.
func joinTurn(turn *llm.Turn) {
	switch turn.Role {
	case llm.User:
		llm.SortFirst(turn.Parts, llm.Result)
		for i := range turn.Parts {
			if r := &turn.Parts[i].Result; turn.Parts[i].Kind == llm.Result {
				r.Parts = joinTexts(slices.Clone(r.Parts), "\n")
			}
		}
	// The texts of an assistant stay apart from its calls and from the reasoning that signs the calls.
	case llm.Assistant:
		llm.SortFirst(turn.Parts, llm.Text)
	}
	turn.Parts = joinTexts(turn.Parts, paragraph)
}

// joinTexts joins each text with the texts directly after it.
func joinTexts(parts []llm.Part, gap string) []llm.Part {
	out := parts[:0]
	for i := 0; i < len(parts); {
		end := i
		var words []string
		for end < len(parts) && parts[end].Kind == llm.Text {
			if parts[end].Text != "" {
				words = append(words, parts[end].Text)
			}
			end++
		}
		if end-i < 2 {
			out = append(out, parts[i])
			i++
			continue
		}
		out = append(out, llm.Part{Kind: llm.Text, Text: strings.Join(words, gap)})
		i = end
	}
	return out
}
