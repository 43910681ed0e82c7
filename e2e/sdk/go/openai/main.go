// Command openai runs the cases of every client with the official Go client of the chat and responses styles. Its
// arguments are the style, or what else it calls, and the configuration.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"umg/e2e/sdk/go/check"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: openai chat|responses|videos CONFIGURATION")
		os.Exit(2)
	}
	if os.Args[1] == "videos" {
		videos(os.Args[2])
	}
	kind := check.Kind{Style: "chat", Dial: func(o check.Options) (check.Client, error) {
		return chat{api: dial(o, "messages")}, nil
	}}
	if os.Args[1] == "responses" {
		kind = check.Kind{Style: "responses", Counts: true, Dial: func(o check.Options) (check.Client, error) {
			return responsesClient{api: dial(o, "input")}, nil
		}}
	}
	check.Main(kind, os.Args[2])
}

// dial makes the client as its manual says, with the base URL and the key. Nothing is tried twice, so that each
// failure is seen as it is.
func dial(o check.Options, member string) openai.Client {
	opts := []option.RequestOption{option.WithBaseURL(o.Origin + "/v1"), option.WithAPIKey(o.Key), option.WithMaxRetries(0)}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	if o.LeaveOut {
		opts = append(opts, option.WithJSONDel(member))
	}
	return openai.NewClient(opts...)
}

// body is an error that came with status 200, as an answer which the client takes for one without content.
type body struct{ raw string }

func (b *body) Error() string { return "an answer without content: " + b.raw }

// explain reads what the client says about a failure.
func explain(err error) check.Failure {
	var failed *openai.Error
	var streamed *ssestream.StreamError
	var answered *body
	switch {
	case errors.As(err, &failed):
		return check.Failure{Raised: true, Status: failed.StatusCode, Type: failed.Type, Code: failed.Code,
			Param: failed.Param, Message: failed.Message}
	case errors.As(err, &streamed):
		f := inside(string(streamed.Event.Data))
		f.Raised = true
		return f
	case errors.As(err, &answered):
		return inside(answered.raw)
	}
	return check.Failure{Raised: true}
}

// inside reads the error in a body or an event.
func inside(raw string) check.Failure {
	var said struct {
		Error struct{ Type, Code, Param, Message string }
	}
	if json.Unmarshal([]byte(raw), &said) != nil {
		return check.Failure{Message: raw}
	}
	e := said.Error
	return check.Failure{Type: e.Type, Code: e.Code, Param: e.Param, Message: e.Message}
}
