// Command genai runs the cases of every client with the official Go client of the native style. Its argument is the
// configuration.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"google.golang.org/genai"

	"umg/e2e/sdk/go/check"
)

// thinkingMax is as many tokens of thoughts as the smallest effort stands for.
const thinkingMax = 1024

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genai CONFIGURATION")
		os.Exit(2)
	}
	check.Main(check.Kind{Style: "native", Counts: true, Dial: dial}, os.Args[1])
}

type client struct {
	api   *genai.Client
	edits genai.ExtrasRequestProvider
}

// dial makes the client as its manual says. It sends the key in a header of its own.
func dial(o check.Options) (check.Client, error) {
	header := http.Header{}
	for name, value := range o.Header {
		header.Set(name, value)
	}
	api, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: o.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: o.Origin, Headers: header},
	})
	if err != nil {
		return nil, err
	}
	c := client{api: api}
	if o.LeaveOut {
		c.edits = func(body map[string]any) map[string]any {
			delete(body, "contents")
			return body
		}
	}
	return c, nil
}

func (c client) params(q check.Question) ([]*genai.Content, *genai.GenerateContentConfig) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		MaxOutputTokens:   int32(q.MaxOutput),
		HTTPOptions:       &genai.HTTPOptions{ExtrasRequestProvider: c.edits},
	}
	if q.Think {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr(int32(thinkingMax))}
	}
	if q.Tools {
		tool := &genai.Tool{}
		for _, t := range check.Tools() {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{
				Name: t.Name, Description: t.Description, ParametersJsonSchema: t.Schema(),
			})
		}
		config.Tools = []*genai.Tool{tool}
	}
	if q.After != nil {
		all, _ := q.After.Memory.([]*genai.Content)
		var parts []*genai.Part
		for i, result := range q.Results {
			part := genai.NewPartFromFunctionResponse(q.After.Calls[i].Name, map[string]any{"output": result})
			part.FunctionResponse.ID = q.After.Calls[i].ID
			parts = append(parts, part)
		}
		return append(all, genai.NewContentFromParts(parts, genai.RoleUser)), config
	}
	parts := []*genai.Part{genai.NewPartFromText(q.Prompt)}
	if len(q.PNG) > 0 {
		parts = append(parts, genai.NewPartFromBytes(q.PNG, "image/png"))
	}
	return []*genai.Content{genai.NewContentFromParts(parts, genai.RoleUser)}, config
}

func (c client) Ask(ctx context.Context, q check.Question) (check.Answer, error) {
	contents, config := c.params(q)
	done, err := c.api.Models.GenerateContent(ctx, q.Model, contents, config)
	if err != nil {
		return check.Answer{}, err
	}
	var all collected
	all.add(done)
	return all.answer(contents), nil
}

func (c client) Stream(ctx context.Context, q check.Question, seen func()) (check.Answer, error) {
	contents, config := c.params(q)
	var all collected
	for chunk, err := range c.api.Models.GenerateContentStream(ctx, q.Model, contents, config) {
		if err != nil {
			return all.answer(contents), err
		}
		if all.finish != "" {
			return all.answer(contents), errors.New("a chunk follows the one with the finish reason")
		}
		if all.add(chunk) {
			seen()
		}
	}
	return all.answer(contents), nil
}

// collected is the content of the chunks so far.
type collected struct {
	parts          []*genai.Part
	text, thoughts string
	model          string
	finish         genai.FinishReason
	usage          genai.GenerateContentResponseUsageMetadata
	pieces         int
}

// add reports whether the chunk has text.
func (c *collected) add(r *genai.GenerateContentResponse) (text bool) {
	c.model = r.ModelVersion
	if r.UsageMetadata != nil {
		c.usage = *r.UsageMetadata
	}
	if len(r.Candidates) == 0 {
		return false
	}
	c.finish = r.Candidates[0].FinishReason
	if r.Candidates[0].Content == nil {
		return false
	}
	for _, part := range r.Candidates[0].Content.Parts {
		if part.Thought {
			c.thoughts += part.Text
		}
		if part.Text != "" && !part.Thought {
			text = true
			c.pieces++
			c.text += part.Text
		}
		if part.Text != "" || part.FunctionCall != nil || len(part.ThoughtSignature) > 0 {
			c.parts = append(c.parts, part)
		}
	}
	return text
}

func (c *collected) answer(contents []*genai.Content) check.Answer {
	a := check.Answer{
		Text: c.text, Thoughts: c.thoughts, Model: c.model, Finish: string(c.finish), Pieces: c.pieces,
		Input:  int64(c.usage.PromptTokenCount + c.usage.ToolUsePromptTokenCount),
		Output: int64(c.usage.CandidatesTokenCount + c.usage.ThoughtsTokenCount),
		Total:  int64(c.usage.TotalTokenCount),
		Memory: append(contents, genai.NewContentFromParts(c.parts, genai.RoleModel)),
	}
	for _, part := range c.parts {
		if part.FunctionCall != nil {
			arguments, err := json.Marshal(part.FunctionCall.Args)
			if err != nil {
				arguments = []byte(err.Error())
			}
			a.Calls = append(a.Calls, check.Call{ID: part.FunctionCall.ID, Name: part.FunctionCall.Name, Arguments: string(arguments)})
		}
	}
	switch {
	case c.finish == genai.FinishReasonStop && len(a.Calls) > 0:
		a.Finish = check.FinishCalls
	case c.finish == genai.FinishReasonStop:
		a.Finish = check.FinishNatural
	case c.finish == genai.FinishReasonMaxTokens:
		a.Finish = check.FinishLength
	case c.finish == genai.FinishReasonSafety:
		a.Finish = check.FinishFilter
	}
	return a
}

func (c client) Count(ctx context.Context, q check.Question) (int64, error) {
	// This style counts contents alone.
	contents, _ := c.params(q)
	n, err := c.api.Models.CountTokens(ctx, q.Model, contents, nil)
	if err != nil {
		return 0, err
	}
	return int64(n.TotalTokens), nil
}

func (c client) Explain(err error) check.Failure {
	var failed genai.APIError
	if !errors.As(err, &failed) {
		return check.Failure{Raised: true}
	}
	return check.Failure{Raised: true, Status: failed.Code, Type: failed.Status, Message: failed.Message}
}
