package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/shared"

	"umg/e2e/sdk/go/check"
)

// chat is the client's chat-completions style.
type chat struct{ api openai.Client }

func (c chat) params(q check.Question) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: q.Model}
	if q.MaxOutput > 0 {
		p.MaxCompletionTokens = openai.Int(q.MaxOutput)
	}
	if q.Think {
		p.ReasoningEffort = openai.ReasoningEffortLow
	}
	if q.Tools {
		for _, t := range check.Tools() {
			p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name: t.Name, Description: openai.String(t.Description), Parameters: t.Schema(),
			}))
		}
	}
	if q.After != nil {
		p.Messages, _ = q.After.Memory.([]openai.ChatCompletionMessageParamUnion)
		for i, result := range q.Results {
			p.Messages = append(p.Messages, openai.ToolMessage(result, q.After.Calls[i].ID))
		}
		return p
	}
	p.Messages = append(p.Messages, openai.SystemMessage("Be brief."))
	if len(q.PNG) == 0 {
		p.Messages = append(p.Messages, openai.UserMessage(q.Prompt))
		return p
	}
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(q.PNG)
	p.Messages = append(p.Messages, openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart(q.Prompt),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url, Detail: "low"}),
	}))
	return p
}

func (c chat) Ask(ctx context.Context, q check.Question) (check.Answer, error) {
	p := c.params(q)
	done, err := c.api.Chat.Completions.New(ctx, p)
	if err != nil {
		return check.Answer{}, err
	}
	if len(done.Choices) == 0 {
		return check.Answer{}, &body{done.RawJSON()}
	}
	return c.answer(p, done), nil
}

func (c chat) Stream(ctx context.Context, q check.Question, seen func()) (check.Answer, error) {
	p := c.params(q)
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	s := c.api.Chat.Completions.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	var all openai.ChatCompletionAccumulator
	pieces, finished, thoughts := 0, 0, ""
	for s.Next() {
		chunk := s.Current()
		if !all.AddChunk(chunk) {
			return check.Answer{}, fmt.Errorf("the accumulator refused %s", chunk.RawJSON())
		}
		if _, ok := all.JustFinishedToolCall(); ok {
			finished++
		}
		if len(chunk.Choices) > 0 {
			thoughts += thought(chunk.Choices[0].Delta.JSON.ExtraFields)
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces++
			seen()
		}
	}
	if len(all.Choices) == 0 {
		return check.Answer{}, errors.Join(s.Err(), errors.New("the stream had no choices"))
	}
	a := c.answer(p, &all.ChatCompletion)
	a.Pieces, a.Thoughts = pieces, thoughts
	if err := s.Err(); err != nil {
		return a, err
	}
	if finished != len(a.Calls) {
		return a, fmt.Errorf("the accumulator saw %d of %d tool calls finish", finished, len(a.Calls))
	}
	return a, nil
}

func (c chat) answer(p openai.ChatCompletionNewParams, done *openai.ChatCompletion) check.Answer {
	m := done.Choices[0].Message
	a := check.Answer{
		Text: m.Content, Thoughts: thought(m.JSON.ExtraFields), Model: done.Model, Finish: done.Choices[0].FinishReason,
		Input: done.Usage.PromptTokens, Output: done.Usage.CompletionTokens, Total: done.Usage.TotalTokens,
		Memory: append(p.Messages, m.ToParam()),
	}
	finishes := map[string]string{
		"stop": check.FinishNatural, "length": check.FinishLength, "tool_calls": check.FinishCalls, "content_filter": check.FinishFilter,
	}
	if finish, ok := finishes[a.Finish]; ok {
		a.Finish = finish
	}
	for _, call := range m.ToolCalls {
		a.Calls = append(a.Calls, check.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return a
}

// thought is the member in which most vendors show thoughts; the client has no name for it.
func thought(extra map[string]respjson.Field) (text string) {
	if field, ok := extra["reasoning_content"]; ok && json.Unmarshal([]byte(field.Raw()), &text) != nil {
		text = field.Raw()
	}
	return text
}

func (c chat) Count(context.Context, check.Question) (int64, error) {
	return 0, errors.New("this style does not count tokens")
}

func (c chat) Explain(err error) check.Failure { return explain(err) }
