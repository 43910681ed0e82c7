package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"umg/e2e/sdk/go/check"
)

// responsesClient is the client's responses style.
type responsesClient struct{ api openai.Client }

func (c responsesClient) params(q check.Question) responses.ResponseNewParams {
	p := responses.ResponseNewParams{Model: q.Model, Instructions: openai.String("Be brief.")}
	if q.MaxOutput > 0 {
		p.MaxOutputTokens = openai.Int(q.MaxOutput)
	}
	if q.Tools {
		p.Tools = tools()
	}
	if q.Think {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto}
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
		p.Store = openai.Bool(false)
	}
	switch {
	case q.After != nil:
		items, _ := q.After.Memory.(responses.ResponseInputParam)
		for i, result := range q.Results {
			output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
			output.OfFunctionCallOutput.CallID = openai.String(q.After.Calls[i].ID)
			items = append(items, output)
		}
		p.Input.OfInputItemList = items
	case len(q.PNG) > 0:
		image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailLow)
		image.OfInputImage.ImageURL = openai.String("data:image/png;base64," + base64.StdEncoding.EncodeToString(q.PNG))
		content := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(q.Prompt), image}
		p.Input.OfInputItemList = responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser),
		}
	case q.Tools:
		p.Input.OfInputItemList = responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(q.Prompt, responses.EasyInputMessageRoleUser),
		}
	default:
		p.Input.OfString = openai.String(q.Prompt)
	}
	return p
}

func tools() []responses.ToolUnionParam {
	var all []responses.ToolUnionParam
	for _, t := range check.Tools() {
		tool := responses.ToolParamOfFunction(t.Name, t.Schema(), false)
		tool.OfFunction.Description = openai.String(t.Description)
		all = append(all, tool)
	}
	return all
}

func (c responsesClient) Ask(ctx context.Context, q check.Question) (check.Answer, error) {
	p := c.params(q)
	done, err := c.api.Responses.New(ctx, p)
	if err != nil {
		return check.Answer{}, err
	}
	if done.ID == "" {
		return check.Answer{}, &body{done.RawJSON()}
	}
	return c.answer(p, done)
}

func (c responsesClient) Stream(ctx context.Context, q check.Question, seen func()) (check.Answer, error) {
	p := c.params(q)
	s := c.api.Responses.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	var text, arguments string
	var last *responses.Response
	pieces, next := 0, int64(0)
	for s.Next() {
		event := s.Current()
		if event.SequenceNumber != next {
			return check.Answer{}, fmt.Errorf("event %d has the number %d", next, event.SequenceNumber)
		}
		next++
		switch event.Type {
		case "response.output_text.delta":
			text += event.Delta
			pieces++
			seen()
		case "response.function_call_arguments.delta":
			arguments += event.Delta
		case "response.completed", "response.incomplete", "response.failed":
			last = &event.Response
		}
	}
	switch {
	case s.Err() != nil:
		return check.Answer{Text: text}, s.Err()
	case last == nil:
		return check.Answer{Text: text}, errors.New("the stream has no last event")
	case last.Status == "failed":
		return check.Answer{Text: text}, &failed{*last}
	}
	a, err := c.answer(p, last)
	a.Pieces = pieces
	var whole string
	for _, call := range a.Calls {
		whole += call.Arguments
	}
	if text != a.Text || arguments != whole {
		err = errors.Join(err, fmt.Errorf("the deltas are %q and %q, the answer %q and %q", text, arguments, a.Text, whole))
	}
	return a, err
}

// failed is a stream that ended with an answer which failed.
type failed struct{ response responses.Response }

func (f *failed) Error() string {
	return fmt.Sprintf("failed: %s: %s", f.response.Error.Code, f.response.Error.Message)
}

func (c responsesClient) answer(p responses.ResponseNewParams, done *responses.Response) (check.Answer, error) {
	items := p.Input.OfInputItemList
	if len(items) == 0 {
		items = responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(p.Input.OfString.Value, responses.EasyInputMessageRoleUser),
		}
	}
	a := check.Answer{
		Text: done.OutputText(), Model: done.Model, Finish: string(done.Status),
		Input: done.Usage.InputTokens, Output: done.Usage.OutputTokens, Total: done.Usage.TotalTokens,
	}
	for _, item := range done.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			sent := item.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfOutputMessage: &sent})
		case responses.ResponseFunctionToolCall:
			sent := item.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &sent})
			a.Calls = append(a.Calls, check.Call{ID: item.CallID, Name: item.Name, Arguments: item.Arguments})
		case responses.ResponseReasoningItem:
			sent := item.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfReasoning: &sent})
			for _, part := range item.Summary {
				a.Thoughts += part.Text
			}
			for _, part := range item.Content {
				a.Thoughts += part.Text
			}
		default:
			return a, fmt.Errorf("an item of an unknown kind: %T", item)
		}
	}
	a.Memory = items
	switch {
	case done.Status == "completed" && len(a.Calls) > 0:
		a.Finish = check.FinishCalls
	case done.Status == "completed":
		a.Finish = check.FinishNatural
	case done.Status == "incomplete" && done.IncompleteDetails.Reason == "max_output_tokens":
		a.Finish = check.FinishLength
	case done.Status == "incomplete" && done.IncompleteDetails.Reason == "content_filter":
		a.Finish = check.FinishFilter
	}
	return a, nil
}

func (c responsesClient) Count(ctx context.Context, q check.Question) (int64, error) {
	p := responses.InputTokenCountParams{Model: openai.String(q.Model)}
	p.Input.OfString = openai.String(q.Prompt)
	if q.Tools {
		p.Tools = tools()
	}
	n, err := c.api.Responses.InputTokens.Count(ctx, p)
	if err != nil {
		return 0, err
	}
	return n.InputTokens, nil
}

func (c responsesClient) Explain(err error) check.Failure {
	var f *failed
	if errors.As(err, &f) {
		return check.Failure{Raised: true, Code: string(f.response.Error.Code), Message: f.response.Error.Message}
	}
	return explain(err)
}
