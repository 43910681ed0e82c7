package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
)

// Styles are the styles that upstreams speak.
func Styles() []string { return []string{"chat", "messages", "responses", "native"} }

// spoken has what breaks on a careless way: quotes, backslashes, markup, and characters of two, three and four bytes.
const spoken = `Grüße, "quoted" \back\slash <b>&amp;</b> 漢字 🌍👩‍🚀 end`

// call is either way to ask.
type call func(ctx context.Context, q Question) (Answer, error)

// answers are the cases in which everything goes well, for each style of upstream.
func (r *run) answers() {
	ways := []struct {
		name string
		call call
	}{
		{"json", r.client.Ask},
		{"stream", func(ctx context.Context, q Question) (Answer, error) { return r.client.Stream(ctx, q, func() {}) }},
	}
	for _, upstream := range Styles() {
		model := r.Models[upstream]
		for _, way := range ways {
			name := upstream + "/" + way.name + "/"
			r.check(name+"text", func(ctx context.Context) error { return r.text(ctx, model, way.call) })
			r.check(name+"length", func(ctx context.Context) error { return r.length(ctx, model, way.call) })
			r.check(name+"filter", func(ctx context.Context) error { return r.filter(ctx, upstream, way.call) })
			r.check(name+"image", func(ctx context.Context) error { return r.image(ctx, model, way.call) })
			r.check(name+"tool loop", func(ctx context.Context) error { return r.toolLoop(ctx, model, way.call) })
			r.check(name+"parallel tool loop", func(ctx context.Context) error { return r.parallelToolLoop(ctx, model, way.call) })
			r.check(name+"thoughtful tool loop", func(ctx context.Context) error { return r.thoughtfulToolLoop(ctx, model, way.call) })
		}
		r.check(upstream+"/stream/pieces", func(ctx context.Context) error { return r.pieces(ctx, model) })
		if r.kind.Counts {
			r.check(upstream+"/count", func(ctx context.Context) error { return r.count(ctx, model) })
		}
	}
}

func (r *run) text(ctx context.Context, model string, ask call) error {
	a, err := ask(ctx, Question{Model: model, Prompt: "echo: " + spoken})
	if err != nil {
		return err
	}
	return errors.Join(r.sane(a, model, FinishNatural), same("the text", a.Text, spoken))
}

func (r *run) pieces(ctx context.Context, model string) error {
	const last = 40
	var want strings.Builder
	for i := range last {
		fmt.Fprintf(&want, "%d ", i+1)
	}
	a, err := r.client.Stream(ctx, Question{Model: model, Prompt: fmt.Sprintf("count to %d", last)}, func() {})
	if err != nil {
		return err
	}
	if a.Pieces < last/2 {
		err = fmt.Errorf("%d numbers came in %d pieces", last, a.Pieces)
	}
	if a.Output != last {
		err = errors.Join(err, fmt.Errorf("%d tokens were counted as %d", last, a.Output))
	}
	return errors.Join(err, r.sane(a, model, FinishNatural), same("the text", a.Text, strings.TrimSpace(want.String())))
}

func (r *run) length(ctx context.Context, model string, ask call) error {
	// No style of upstream refuses this limit as too small.
	const limit = 20
	a, err := ask(ctx, Question{Model: model, Prompt: "count to 100", MaxOutput: limit})
	if err != nil {
		return err
	}
	if !strings.HasPrefix(a.Text, "1 2 3 ") || a.Output > limit {
		err = fmt.Errorf("%d tokens of %q", a.Output, a.Text)
	}
	return errors.Join(err, r.sane(a, model, FinishLength))
}

func (r *run) filter(ctx context.Context, upstream string, ask call) error {
	model := r.Models[upstream]
	a, err := ask(ctx, Question{Model: model, Prompt: "refuse: this"})
	if err != nil {
		return err
	}
	return errors.Join(r.sane(a, model, FinishFilter), same("the text", a.Text, "I cannot help with that."))
}

func (r *run) image(ctx context.Context, model string, ask call) error {
	picture := portrait()
	a, err := ask(ctx, Question{Model: model, Prompt: "Describe the picture.", PNG: picture})
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("I see 1 image (image/png, %d bytes).", len(picture)); !strings.HasPrefix(a.Text, want) {
		err = fmt.Errorf("the text is %q and does not begin with %q", a.Text, want)
	}
	return errors.Join(err, r.sane(a, model, FinishNatural))
}

// toolLoop is call, run, send the result back, final answer.
func (r *run) toolLoop(ctx context.Context, model string, ask call) error {
	q := Question{Model: model, Prompt: "Please call get_weather for city=Reykjavík today.", Tools: true}
	a, err := ask(ctx, q)
	if err != nil {
		return err
	}
	if err := errors.Join(r.sane(a, model, FinishCalls), called(a, "get_weather")); err != nil {
		return err
	}
	if city := argument(a.Calls[0], "city"); city != "Reykjavík" {
		return fmt.Errorf("the arguments are %s", a.Calls[0].Arguments)
	}
	q.After, q.Results = &a, []string{"18 degrees and rain"}
	final, err := ask(ctx, q)
	if err != nil {
		return fmt.Errorf("with the result: %w", err)
	}
	return errors.Join(r.sane(final, model, FinishNatural), same("the text", final.Text, "According to the tool: 18 degrees and rain."))
}

// parallelToolLoop has a text before two calls in one turn, and both results go back together.
func (r *run) parallelToolLoop(ctx context.Context, model string, ask call) error {
	q := Question{Model: model, Prompt: "narrate and use both tools in parallel, for Oslo and Madrid", Tools: true}
	a, err := ask(ctx, q)
	if err != nil {
		return err
	}
	err = errors.Join(r.sane(a, model, FinishCalls), called(a, "get_weather", "local_time"), same("the text", a.Text, "Let me look that up."))
	if err != nil {
		return err
	}
	if one, two := argument(a.Calls[0], "city"), argument(a.Calls[1], "city"); one != "Oslo" || two != "Madrid" {
		return fmt.Errorf("the arguments are %s and %s", a.Calls[0].Arguments, a.Calls[1].Arguments)
	}
	q.After, q.Results = &a, []string{"sunny", "10:42"}
	final, err := ask(ctx, q)
	if err != nil {
		return fmt.Errorf("with the results: %w", err)
	}
	return errors.Join(r.sane(final, model, FinishNatural), same("the text", final.Text, "According to the tool: sunny; 10:42."))
}

// thoughtfulToolLoop has thoughts before the call, which go back with the result: upstreams take only proofs of thoughts
// that they have made themselves.
func (r *run) thoughtfulToolLoop(ctx context.Context, model string, ask call) error {
	q := Question{Model: model, Prompt: "Please call local_time for city=Lima now.", Tools: true, Think: true}
	a, err := ask(ctx, q)
	if err != nil {
		return err
	}
	if err := errors.Join(r.sane(a, model, FinishCalls), called(a, "local_time")); err != nil {
		return err
	}
	q.After, q.Results = &a, []string{"10:42"}
	final, err := ask(ctx, q)
	if err != nil {
		return fmt.Errorf("with the result: %w", err)
	}
	if !strings.HasPrefix(a.Thoughts, "The user wants an answer") {
		err = fmt.Errorf("the thoughts are %q", a.Thoughts)
	}
	return errors.Join(err, r.sane(final, model, FinishNatural), same("the text", final.Text, "According to the tool: 10:42."))
}

func (r *run) count(ctx context.Context, model string) error {
	short, err := r.client.Count(ctx, Question{Model: model, Prompt: "one"})
	if err != nil {
		return err
	}
	long, err := r.client.Count(ctx, Question{Model: model, Prompt: "one" + strings.Repeat(" more", 100), Tools: true})
	if err != nil {
		return err
	}
	if short <= 0 || long < short+50 {
		return fmt.Errorf("%d tokens for one word, %d for a hundred and tools", short, long)
	}
	return nil
}

// sane is what holds for every answer.
func (r *run) sane(a Answer, model, finish string) error {
	err := errors.Join(same("the model", a.Model, model), same("the finish reason", a.Finish, finish))
	if a.Input <= 0 || a.Output <= 0 || a.Total != 0 && a.Total != a.Input+a.Output {
		err = errors.Join(err, fmt.Errorf("the usage is %d in, %d out, %d in total", a.Input, a.Output, a.Total))
	}
	return err
}

// called are the tools that an answer calls, each call with an id of its own.
func called(a Answer, names ...string) error {
	var got []string
	ids := map[string]bool{"": true}
	for _, c := range a.Calls {
		got = append(got, c.Name)
		if ids[c.ID] {
			return fmt.Errorf("the ids of the calls are not distinct: %+v", a.Calls)
		}
		ids[c.ID] = true
	}
	if !slices.Equal(got, names) {
		return fmt.Errorf("the calls are %q and not %q", got, names)
	}
	return nil
}

func argument(c Call, name string) string {
	var all map[string]any
	if json.Unmarshal([]byte(c.Arguments), &all) != nil {
		return "no JSON: " + c.Arguments
	}
	text, _ := all[name].(string)
	return text
}

func same(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q and not %q", what, got, want)
	}
	return nil
}

// portrait is a small picture.
func portrait() []byte {
	picture := image.NewNRGBA(image.Rect(0, 0, 16, 16))
	for i := range 16 {
		picture.Set(i, i, color.NRGBA{R: 200, G: uint8(i * 16), A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		// A picture of this size always has an encoding.
		panic(err)
	}
	return b.Bytes()
}
