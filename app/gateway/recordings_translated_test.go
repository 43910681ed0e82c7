package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/provider/recordings"
)

const translatedHead = `# Recorded answers that are not the same to clients of another style. Each line has
#   the file | the style of the client | what differs from the answer in its own style
# The same is: all texts, thoughts, refusals and calls of tools, the usage, the price, and the row of the settlement table. Recordings
# that are not here are the same in all four styles.
`

// TestRecordingsAreTheSameInOtherStyles translates each recorded answer for clients of the three other styles.
func TestRecordingsAreTheSameInOtherStyles(t *testing.T) {
	t.Parallel()
	all := allRecordings(t)
	rows := eachRecording(t, all, func(b *replayBench, r *recordings.Recording) (rows []string) {
		style := llm.Style(r.Wire)
		own := b.replay(r, style, b.plainRequest(style, r))
		for _, other := range llm.Styles() {
			if other == style {
				continue
			}
			got := b.replay(r, other, b.plainRequest(other, r))
			if differs := b.differences(r, own, got, other); len(differs) > 0 {
				rows = append(rows, fmt.Sprintf("%s | %s | %s", r.File, other, strings.Join(differs, "; ")))
			}
		}
		return rows
	})
	compareTable(t, "translated.txt", translatedHead, rows)
	t.Logf("%d translations, %d of them differ", 3*len(all), len(rows))
}

// differences lists what a client of another style has otherwise than one of the style of the answer.
func (b *replayBench) differences(r *recordings.Recording, own, got replayed, other llm.Style) (list []string) {
	b.t.Helper()
	if got.Err == nil != (own.Err == nil) || got.Reason != own.Reason || got.Fault != own.Fault || got.Err != nil && got.Err.Code != own.Err.Code {
		list = append(list, fmt.Sprintf("ends with %s, not %s", ending(got), ending(own)))
	}
	if usage, want := usageText(got.Report), usageText(own.Report); usage != want || got.Cost != own.Cost {
		list = append(list, fmt.Sprintf("usage %s at %s, not %s at %s", usage, got.Cost, want, own.Cost))
	}
	if got.Err != nil || own.Err != nil {
		return list
	}
	want, has := readAnswer(llm.Style(r.Wire), own.Streamed, own.body), readAnswer(other, got.Streamed, got.body)
	for _, kind := range []string{"text", "thought", "refusal"} {
		if has.texts(kind) != want.texts(kind) {
			list = append(list, fmt.Sprintf("%d bytes of %s, not %d", len(has.texts(kind)), kind, len(want.texts(kind))))
		}
	}
	if !slices.Equal(has.calls(), want.calls()) {
		list = append(list, fmt.Sprintf("calls %q, not %q", has.calls(), want.calls()))
	}
	h := heard{}
	if t, isTest := b.t.(*testing.T); isTest && !got.Streamed {
		h = body(t, other, got.body)
	} else if isTest {
		h = listen(t, other, got.body)
	}
	if h.told && h.cost != got.Cost {
		list = append(list, fmt.Sprintf("the client reads a cost of %s, not %s", h.cost, got.Cost))
	}
	return list
}
