// Command anthropic1 runs the cases of every client with version 1 of the official Go client of the messages style. Its
// argument is the configuration.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"umg/e2e/sdk/go/check"
)

const (
	// outputMax is set because the style demands a limit in every request.
	outputMax = 4000
	// thinkingMax is the smallest budget of the style.
	thinkingMax = 1024
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: anthropic1 CONFIGURATION")
		os.Exit(2)
	}
	check.Main(check.Kind{Style: "messages", Counts: true, Dial: dial}, os.Args[1])
}

type client struct{ api anthropic.Client }

// dial makes the client as its manual says. This version sends an auth token as a bearer, and an API key in a header of
// its own: the clients that set headers do the latter, so that both ways are used.
func dial(o check.Options) (check.Client, error) {
	opts := []option.RequestOption{option.WithBaseURL(o.Origin), option.WithMaxRetries(0)}
	if len(o.Header) == 0 {
		opts = append(opts, option.WithAuthToken(o.Key))
	} else {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	if o.LeaveOut {
		opts = append(opts, option.WithJSONDel("messages"))
	}
	return client{anthropic.NewClient(opts...)}, nil
}

func (c client) params(q check.Question) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: anthropic.Model(q.Model), MaxTokens: outputMax, System: []anthropic.TextBlockParam{{Text: "Be brief."}},
		Temperature: anthropic.Float(1),
	}
	if q.MaxOutput > 0 {
		p.MaxTokens = q.MaxOutput
	}
	if q.Think {
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(thinkingMax)
	}
	if q.Tools {
		for _, t := range check.Tools() {
			tool := anthropic.ToolUnionParamOfTool(schema(t), t.Name)
			tool.OfTool.Description = anthropic.String(t.Description)
			p.Tools = append(p.Tools, tool)
		}
	}
	p.Messages = messages(q)
	return p
}

func schema(t check.Tool) anthropic.ToolInputSchemaParam {
	return anthropic.ToolInputSchemaParam{Properties: t.Properties, Required: t.Required}
}

func messages(q check.Question) []anthropic.MessageParam {
	if q.After != nil {
		all, _ := q.After.Memory.([]anthropic.MessageParam)
		var results []anthropic.ContentBlockParamUnion
		for i, result := range q.Results {
			results = append(results, anthropic.NewToolResultBlock(q.After.Calls[i].ID, result, false))
		}
		return append(all, anthropic.NewUserMessage(results...))
	}
	blocks := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(q.Prompt)}
	if len(q.PNG) > 0 {
		blocks = append(blocks, anthropic.NewImageBlockBase64("image/png", base64.StdEncoding.EncodeToString(q.PNG)))
	}
	return []anthropic.MessageParam{anthropic.NewUserMessage(blocks...)}
}

func (c client) Ask(ctx context.Context, q check.Question) (check.Answer, error) {
	p := c.params(q)
	done, err := c.api.Messages.New(ctx, p)
	if err != nil {
		return check.Answer{}, err
	}
	return answer(p, done), nil
}

func (c client) Stream(ctx context.Context, q check.Question, seen func()) (check.Answer, error) {
	p := c.params(q)
	s := c.api.Messages.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	var all anthropic.Message
	pieces, last := 0, ""
	for s.Next() {
		event := s.Current()
		if err := all.Accumulate(event); err != nil {
			return answer(p, &all), err
		}
		if event.Delta.Type == "text_delta" && event.Delta.Text != "" {
			pieces++
			seen()
		}
		last = event.Type
	}
	a := answer(p, &all)
	a.Pieces = pieces
	if err := s.Err(); err != nil {
		return a, err
	}
	if last != "message_stop" {
		return a, fmt.Errorf("the last event is %q", last)
	}
	return a, nil
}

func answer(p anthropic.MessageNewParams, done *anthropic.Message) check.Answer {
	u := done.Usage
	a := check.Answer{
		Model: string(done.Model), Finish: string(done.StopReason),
		Input:  u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		Output: u.OutputTokens,
		Memory: append(p.Messages, done.ToParam()),
	}
	finishes := map[anthropic.StopReason]string{
		anthropic.StopReasonEndTurn: check.FinishNatural, anthropic.StopReasonMaxTokens: check.FinishLength,
		anthropic.StopReasonToolUse: check.FinishCalls, anthropic.StopReasonRefusal: check.FinishFilter,
	}
	if finish, ok := finishes[done.StopReason]; ok {
		a.Finish = finish
	}
	var text strings.Builder
	for _, block := range done.Content {
		// A block that is not complete has only this form.
		switch block.Type {
		case "text":
			text.WriteString(block.Text)
		case "thinking":
			a.Thoughts += block.Thinking
		case "tool_use":
			a.Calls = append(a.Calls, check.Call{ID: block.ID, Name: block.Name, Arguments: string(block.Input)})
		}
	}
	a.Text = text.String()
	return a
}

func (c client) Count(ctx context.Context, q check.Question) (int64, error) {
	p := anthropic.MessageCountTokensParams{Model: anthropic.Model(q.Model), Messages: messages(q)}
	if q.Tools {
		for _, t := range check.Tools() {
			p.Tools = append(p.Tools, anthropic.MessageCountTokensToolParamOfTool(schema(t), t.Name))
		}
	}
	n, err := c.api.Messages.CountTokens(ctx, p)
	if err != nil {
		return 0, err
	}
	return n.InputTokens, nil
}

func (c client) Explain(err error) check.Failure {
	var failed *anthropic.Error
	raw := ""
	f := check.Failure{Raised: true}
	if errors.As(err, &failed) {
		raw, f.Status = failed.RawJSON(), failed.StatusCode
	} else if err != nil {
		_, raw, _ = strings.Cut(err.Error(), "received error while streaming: ")
	}
	var said struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal([]byte(raw), &said) == nil {
		f.Type, f.Message = said.Error.Type, said.Error.Message
	}
	if failed != nil && string(failed.Type()) != f.Type {
		f.Message += " which the client does not understand"
	}
	return f
}
