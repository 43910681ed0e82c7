// Command sdk calls a running gateway the way a customer's program does: with the official Go client, unmodified. It
// makes one answer, one stream and one failure of each kind, in both error-status modes, and prints what it saw as
// one JSON object. It knows a base URL, a key and a model. It does not know any code of the gateway.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const callsTimeMax = 60 * time.Second

// answer is what one successful call showed: the cost as the exact text of the wire.
type answer struct {
	Text         string `json:"text"`
	Model        string `json:"model"`
	FinishReason string `json:"finish_reason"`
	Cost         string `json:"cost"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	RequestID    string `json:"request_id"`
}

// failure is how one failing call reached the program: as an error of the client, or as an answer without choices
// whose body has to be read.
type failure struct {
	Raised  bool   `json:"raised"`
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Body    string `json:"body"`
}

type report struct {
	JSON                   answer  `json:"json"`
	Stream                 answer  `json:"stream"`
	StandardError          failure `json:"standard_error"`
	StandardStreamError    failure `json:"standard_stream_error"`
	DocumentedError        failure `json:"documented_error"`
	DocumentedStreamError  failure `json:"documented_stream_error"`
	AuthenticationFailure  failure `json:"authentication_failure"`
	ListedModels           int     `json:"listed_models"`
	RetrievedModel         string  `json:"retrieved_model"`
	RetrievedModelNotFound failure `json:"retrieved_model_not_found"`
}

func main() {
	baseURL := flag.String("base-url", "", "base URL of the gateway, ending in /v1")
	key := flag.String("key", "", "API key")
	model := flag.String("model", "", "model to call")
	prompt := flag.String("prompt", "echo: hello from the client", "what to ask")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), callsTimeMax)
	defer cancel()
	r, err := run(ctx, *baseURL, *key, *model, *prompt)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, baseURL, key, model, prompt string) (r report, err error) {
	client := openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey(key), option.WithMaxRetries(0))
	if r.JSON, err = complete(ctx, client, model, prompt); err != nil {
		return r, fmt.Errorf("complete: %w", err)
	}
	if r.Stream, err = stream(ctx, client, model, prompt); err != nil {
		return r, fmt.Errorf("stream: %w", err)
	}
	for mode, into := range map[string][2]*failure{
		"standard":   {&r.StandardError, &r.StandardStreamError},
		"documented": {&r.DocumentedError, &r.DocumentedStreamError},
	} {
		header := option.WithHeader("X-Error-Status", mode)
		*into[0] = failingCall(ctx, client, header)
		*into[1] = failingStream(ctx, client, header)
	}
	r.AuthenticationFailure = failingCall(ctx, client, option.WithAPIKey("sk-umg-wrong"))
	page, err := client.Models.List(ctx)
	if err != nil {
		return r, fmt.Errorf("list models: %w", err)
	}
	r.ListedModels = len(page.Data)
	found, err := client.Models.Get(ctx, model)
	if err != nil {
		return r, fmt.Errorf("retrieve %s: %w", model, err)
	}
	r.RetrievedModel = found.ID
	_, err = client.Models.Get(ctx, "unknown/nothing")
	r.RetrievedModelNotFound = raised(err)
	return r, nil
}

func params(model, prompt string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
}

func complete(ctx context.Context, client openai.Client, model, prompt string) (answer, error) {
	c, err := client.Chat.Completions.New(ctx, params(model, prompt))
	if err != nil {
		return answer{}, err
	}
	if len(c.Choices) == 0 {
		return answer{}, fmt.Errorf("no choices in %s", c.RawJSON())
	}
	return answer{
		Text: c.Choices[0].Message.Content, Model: c.Model, FinishReason: c.Choices[0].FinishReason,
		Cost: c.Usage.JSON.ExtraFields["cost"].Raw(), InputTokens: c.Usage.PromptTokens, OutputTokens: c.Usage.CompletionTokens,
		RequestID: c.ID,
	}, nil
}

func stream(ctx context.Context, client openai.Client, model, prompt string) (answer, error) {
	p := params(model, prompt)
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	s := client.Chat.Completions.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	var all openai.ChatCompletionAccumulator
	cost := ""
	for s.Next() {
		chunk := s.Current()
		if !all.AddChunk(chunk) {
			return answer{}, fmt.Errorf("the accumulator refused %s", chunk.RawJSON())
		}
		if field, ok := chunk.Usage.JSON.ExtraFields["cost"]; ok {
			cost = field.Raw()
		}
	}
	if err := s.Err(); err != nil {
		return answer{}, err
	}
	if len(all.Choices) == 0 {
		return answer{}, errors.New("the stream had no choices")
	}
	return answer{
		Text: all.Choices[0].Message.Content, Model: all.Model, FinishReason: all.Choices[0].FinishReason,
		Cost: cost, InputTokens: all.Usage.PromptTokens, OutputTokens: all.Usage.CompletionTokens, RequestID: all.ID,
	}, nil
}

func failingCall(ctx context.Context, client openai.Client, opts ...option.RequestOption) failure {
	c, err := client.Chat.Completions.New(ctx, params("unknown/nothing", "hello"), opts...)
	if err != nil {
		return raised(err)
	}
	return failure{Body: c.RawJSON()}
}

func failingStream(ctx context.Context, client openai.Client, opts ...option.RequestOption) failure {
	s := client.Chat.Completions.NewStreaming(ctx, params("unknown/nothing", "hello"), opts...)
	defer func() { _ = s.Close() }()
	for s.Next() {
		return failure{Body: s.Current().RawJSON()}
	}
	return raised(s.Err())
}

func raised(err error) failure {
	if err == nil {
		return failure{}
	}
	f := failure{Raised: true, Message: err.Error()}
	var e *openai.Error
	if errors.As(err, &e) {
		f.Status, f.Code, f.Message = e.StatusCode, e.Code, e.Message
	}
	return f
}
