package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// leaveAfter is how many pieces of a stream come before the program leaves.
const leaveAfter = 4

// wanted is the form of an error in a style. A field is empty or zero when the style, or its client, does not have it.
type wanted struct {
	status      int
	kind        string
	code, param string
	// says is a part of the message.
	says string
}

// sentences are the errors of one style.
type sentences struct {
	badModel, missing, wrongKey, down, cut wanted
}

// unknownModel is in no catalog.
const unknownModel = "unknown/nothing"

// expected is the error table of each style, as its clients read it.
func expected(style string) sentences {
	switch style {
	case "messages":
		return sentences{
			badModel: wanted{status: 404, kind: "not_found_error", says: unknownModel},
			missing:  wanted{status: 400, kind: "invalid_request_error", says: "messages"},
			wrongKey: wanted{status: 401, kind: "authentication_error"},
			down:     wanted{status: 502, kind: "api_error"},
			cut:      wanted{kind: "api_error"},
		}
	case "responses":
		return sentences{
			badModel: wanted{404, "invalid_request_error", "model_not_found", "model", unknownModel},
			missing:  wanted{400, "invalid_request_error", "missing_required_parameter", "input", "input"},
			wrongKey: wanted{401, "authentication_error", "invalid_api_key", "", ""},
			down:     wanted{502, "server_error", "upstream_error", "", ""},
			cut:      wanted{code: "server_error"},
		}
	case "native":
		return sentences{
			badModel: wanted{status: 404, kind: "NOT_FOUND", says: unknownModel},
			missing:  wanted{status: 400, kind: "INVALID_ARGUMENT", says: "contents"},
			wrongKey: wanted{status: 401, kind: "UNAUTHENTICATED"},
			down:     wanted{status: 502, kind: "INTERNAL"},
			cut:      wanted{status: 502, kind: "INTERNAL"},
		}
	default:
		return sentences{
			badModel: wanted{404, "invalid_request_error", "model_not_found", "model", unknownModel},
			missing:  wanted{400, "invalid_request_error", "invalid_request_error", "messages", "messages"},
			wrongKey: wanted{401, "authentication_error", "invalid_api_key", "", ""},
			down:     wanted{502, "server_error", "upstream_error", "", ""},
			cut:      wanted{kind: "server_error", code: "upstream_error"},
		}
	}
}

// errors are the cases in which something goes wrong.
func (r *run) errors() {
	want := expected(r.kind.Style)
	model := r.Models[r.kind.Style]
	for _, mode := range []string{"standard", "documented"} {
		// The other styles have true statuses in both modes.
		documented := mode == "documented" && r.kind.Style == "chat"
		o := Options{Header: map[string]string{"X-Error-Status": mode}}
		r.failing(mode+"/bad model", o, Question{Model: unknownModel, Prompt: "x"}, documented, want.badModel)
		o.LeaveOut = true
		r.failing(mode+"/missing field", o, Question{Model: model, Prompt: "x"}, documented, want.missing)
		o.LeaveOut = false
		o.Key = "sk-umg-wrong"
		r.failing(mode+"/wrong key", o, Question{Model: model, Prompt: "x"}, false, want.wrongKey)
		o.Key = ""
		for _, upstream := range slices.Sorted(maps.Keys(r.Down)) {
			r.failing(mode+"/"+upstream+"/upstream down", o, Question{Model: r.Down[upstream], Prompt: "x"}, documented, want.down)
		}
	}
	for _, upstream := range slices.Sorted(maps.Keys(r.Cut)) {
		r.check(upstream+"/stream/error in the middle", func(ctx context.Context) error { return r.cut(ctx, r.Cut[upstream], want.cut) })
	}
	r.check("stream/leave", r.leave)
}

// failing runs a question that must fail, whole and as a stream. In documented mode a whole answer has status 200, so
// that the client does not raise it.
func (r *run) failing(name string, o Options, q Question, documented bool, want wanted) {
	o.Origin = r.Origin
	if o.Key == "" {
		o.Key = r.Key
	}
	client, err := r.kind.Dial(o)
	r.check(name+"/json", func(ctx context.Context) error {
		if err != nil {
			return err
		}
		_, err := client.Ask(ctx, q)
		return r.fails(err, want, !documented, documented)
	})
	r.check(name+"/stream", func(ctx context.Context) error {
		if err != nil {
			return err
		}
		_, err := client.Stream(ctx, q, func() {})
		return r.fails(err, want, true, documented)
	})
}

func (r *run) fails(err error, want wanted, raised, documented bool) error {
	if err == nil {
		return errors.New("no error was raised")
	}
	f := r.client.Explain(err)
	if f.Raised != raised {
		return fmt.Errorf("raised: %v, in %+v", f.Raised, f)
	}
	if documented {
		want.status = 0
	}
	wrong := want.status != 0 && f.Status != want.status || want.kind != "" && f.Type != want.kind || want.code != "" && f.Code != want.code
	if wrong || want.param != "" && f.Param != want.param || f.Message == "" || !strings.Contains(f.Message, want.says) {
		return fmt.Errorf("the client says %+v and should say %+v", f, want)
	}
	return nil
}

// cut is a stream whose upstream fails after some of it: what came stays, then an error, and no end is invented.
func (r *run) cut(ctx context.Context, model string, want wanted) error {
	a, err := r.client.Stream(ctx, Question{Model: model, Prompt: "count to 100"}, func() {})
	if wrong := r.fails(err, want, true, false); wrong != nil {
		return fmt.Errorf("%w after %q", wrong, a.Text)
	}
	if !strings.HasPrefix(a.Text, "1 2") {
		err = fmt.Errorf("before the error came %q", a.Text)
	} else {
		err = nil
	}
	return errors.Join(err, same("the finish reason", a.Finish, ""))
}

// leave cancels in the middle of a stream: the client must come back at once. What the gateway charged is in its
// own records.
func (r *run) leave(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var left time.Time
	seen := 0
	a, err := r.client.Stream(ctx, Question{Model: r.Slow, Prompt: r.Leave}, func() {
		if seen++; seen == leaveAfter {
			left = time.Now()
			cancel()
		}
	})
	switch took := time.Since(left); {
	case left.IsZero():
		return fmt.Errorf("the stream ended after %d pieces: %w", seen, err)
	case err == nil || ctx.Err() == nil:
		return fmt.Errorf("the stream went on to its end: %q", a.Text)
	case took > leaveTimeMax:
		return fmt.Errorf("it took %s to leave", took)
	}
	return nil
}
