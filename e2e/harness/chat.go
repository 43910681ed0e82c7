package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
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

type ChatChoice struct {
	Index        *int             `json:"index"`
	Message      *ChatMessage     `json:"message"`
	Delta        *ChatMessage     `json:"delta"`
	FinishReason *string          `json:"finish_reason"`
	Logprobs     *json.RawMessage `json:"logprobs"`
}

type ChatMessage struct {
	Role      string            `json:"role"`
	Content   *string           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

type ChatUsage struct {
	Prompt     int64       `json:"prompt_tokens"`
	Completion int64       `json:"completion_tokens"`
	Total      int64       `json:"total_tokens"`
	Cost       json.Number `json:"cost"`
}

const CheapModel = "meridian/atlas-small"

func ChatRequest(model, prompt string, members ...string) string {
	p, _ := json.Marshal(prompt)
	extra := ""
	for _, m := range members {
		extra += "," + m
	}
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s}]%s}`, model, p, extra)
}

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
		if !ok {
			t.Fatalf("a line that is no data line: %q", lines.Text())
		}
		if !lines.Scan() || lines.Text() != "" {
			t.Fatalf("no blank line after %q", data)
		}
		all = append(all, data)
	}
	return all
}
