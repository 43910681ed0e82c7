// Package check holds what every official client must get from a running gateway, whatever style it speaks and
// whatever style the upstream of a model speaks. A program per client supplies the calls; the cases, and what is
// expected of them, stand here once. It knows a base URL, keys and models. It does not know any code of the gateway.
package check

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const (
	caseTimeMax = 20 * time.Second
	// leaveTimeMax is how long a stream may take to end after its context was cancelled.
	leaveTimeMax = 3 * time.Second
)

// Config says where the gateway is and which of its models play which part. The keys of the maps are the styles of
// the upstreams.
type Config struct {
	// Origin is the gateway's address without a path.
	Origin string            `json:"origin"`
	Key    string            `json:"key"`
	Models map[string]string `json:"models"`
	// Down has models that fail before the first byte.
	Down map[string]string `json:"down"`
	// Cut has models that fail in the middle of a stream.
	Cut map[string]string `json:"cut"`
	// Slow is a model that pauses between tokens.
	Slow string `json:"slow"`
	// Leave is the long prompt of the stream that the client leaves.
	Leave string `json:"leave"`
}

// Options are what one client is made with.
type Options struct {
	Origin string
	Key    string
	Header map[string]string
	// LeaveOut is true when the request lacks the member that the style requires.
	LeaveOut bool
}

// Question is one call.
type Question struct {
	Model  string
	Prompt string
	PNG    []byte
	// Tools is true when the request offers the tools of the variable Tools.
	Tools bool
	// Think is true when the request asks for thoughts and for showing them.
	Think     bool
	MaxOutput int64

	// After is the answer whose tool calls Results answer, in their order.
	After   *Answer
	Results []string
}

// Call is a tool call that the model asks for.
type Call struct {
	ID   string
	Name string
	// Arguments is JSON.
	Arguments string
}

// Answer is what a call gave, in terms that all styles share.
type Answer struct {
	Text     string
	Thoughts string
	Model    string
	// Finish is one of the Finish constants.
	Finish string
	Calls  []Call
	// Pieces is the number of text pieces in the stream.
	Pieces int

	Input, Output, Total int64
	// Memory is the conversation with this answer, in the client's own types.
	Memory any
}

// The ways an answer ends. A style that has no word of its own for tool calls ends them naturally.
const (
	FinishNatural = "natural"
	FinishLength  = "length"
	FinishCalls   = "calls"
	FinishFilter  = "filter"
)

// Failure is how the client shows an error to the program.
type Failure struct {
	// Raised is true for an error of the client, and false for an answer that holds an error.
	Raised bool
	// Status is zero when the client does not report it.
	Status  int
	Type    string
	Code    string
	Param   string
	Message string
}

// Client is one official client, or one style of it.
type Client interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	// Stream tells seen about each piece of text. It returns what came before an error along with the error.
	Stream(ctx context.Context, q Question, seen func()) (Answer, error)
	// Count is only called for clients that can count tokens.
	Count(ctx context.Context, q Question) (int64, error)
	Explain(err error) Failure
}

// Kind is what else than its calls the cases must know about a client.
type Kind struct {
	// Style is the client's: chat, messages, responses or native.
	Style  string
	Counts bool
	Dial   func(Options) (Client, error)
}

// Tool is a function that the program offers to the model.
type Tool struct {
	Name        string
	Description string
	Properties  map[string]any
	Required    []string
}

// Schema is the JSON schema of the arguments.
func (t Tool) Schema() map[string]any {
	return map[string]any{"type": "object", "properties": t.Properties, "required": t.Required, "additionalProperties": false}
}

// Tools are the functions of the cases with tools.
func Tools() []Tool {
	city := map[string]any{"type": "string", "description": "Name of the city"}
	return []Tool{
		{
			Name: "get_weather", Description: "The weather of a city", Required: []string{"city"},
			Properties: map[string]any{"city": city, "unit": map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}}},
		},
		{Name: "local_time", Description: "The time in a city", Required: []string{"city"}, Properties: map[string]any{"city": city}},
	}
}

// result is one line of output.
type result struct {
	Case         string `json:"case"`
	Milliseconds int64  `json:"ms"`
	Error        string `json:"error,omitempty"`
}

// run goes through the cases of one client.
type run struct {
	Config
	kind   Kind
	client Client
	failed int
}

// Main runs all cases and ends the program: with status 1 when one failed. The configuration is the argument after
// those that the program takes itself.
func Main(kind Kind, config string) {
	r := &run{kind: kind}
	if err := json.Unmarshal([]byte(config), &r.Config); err != nil {
		fmt.Fprintln(os.Stderr, "the configuration is not JSON:", err)
		os.Exit(2)
	}
	client, err := kind.Dial(Options{Origin: r.Origin, Key: r.Key})
	if err != nil {
		fmt.Fprintln(os.Stderr, "no client:", err)
		os.Exit(2)
	}
	r.client = client
	r.answers()
	r.errors()
	if r.failed > 0 {
		os.Exit(1)
	}
}

// check runs one case and prints a line about it.
func (r *run) check(name string, do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), caseTimeMax)
	defer cancel()
	started := time.Now()
	line := result{Case: name}
	if err := do(ctx); err != nil {
		line.Error = r.words(err)
		r.failed++
	}
	line.Milliseconds = time.Since(started).Milliseconds()
	text, err := json.Marshal(line)
	if err != nil {
		// Two strings always have a JSON form.
		panic(err)
	}
	fmt.Println(string(text))
}

// words is an error with what the client hides of it.
func (r *run) words(err error) string {
	if f := r.client.Explain(err); f.Message != "" || f.Status != 0 {
		return fmt.Sprintf("%v (%+v)", err, f)
	}
	return err.Error()
}
