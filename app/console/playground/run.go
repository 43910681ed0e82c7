package playground

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app"
	"umg/app/console/page"
	"umg/app/contentlog"
	"umg/app/prompt"
	"umg/views/format"
	playpages "umg/views/playground"
)

const runTitleRunes = 80

// runID matches the ids that the script of the page makes for runs. Calls with any other id are a run of their own.
var runID = regexp.MustCompile(`^run_[0-9a-z]{26}$`)

// RunContent is what the content of a kept answer of a run consists of.
type RunContent struct {
	Content prompt.Content `json:"content"`
	// Result has the times, the tokens and, once it was read, the cost of the answer.
	Result    playpages.Result `json:"result"`
	CostNanos int64            `json:"cost_nanos"`
}

// ReadRun reads the content of a kept answer.
func ReadRun(a *contentlog.RunAnswer) (RunContent, error) {
	var c RunContent
	if err := json.Unmarshal([]byte(a.Content), &c); err != nil {
		return c, app.Errorf(app.Internal, "internal_error", "The run cannot be read.").Because(err)
	}
	c.Result.Cost = app.Amount(c.CostNanos)
	return c, nil
}

// keepRun stores an answer with its conversation and settings where the account keeps the content of all calls. It reports whether the
// answer should have been kept and was not, which the page says. An answer that the reader stopped is kept, too.
func (c *Console) keepRun(p *page.Page, s *pane, answer playpages.Turn, r playpages.Result, began time.Time) (isUnkept bool) {
	if c.o.Content == nil || !p.User.KeepContent || blankTurn(answer) {
		return false
	}
	a, err := s.runAnswer(p, answer, r)
	if err != nil {
		return true
	}
	a.At = began
	kept, err := c.o.Content.KeepRunAnswer(context.WithoutCancel(p.Request().Context()), a)
	return err != nil || !kept
}

// runAnswer returns an answer as it is kept.
func (s *pane) runAnswer(p *page.Page, answer playpages.Turn, r playpages.Result) (contentlog.RunAnswer, error) {
	content, err := PaneContent(p, s.form)
	if err != nil {
		return contentlog.RunAnswer{}, err
	}
	// The message that was sent is a turn of the run, and no message that is not sent yet.
	content.Turns, content.Prompt, content.Image = nil, "", ""
	for _, t := range append(s.conversation(), answer) {
		turn := prompt.Turn{Role: roleOf(t), Text: t.Text, Image: t.Image, Call: t.CallID}
		for _, one := range t.Calls {
			turn.Calls = append(turn.Calls, prompt.Call{ID: one.ID, Name: one.Name, Arguments: one.Arguments})
		}
		content.Turns = append(content.Turns, turn)
	}
	document, err := runDocument(RunContent{Content: content, Result: r, CostNanos: int64(r.Cost)})
	if err != nil {
		return contentlog.RunAnswer{}, err
	}
	id := s.form.Get("run")
	if !runID.MatchString(id) {
		id = "run_" + strings.TrimPrefix(p.RequestID(), "req_")
	}
	return contentlog.RunAnswer{
		AccountID: p.User.AccountID, RunID: id, Pane: s.view.Number, RequestID: r.RequestID, UserID: p.User.ID, Model: s.model.ID,
		Title: runTitle(content.Turns), Content: document,
	}, nil
}

// runDocument writes the content of an answer. It leaves out images that are too large to keep.
func runDocument(c RunContent) (string, error) {
	document, err := json.Marshal(c)
	if err != nil || len(document) <= contentlog.RunAnswerBytesMax {
		return string(document), err
	}
	for i := range c.Content.Turns {
		if t := &c.Content.Turns[i]; strings.HasPrefix(t.Image, "data:") {
			t.Image, t.Text = "", strings.TrimSpace(t.Text+"\n\n[The image is not kept.]")
		}
	}
	document, err = json.Marshal(c)
	return string(document), err
}

// runTitle is the beginning of the newest message of the reader.
func runTitle(turns []prompt.Turn) string {
	title := ""
	for _, t := range turns {
		if t.Role == prompt.User {
			title = cmp.Or(strings.TrimSpace(t.Text), "Image")
		}
	}
	if !utf8.ValidString(title) {
		return ""
	}
	return format.Truncate(strings.Join(strings.Fields(title), " "), runTitleRunes)
}

// runPanes are the panes of the run that the query names, or nil if it names none. Only readers who may read content open runs.
func (c *Console) runPanes(p *page.Page) (*pane, error) {
	id := p.QueryParam("run")
	if id == "" || p.Request().Method == http.MethodPost {
		return nil, nil
	}
	if c.o.Content == nil || !p.Principal().Rights.Has(app.ReadContent) {
		return nil, page.ErrNotFound()
	}
	answers, err := c.o.Content.RunAnswersOf(p.Request().Context(), p.User.AccountID, id)
	if err != nil {
		return nil, err
	}
	var first *pane
	for i := range answers[:min(len(answers), playpages.PanesMax)] {
		one, err := ReadRun(&answers[i])
		if err != nil {
			return nil, err
		}
		values, err := contentValues(&one.Content)
		if err != nil {
			return nil, err
		}
		s := c.readPane(p, values, one.Content.Model)
		if n := len(s.view.Form.Turns); n > 0 {
			s.view.Form.Turns[n-1].Result = &one.Result
		}
		if first == nil {
			first = s
			continue
		}
		s.view.Number = i
		first.view.Others = append(first.view.Others, s.view.Pane)
	}
	return first, nil
}

// teeListener passes what it receives on, and collects it.
type teeListener struct {
	listener

	heard *wholeAnswer
}

func (t teeListener) text(s string) error {
	_ = t.heard.text(s) // It only collects.
	return t.listener.text(s)
}

func (t teeListener) call(index int, c playpages.ToolCall) error {
	_ = t.heard.call(index, c) // It only collects.
	return t.listener.call(index, c)
}
