package reconcile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// page is a page of a report of OpenAI or Anthropic. A file may have several, one after the other.
type page[R result] struct {
	Data    []bucket[R] `json:"data"`
	HasMore bool        `json:"has_more"`
}

// bucket is the usage or the costs of a span of time. OpenAI calls its bounds start_time and end_time, Anthropic starting_at and ending_at.
type bucket[R result] struct {
	StartTime  instant `json:"start_time"`
	EndTime    instant `json:"end_time"`
	StartingAt instant `json:"starting_at"`
	EndingAt   instant `json:"ending_at"`
	Results    []R     `json:"results"`
}

// result is a row of a bucket.
type result interface {
	entry() (entry, error)
}

// bounds returns the span of the bucket.
func (b *bucket[R]) bounds() (start, end time.Time, err error) {
	start, end = b.StartTime.Time, b.EndTime.Time
	if start.IsZero() {
		start, end = b.StartingAt.Time, b.EndingAt.Time
	}
	switch {
	case start.IsZero() || end.IsZero():
		return start, end, errors.New("the bucket has no start_time and end_time, or starting_at and ending_at")
	case !end.After(start):
		return start, end, errors.New("the bucket ends before it begins")
	case DayOf(start) != DayOf(end.Add(-1)):
		return start, end, errors.New("the bucket is longer than a day of UTC; export with bucket_width=1d")
	}
	return start, end, nil
}

// readPages adds up the results of all pages of a file.
func readPages[R result](b *builder, data []byte) error {
	seen := map[time.Time]bool{}
	isCut := false
	err := readDocuments(data, func(p page[R], line int) error {
		isCut = p.HasMore
		if p.Data == nil {
			return &UnreadableError{Line: line, Field: "/data", Err: errors.New("the member is missing")}
		}
		for i := range p.Data {
			one, field := &p.Data[i], fmt.Sprintf("/data/%d", i)
			start, _, err := one.bounds()
			if err == nil && seen[start] {
				err = fmt.Errorf("the bucket of %s occurs twice in the file", start.UTC().Format(time.RFC3339))
			}
			if err != nil {
				return &UnreadableError{Line: line, Field: field, Err: err}
			}
			seen[start] = true
			b.export.Period.extend(DayOf(start))
			for k, r := range one.Results {
				e, err := r.entry()
				if err == nil {
					err = b.add(DayOf(start), e)
				}
				if err != nil {
					return &UnreadableError{Line: line, Field: fmt.Sprintf("%s/results/%d", field, k), Err: err}
				}
			}
		}
		return nil
	})
	if isCut {
		b.export.Notes = append(b.export.Notes, "the last page says has_more: later days are in further pages, which you can append to the file")
	}
	return err
}

// readDocuments decodes the JSON documents of a file, one after the other, and passes each with the line on which it begins.
func readDocuments[T any](data []byte, work func(document T, line int) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if d.PeekKind() == jsontext.KindInvalid {
			_, err := d.ReadToken()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return jsonError(data, err)
		}
		line := lineAt(data, d.InputOffset()+1)
		var document T
		if err := json.UnmarshalDecode(d, &document); err != nil {
			return jsonError(data, err)
		}
		if err := work(document, line); err != nil {
			return err
		}
	}
}

// jsonError turns an error of the decoder into one that names the line and the member.
func jsonError(data []byte, err error) error {
	unreadable := &UnreadableError{Err: err}
	var meaning *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &meaning):
		unreadable.Line, unreadable.Field = lineAt(data, meaning.ByteOffset), string(meaning.JSONPointer)
		if unreadable.Err = meaning.Err; meaning.Err == nil {
			unreadable.Err = errors.New("the value has the wrong type")
		}
	case errors.As(err, &syntax):
		unreadable.Line, unreadable.Field, unreadable.Err = lineAt(data, syntax.ByteOffset), string(syntax.JSONPointer), syntax.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		unreadable.Line, unreadable.Err = lineAt(data, int64(len(data))), errors.New("the file ends in the middle")
	}
	return unreadable
}

// outline is what tells the format of a JSON file.
type outline struct {
	Data []struct {
		Date    jsontext.Value `json:"date"`
		Results []struct {
			Object              text           `json:"object"`
			Amount              jsontext.Value `json:"amount"`
			UncachedInputTokens jsontext.Value `json:"uncached_input_tokens"`
		} `json:"results"`
	} `json:"data"`
}

// recognise finds the format of a JSON file.
func recognise(data []byte) (f Format, err error) {
	err = readDocuments(data, func(o outline, _ int) error {
		for _, one := range o.Data {
			if len(one.Date) > 0 {
				f = OpenRouterActivity
			}
			for _, r := range one.Results {
				switch {
				case r.Object == openAICostObject:
					f = OpenAICosts
				case r.Object == openAIUsageObject:
					f = OpenAIUsage
				case strings.HasPrefix(string(r.Object), "organization."):
					return &UnreadableError{Err: fmt.Errorf("the file has results of %s; only costs and usage of completions can be compared", r.Object)}
				case len(r.UncachedInputTokens) > 0:
					f = AnthropicUsage
				case len(r.Amount) > 0:
					f = AnthropicCost
				}
			}
		}
		return nil
	})
	if err == nil && f == "" {
		err = &UnreadableError{Err: errors.New("the format cannot be recognised from the content; name it with --format")}
	}
	return f, err
}
