package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"umg/app/llm"
	"umg/app/provider/recordings"
)

const cutsHead = `# Cuts of recorded streams that end otherwise than a reader may expect. Each line has
#   the file | the style of the client | what is unexpected
# Expected is: a stream that is cut before its finish reason is never reported as whole, and no cut costs more than the whole answer.
`

// recordedStream is a recorded stream of events, and how the call ended to which it came whole.
type recordedStream struct {
	*recordings.Recording
	frames  [][]byte
	request []byte
	whole   replayed
	// contentAt is the number of frames with which the client has all parts.
	contentAt int
}

// recordedStreams are the recorded streams of events that are answers.
func (b *bench) recordedStreams() (all []recordedStream) {
	b.t.Helper()
	for _, r := range allRecordings(b.t) {
		s := recordedStream{Recording: &r, frames: r.Frames(), request: recordedRequest(b.t, &r)}
		if !r.IsEventStream() || r.Status != http.StatusOK || len(s.frames) < 2 {
			continue
		}
		if s.whole = b.replayRecorded(&r); s.whole.refused != "" || s.request == nil {
			s.request = b.plainRequest(llm.Style(r.Wire), &r)
		}
		whole := s.read(len(s.frames)).describe()
		for s.contentAt = len(s.frames); s.contentAt > 0 && s.read(s.contentAt-1).describe() == whole; s.contentAt-- {
		}
		all = append(all, s)
	}
	return all
}

// read reads the first frames in the style of the provider.
func (s *recordedStream) read(frames int) *answerReading {
	return readAnswer(llm.Style(s.Wire), true, string(bytes.Join(s.frames[:frames], nil)))
}

// oddities of the end of a cut call; empty when it is as expected.
func (s *recordedStream) oddity(got replayed, frames int, breaks bool, whole replayed) string {
	how := "ends"
	if breaks {
		how = "breaks"
	}
	sent := s.read(frames)
	// A provider that marks each frame as the last one can only show the end by a proper end of the stream.
	isCut := sent.finish == "" || breaks && frames < s.contentAt
	switch {
	case got.Outcome == "succeeded" && isCut:
		return fmt.Sprintf("%s after %d of %d frames: succeeded as %s", how, frames, len(s.frames), got.Reason)
	case got.Cost > whole.Cost:
		return fmt.Sprintf("%s after %d of %d frames: costs %s as %s, and the whole costs %s as %s", how, frames, len(s.frames), got.Cost, got.Reason,
			whole.Cost, whole.Reason)
	}
	return ""
}

// TestRecordingsAreCutAtEveryFrame cuts each recorded stream at every frame in its own style.
func TestRecordingsAreCutAtEveryFrame(t *testing.T) {
	t.Parallel()
	b := setupRecordings(t)
	rows, cuts, streams := []string{}, 0, b.recordedStreams()
	for i := range streams {
		s := &streams[i]
		style := llm.Style(s.Wire)
		for frames := range s.frames {
			for _, breaks := range []bool{false, true} {
				cuts++
				got := b.replay(s.Cut(frames, breaks), style, recordedModel(s.Recording), s.request)
				if odd := s.oddity(got, frames, breaks, s.whole); odd != "" {
					rows = append(rows, fmt.Sprintf("%s | %s | %s", s.File, style, odd))
				}
				client := readAnswer(style, true, got.body)
				if got.Outcome != "succeeded" && got.status == http.StatusOK && client.failed == "" {
					t.Errorf("%s: the client of a call that ended with %s after %d frames sees no error: %s", s.File, got.Reason, frames, got.body)
				}
			}
		}
	}
	compareTable(t, "cuts.txt", cutsHead, rows)
	t.Logf("%d cuts of %d streams, %d of them odd", cuts, len(streams), len(rows))
}

// TestRecordingsAreCutInOtherStyles cuts each recorded stream at three places, for clients of the three other styles.
func TestRecordingsAreCutInOtherStyles(t *testing.T) {
	t.Parallel()
	b := setupRecordings(t)
	rows, cuts, streams := []string{}, 0, b.recordedStreams()
	for i := range streams {
		s := &streams[i]
		for _, style := range llm.Styles() {
			if style == llm.Style(s.Wire) {
				continue
			}
			request := b.plainRequest(style, s.Recording)
			whole := b.replay(s.Recording, style, recordedModel(s.Recording), request)
			for place, frames := range []int{1, len(s.frames) / 2, len(s.frames) - 1} {
				cuts++
				got := b.replay(s.Cut(frames, place%2 == 0), style, recordedModel(s.Recording), request)
				if odd := s.oddity(got, frames, place%2 == 0, whole); odd != "" {
					rows = append(rows, fmt.Sprintf("%s | %s | %s", s.File, style, odd))
				}
			}
		}
	}
	compareTable(t, "cuts-translated.txt", cutsHead, rows)
	t.Logf("%d cuts of %d streams, %d of them odd", cuts, len(streams), len(rows))
}
