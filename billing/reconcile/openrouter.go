package reconcile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The columns of an activity export. Those of the activity report, GET /api/v1/activity, are listed at
// openrouter.ai/docs/api/api-reference/analytics/get-user-activity, read on 2026-11-27; the file with one row for each call has the
// second names. The cost is in credits, and a credit is a dollar. Completion tokens include reasoning tokens.
var (
	dateColumn      = []string{"date", "created_at"}
	modelColumn     = []string{"model", "model_permaslug"}
	costColumn      = []string{"usage", "cost_total"}
	promptColumn    = []string{"prompt_tokens", "tokens_prompt"}
	outputColumn    = []string{"completion_tokens", "tokens_completion"}
	reasoningColumn = []string{"reasoning_tokens", "tokens_reasoning"}
	callsColumn     = []string{"requests"}
)

// dateLayouts are the forms of dates, without the letters and spaces between day and time.
var dateLayouts = []string{time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05"}

// activityTable reads the rows of a CSV file by the names of its columns.
type activityTable struct {
	reader *csv.Reader
	header []string
	row    []string
}

// cell returns the value of the column that has one of the names, and its name. The name is empty when there is no such column.
func (t *activityTable) cell(names []string) (name, value string) {
	for _, name := range names {
		if i := slices.Index(t.header, name); i >= 0 {
			return name, strings.TrimSpace(t.row[i])
		}
	}
	return "", ""
}

// unreadable says what is wrong with a cell of the present row.
func (t *activityTable) unreadable(name string, err error) error {
	line, _ := t.reader.FieldPos(max(slices.Index(t.header, name), 0))
	return &UnreadableError{Line: line, Field: name, Err: err}
}

// readActivityCSV adds up the rows of a CSV file.
func (b *builder) readActivityCSV(data []byte) error {
	t := &activityTable{reader: csv.NewReader(bytes.NewReader(data))}
	for {
		row, err := t.reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return csvError(err)
		}
		if t.header == nil {
			if err := t.readHeader(row); err != nil {
				return err
			}
			continue
		}
		t.row = row
		if err := t.add(b); err != nil {
			return err
		}
	}
	return nil
}

// readHeader keeps the names of the columns in lower case.
func (t *activityTable) readHeader(row []string) error {
	for _, name := range row {
		t.header = append(t.header, strings.ToLower(strings.TrimSpace(name)))
	}
	for _, names := range [][]string{dateColumn, modelColumn, costColumn, promptColumn, outputColumn} {
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(t.header, name) }) {
			return &UnreadableError{Line: 1, Field: names[0], Err: errors.New("the file has no such column")}
		}
	}
	return nil
}

// csvError names the line of an error of the CSV reader.
func csvError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	reason := parse.Err
	switch {
	case errors.Is(reason, csv.ErrFieldCount):
		reason = errors.New("the row has more or fewer cells than the header")
	case errors.Is(reason, csv.ErrQuote), errors.Is(reason, csv.ErrBareQuote):
		reason = errors.New("a quotation mark is missing or in the wrong place")
	}
	return &UnreadableError{Line: parse.Line, Err: reason}
}

// add adds the present row.
func (t *activityTable) add(b *builder) error {
	name, value := t.cell(dateColumn)
	day, err := activityDay(value)
	if err != nil {
		return t.unreadable(name, err)
	}
	e := entry{counts: map[Measure]number{}}
	if name, e.model = t.cell(modelColumn); e.model == "" {
		return t.unreadable(name, errors.New("the cell is empty"))
	}
	name, value = t.cell(costColumn)
	cost, err := parseMoney(value, 0)
	if err != nil {
		return t.unreadable(name, err)
	}
	e.cost = &cost
	e.counts[Calls] = number{value: 1, isStated: true} // A file without this column has a row for each call.
	for q, names := range map[Measure][]string{
		Calls: callsColumn, InputTokens: promptColumn, OutputTokens: outputColumn, ReasoningTokens: reasoningColumn,
	} {
		name, value = t.cell(names)
		if name == "" || value == "" && q == ReasoningTokens {
			continue
		}
		if e.counts[q], err = parseNumber(value); err != nil {
			return t.unreadable(name, err)
		}
	}
	return b.add(day, e)
}

// activityDay reads the day of a row. Times are in UTC.
func activityDay(s string) (Day, error) {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return DayOf(t), nil
		}
	}
	return "", errors.New("this is not a day such as 2026-11-27")
}

// activityPage is the answer of GET /api/v1/activity.
type activityPage struct {
	Data []struct {
		Date             text    `json:"date"`
		Model            text    `json:"model"`
		Usage            dollars `json:"usage"`
		Requests         number  `json:"requests"`
		PromptTokens     number  `json:"prompt_tokens"`
		CompletionTokens number  `json:"completion_tokens"`
		ReasoningTokens  number  `json:"reasoning_tokens"`
	} `json:"data"`
}

// readActivityJSON adds up the items of the activity report as JSON.
func (b *builder) readActivityJSON(data []byte) error {
	return readDocuments(data, func(p activityPage, line int) error {
		for i, one := range p.Data {
			unreadable := func(member, reason string) error {
				return &UnreadableError{Line: line, Field: fmt.Sprintf("/data/%d/%s", i, member), Err: errors.New(reason)}
			}
			day, err := activityDay(string(one.Date))
			switch {
			case err != nil:
				return unreadable("date", err.Error())
			case one.Model == "":
				return unreadable("model", "the member is missing")
			case one.Usage.money == nil:
				return unreadable("usage", "the member is missing")
			case !one.Requests.isStated || !one.PromptTokens.isStated || !one.CompletionTokens.isStated:
				return unreadable("requests", "requests, prompt_tokens and completion_tokens must be stated")
			}
			err = b.add(day, entry{model: string(one.Model), cost: one.Usage.money, counts: map[Measure]number{
				Calls: one.Requests, InputTokens: one.PromptTokens, OutputTokens: one.CompletionTokens, ReasoningTokens: one.ReasoningTokens,
			}})
			if err != nil {
				return unreadable("model", err.Error())
			}
		}
		return nil
	})
}
