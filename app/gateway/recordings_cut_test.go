package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"sync"
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

// newRecordedStream makes the stream of a recording. It reports false for a recording that is no stream of events or no answer.
func (b *replayBench) newRecordedStream(r *recordings.Recording) (s recordedStream, isStream bool) {
	b.t.Helper()
	s = recordedStream{Recording: r, frames: r.Frames(), request: recordedRequest(b.t, r)}
	if !r.IsEventStream() || r.Status != http.StatusOK || len(s.frames) < 2 {
		return s, false
	}
	if s.whole = b.replayRecorded(r); s.whole.refused != "" || s.request == nil {
		s.request = b.plainRequest(llm.Style(r.Wire), r)
	}
	whole := s.read(len(s.frames)).describe()
	for s.contentAt = len(s.frames); s.contentAt > 0 && s.read(s.contentAt-1).describe() == whole; s.contentAt-- {
	}
	return s, true
}

// cutBenches is how many benches cut streams at a time. A call mostly waits for its ledger.
const cutBenches = 4

// cutAll cuts all recorded streams with a function that counts its cuts, and describes those that end otherwise than expected.
func cutAll(t *testing.T, file string, cut func(b *replayBench, s *recordedStream) (cuts int, odd []string)) {
	t.Helper()
	var (
		mu            sync.Mutex
		rows          []string
		streams, cuts int
		work          sync.WaitGroup
		queue         = make(chan *recordings.Recording)
	)
	for range cutBenches {
		b := setupRecordings(t)
		work.Go(func() {
			for r := range queue {
				if s, isStream := b.newRecordedStream(r); isStream {
					n, odd := cut(b, &s)
					mu.Lock()
					streams, cuts, rows = streams+1, cuts+n, append(rows, odd...)
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range allRecordings(t) {
		queue <- &r
	}
	close(queue)
	work.Wait()
	slices.Sort(rows)
	compareTable(t, file, cutsHead, rows)
	t.Logf("%d cuts of %d streams, %d of them odd", cuts, streams, len(rows))
	if streams < 80 {
		t.Errorf("only %d streams", streams)
	}
}

// read reads the first frames in the style of the provider.
func (s *recordedStream) read(frames int) *answerReading {
	return readAnswer(llm.Style(s.Wire), true, string(bytes.Join(s.frames[:frames], nil)))
}

// oddity describes the end of a cut call that is not as expected; it is empty otherwise.
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
	cutAll(t, "cuts.txt", func(b *replayBench, s *recordedStream) (cuts int, rows []string) {
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
		return cuts, rows
	})
}

// TestRecordingsAreCutInOtherStyles cuts each recorded stream at three places, for clients of the three other styles.
func TestRecordingsAreCutInOtherStyles(t *testing.T) {
	t.Parallel()
	cutAll(t, "cuts-translated.txt", func(b *replayBench, s *recordedStream) (cuts int, rows []string) {
		for _, style := range llm.Styles() {
			if style == llm.Style(s.Wire) {
				continue
			}
			request := b.plainRequest(style, s.Recording)
			whole := b.replay(s.Recording, style, recordedModel(s.Recording), request)
			for place, frames := range []int{1, len(s.frames) / 2, len(s.frames) - 1} {
				cuts++
				breaks := place%2 == 0
				got := b.replay(s.Cut(frames, breaks), style, recordedModel(s.Recording), request)
				if odd := s.oddity(got, frames, breaks, whole); odd != "" {
					rows = append(rows, fmt.Sprintf("%s | %s | %s", s.File, style, odd))
				}
			}
		}
		return cuts, rows
	})
}
