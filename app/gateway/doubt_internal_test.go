package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
)

// TestAnEndThatIsSaidInEveryFrameIsNoneBeforeTheConnectionEnds reads streams of an upstream that says in each frame why the
// answer has ended, and then says no more.
func TestAnEndThatIsSaidInEveryFrameIsNoneBeforeTheConnectionEnds(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}, Silence: silenceStandard}}
	const said = `data: {"candidates":[{"content":{"parts":[{"text":"word"}]},"index":0,"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}` + "\n\n"
	upstream, _ := dialect.Of(llm.Native)
	for _, style := range []llm.Style{llm.Native, llm.Chat} {
		for _, c := range []struct {
			frames int
			after  error
			whole  bool
		}{{1, provider.ErrIdle, true}, {3, provider.ErrIdle, false}, {3, io.ErrUnexpectedEOF, false}, {3, io.EOF, true}} {
			p := relayed(t, g, bytes.NewReader(nil), &discardSink{})
			a := p.attempt
			a.read(io.MultiReader(strings.NewReader(strings.Repeat(said, c.frames)), iotest.ErrReader(c.after)))
			client, _ := dialect.Of(style)
			a.exchange = translate.Passthrough(client, nil, &p.head)
			if style != llm.Native {
				exchange, err := translate.New(client, upstream, &llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}, "p", 9)
				if err != nil {
					t.Fatal(err)
				}
				a.exchange = exchange
			}
			a.stream = a.exchange.NewStream(p.options)
			var err error
			for n := 0; err == nil && !a.complete && n < 10; n++ {
				err = a.step()
			}
			if a.complete != c.whole || !c.whole && !errors.Is(err, c.after) {
				t.Errorf("%s, %d frames and then %v: whole is %t, %v", style, c.frames, c.after, a.complete, err)
			}
			p.close()
		}
	}
}
