package simulator

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestAStreamThatOnlyShowsThatItLivesSaysNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{StallMax: 200 * time.Millisecond})
		for spec, has := range map[string]bool{"chatter-after=0": false, "chatter-after=2t": true} {
			res := u.post(style, ask{text: "echo: uno due tre quattro", stream: true, simulated: spec})
			text := string(res.body)
			if !errors.Is(res.err, io.ErrUnexpectedEOF) || strings.Contains(text, "uno") != has || strings.Contains(text, "tre") {
				t.Errorf("%s: %v, %q", spec, res.err, text)
			}
			signs := 0
			for _, frame := range chatterFrames[style] {
				signs += strings.Count(text, frame)
			}
			if signs < 3 {
				t.Errorf("%s: %d signs of life: %q", spec, signs, text)
			}
		}
	})
}

func TestAnswersEndForTheReasonThatAFaultNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		for _, stream := range []bool{false, true} {
			text := string(u.post(style, ask{text: "echo: uno due", stream: stream, simulated: "finish=odd_reason"}).body)
			if !strings.Contains(text, `"odd_reason"`) || !strings.Contains(text, "uno") || !strings.Contains(text, "due") {
				t.Errorf("stream %t: %q", stream, text)
			}
		}
	})
}
