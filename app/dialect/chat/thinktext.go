package chat

import "strings"

// The marks around reasoning that some providers send as the beginning of the text.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkText separates reasoning between marks from the text behind it. The zero value leaves the text as it is.
type thinkText struct {
	phase thinkPhase
	// held may be a part of the next mark.
	held string
	// begun means that the reasoning has a text that is no line end.
	begun bool
}

type thinkPhase uint8

const (
	thinkOff thinkPhase = iota
	// thinkAwaited is before the first text that is no space.
	thinkAwaited
	thinkInside
	// thinkBehind is between the end of the reasoning and the text.
	thinkBehind
)

func newThinkText(isExpected bool) thinkText {
	if isExpected {
		return thinkText{phase: thinkAwaited}
	}
	return thinkText{}
}

// split returns the reasoning and the text in the next piece of the text.
func (t *thinkText) split(piece string) (reasoning, text string) {
	if t.phase == thinkOff {
		return "", piece
	}
	piece, t.held = t.held+piece, ""
	if t.phase == thinkAwaited {
		begin := strings.TrimLeft(piece, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinkOpen):
			t.phase, piece = thinkInside, begin[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, begin):
			t.held = piece
			return "", ""
		default:
			t.phase = thinkOff
			return "", piece
		}
	}
	if t.phase == thinkInside {
		if !t.begun {
			piece = strings.TrimLeft(piece, "\r\n")
			t.begun = piece != ""
		}
		before, behind, found := strings.Cut(piece, thinkClose)
		if !found {
			whole := len(piece) - partOfMark(piece)
			t.held = piece[whole:]
			return piece[:whole], ""
		}
		t.phase, reasoning, piece = thinkBehind, before, behind
	}
	if text = strings.TrimLeft(piece, "\r\n"); text != "" {
		t.phase = thinkOff
	}
	return reasoning, text
}

// rest returns what was held when no more text comes.
func (t *thinkText) rest() (reasoning, text string) {
	held := t.held
	t.held = ""
	if t.phase == thinkInside {
		return held, ""
	}
	t.phase = thinkOff
	return "", held
}

// partOfMark returns the length of the longest end of a text that may begin the closing mark.
func partOfMark(text string) int {
	for n := min(len(thinkClose)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, thinkClose[:n]) {
			return n
		}
	}
	return 0
}
