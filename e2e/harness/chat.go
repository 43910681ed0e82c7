package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// ChatCompletion is a Chat completion as service.md describes it. Cost stays text, so that no float touches it.
type ChatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *ChatUsage   `json:"usage"`
}

// ChatChoice is one choice of a Chat completion or of a chunk of one.
type ChatChoice struct {
	Index        *int             `json:"index"`
	Message      *ChatMessage     `json:"message"`
	Delta        *ChatMessage     `json:"delta"`
	FinishReason *string          `json:"finish_reason"`
	Logprobs     *json.RawMessage `json:"logprobs"`
}

// ChatMessage is the message of a choice, whole or a delta.
type ChatMessage struct {
	Role      string            `json:"role"`
	Content   *string           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// ChatUsage has the tokens and the cost of a Chat completion.
type ChatUsage struct {
	Prompt     int64       `json:"prompt_tokens"`
	Completion int64       `json:"completion_tokens"`
	Total      int64       `json:"total_tokens"`
	Cost       json.Number `json:"cost"`
}

// CheapModel is the model of the demo that costs least in chat.
const CheapModel = "meridian/atlas-small"

// ChatRequest is the body of a chat call with one user message and further members.
func ChatRequest(model, prompt string, members ...string) string {
	p, _ := json.Marshal(prompt)
	fields := append([]string{fmt.Sprintf(`"model":%q,"messages":[{"role":"user","content":%s}]`, model, p)}, members...)
	return "{" + strings.Join(fields, ",") + "}"
}

// DecodeCompletion reads a Chat completion from a response that must succeed.
func DecodeCompletion(t *testing.T, a Response) ChatCompletion {
	t.Helper()
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("status %d, content type %q: %s", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	var c ChatCompletion
	if err := json.Unmarshal([]byte(a.Body), &c); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	if len(c.Choices) == 0 || c.Choices[0].Message == nil || c.Choices[0].Message.Content == nil {
		t.Fatalf("no message in %s", a.Body)
	}
	return c
}

// StreamData splits an event stream by the letter of service.md: one line "data: …", one blank line.
func StreamData(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		isComment := strings.HasPrefix(lines.Text(), ":")
		if !ok && !isComment {
			t.Fatalf("a line that is no data line: %q", lines.Text())
		}
		if !lines.Scan() || lines.Text() != "" {
			t.Fatalf("no blank line after %q", data)
		}
		if !isComment {
			all = append(all, data)
		}
	}
	return all
}

// ChatPath is the path of Chat completions.
const ChatPath = "/v1/chat/completions"

// Chat sends a body to the chat route with the customer's key.
func (c Customer) Chat(t *testing.T, body string, headers ...string) Response {
	t.Helper()
	return c.Call(t, "POST", ChatPath, body, headers...)
}

// CheckChatErrorLayout looks at the kinds of the values as they are written.
func CheckChatErrorLayout(t *testing.T, text string) {
	t.Helper()
	o := DecodeObject(t, text)
	inner, isObject := o["error"].(map[string]any)
	if code, isNumber := o["code"].(json.Number); !isNumber || !isObject || strings.ContainsAny(code.String(), ".eE-") {
		t.Errorf("no numeric code or no error object: %s", text)
	}
	for _, name := range []string{"code", "message", "type"} {
		if s, isText := inner[name].(string); !isText || s == "" {
			t.Errorf("error.%s is no text: %s", name, text)
		}
	}
}

// ChatError is the error layout of the chat route.
type ChatError struct {
	Code  int `json:"code"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   string `json:"param"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// DecodeChatError reads an error body of the chat route.
func DecodeChatError(t *testing.T, body string) ChatError {
	t.Helper()
	var f ChatError
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if f.Code == 0 || f.Error.Code == "" || f.Error.Message == "" || f.Error.Type == "" || f.RequestID == "" {
		t.Fatalf("not the chat error layout: %s", body)
	}
	return f
}

// helpLink is where an error says that it is explained: at the gateway itself, whose address in tests is also the upstream's.
var helpLink = regexp.MustCompile(`"doc_url":"http://127\.0\.0\.1:\d+/console/docs/errors(#[a-z_]+)?"`)

// WithoutHelpLink is an error without that link.
func WithoutHelpLink(text string) string { return helpLink.ReplaceAllString(text, `"doc_url":""`) }

// StreamCost is the cost in nano-dollars in the usage of a chat stream.
func StreamCost(t *testing.T, body string) int64 {
	t.Helper()
	for _, data := range StreamData(t, body) {
		var c ChatCompletion
		if json.Unmarshal([]byte(data), &c) == nil && c.Usage != nil {
			return Nanos(t, string(c.Usage.Cost))
		}
	}
	t.Fatalf("no usage in %s", body)
	return 0
}
