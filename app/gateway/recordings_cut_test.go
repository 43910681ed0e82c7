package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
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

// cutAll cuts all recorded streams with a function that counts its cuts, and describes those that end otherwise than expected.
func cutAll(t *testing.T, file string, cut func(b *replayBench, s *recordedStream) (cuts int, odd []string)) {
	t.Helper()
	var streams, cuts atomic.Int64
	rows := eachRecording(t, allRecordings(t), func(b *replayBench, r *recordings.Recording) []string {
		s, isStream := b.newRecordedStream(r)
		if !isStream {
			return nil
		}
		n, odd := cut(b, &s)
		streams.Add(1)
		cuts.Add(int64(n))
		return odd
	})
	slices.Sort(rows)
	compareTable(t, file, cutsHead, rows)
	t.Logf("%d cuts of %d streams, %d of them odd", cuts.Load(), streams.Load(), len(rows))
	if streams.Load() < 80 {
		t.Errorf("only %d streams", streams.Load())
	}
}

// read reads the first frames in the style of the provider.
func (s *recordedStream) read(frames int) *answerReading {
	return readAnswer(llm.Style(s.Wire), true, string(bytes.Join(s.frames[:frames], nil)))
}

// cutOddities collects how the cuts of one stream end otherwise than expected, for clients of one style.
type cutOddities struct {
	stream *recordedStream
	style  llm.Style
	whole  replayed
	cuts   int
	// wholes are the cuts that were reported as whole, and dear are those that cost more than the whole answer.
	wholes, dear int
	wholeAt      int // WholeAt counts the frames of the first of these cuts.
	dearest      replayed
}

// add notes the end of a call that was cut after a number of frames.
func (o *cutOddities) add(got replayed, frames int, breaks bool) {
	o.cuts++
	// A provider that marks each frame as the last one can only show the end by a proper end of the stream.
	isCut := o.stream.read(frames).finish == "" || breaks && frames < o.stream.contentAt
	if got.Outcome == "succeeded" && isCut {
		if o.wholes++; o.wholes == 1 {
			o.wholeAt = frames
		}
	}
	if got.Cost > o.whole.Cost {
		if o.dear++; o.dear == 1 || got.Cost > o.dearest.Cost {
			o.dearest = got
		}
	}
}

// rows describes the oddities.
func (o *cutOddities) rows() (rows []string) {
	head := fmt.Sprintf("%s | %s | of %d cuts ", o.stream.File, o.style, o.cuts)
	if o.wholes > 0 {
		rows = append(rows, fmt.Sprintf("%s%d succeed, the first after %d of %d frames", head, o.wholes, o.wholeAt, len(o.stream.frames)))
	}
	if o.dear > 0 {
		rows = append(rows, fmt.Sprintf("%s%d cost more than the whole, at most %s (%s) instead of %s (%s)", head, o.dear, o.dearest.Cost, o.dearest.Reason,
			o.whole.Cost, o.whole.Reason))
	}
	return rows
}

// breaksEvery is how many frames lie between two places at which a connection also breaks. It breaks at each of the first and last frames.
const breaksEvery = 4

// TestRecordingsAreCutAtEveryFrame cuts each recorded stream at every frame in its own style.
func TestRecordingsAreCutAtEveryFrame(t *testing.T) {
	t.Parallel()
	cutAll(t, "cuts.txt", func(b *replayBench, s *recordedStream) (cuts int, rows []string) {
		odd := cutOddities{stream: s, style: llm.Style(s.Wire), whole: s.whole}
		for frames := range s.frames {
			for _, breaks := range []bool{false, true} {
				if breaks && frames > breaksEvery && frames%breaksEvery != 0 && frames < s.contentAt-1 {
					continue
				}
				got := b.replay(s.Cut(frames, breaks), odd.style, s.request)
				odd.add(got, frames, breaks)
				if got.Outcome != "succeeded" && got.status == http.StatusOK && readAnswer(odd.style, true, got.body).failed == "" {
					t.Errorf("%s: the client of a call that ended with %s after %d frames sees no error: %s", s.File, got.Reason, frames, got.body)
				}
			}
		}
		return odd.cuts, odd.rows()
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
			odd := cutOddities{stream: s, style: style, whole: b.replay(s.Recording, style, request)}
			for place, frames := range []int{1, len(s.frames) / 2, len(s.frames) - 1} {
				breaks := place%2 == 0
				odd.add(b.replay(s.Cut(frames, breaks), style, request), frames, breaks)
			}
			cuts, rows = cuts+odd.cuts, append(rows, odd.rows()...)
		}
		return cuts, rows
	})
}
