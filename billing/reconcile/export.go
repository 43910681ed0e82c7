package reconcile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"umg/app"
)

// Format is a kind of export.
type Format string

// The formats.
const (
	OpenAICosts        Format = "openai-costs"
	OpenAIUsage        Format = "openai-usage"
	AnthropicUsage     Format = "anthropic-usage"
	AnthropicCost      Format = "anthropic-cost"
	OpenRouterActivity Format = "openrouter-activity"
)

// formats lists them.
var formats = []string{
	string(OpenAICosts), string(OpenAIUsage), string(AnthropicUsage), string(AnthropicCost), string(OpenRouterActivity),
}

// UnmarshalText reads the name of a format.
func (f *Format) UnmarshalText(text []byte) error {
	*f = Format(text)
	if !slices.Contains(formats, string(text)) {
		return fmt.Errorf("%q is not a format; formats are %s", text, strings.Join(formats, ", "))
	}
	return nil
}

// exportBytesMax is how large an export may be. A day of 1,000 models in groups of ten takes about 3 MB.
const exportBytesMax = 64 << 20

// countMax is the largest count of one row. Sums of all rows that fit in a file are below 2^63.
const countMax = 1 << 42

// UnreadableError says why an export cannot be read, and where.
type UnreadableError struct {
	// Line counts from 1; zero is unknown.
	Line int
	// Field is the column of a CSV file, or the JSON pointer of a member such as /data/0/results/2/amount.
	Field string
	// Err is the reason.
	Err error
}

// Error names the place and the reason.
func (e *UnreadableError) Error() string {
	var place []string
	if e.Line > 0 {
		place = append(place, fmt.Sprintf("line %d", e.Line))
	}
	if e.Field != "" {
		place = append(place, "field "+e.Field)
	}
	if len(place) == 0 {
		return e.Err.Error()
	}
	return strings.Join(place, ", ") + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Row is what an export states of one day and model.
type Row struct {
	Day Day
	// Model is the provider's name of the model. It is empty when the export is not divided by model, and for an Item.
	Model string
	// Item names a charge that belongs to no model, such as web search tool calls.
	Item string

	counts counts
	cost   app.Amount
}

// Export is what a provider's export states.
type Export struct {
	Format Format
	// ByModel reports whether the rows name models. If they do not, only whole days can be compared.
	ByModel bool
	// Period is from the first to the last day that the export covers. It is empty when the export has no days.
	Period Period
	// Rows are in order of day, model and item. Each occurs once.
	Rows []Row
	// Notes tell what the reader of a comparison must know.
	Notes []string

	stated  [measures]bool
	hasCost bool
}

// Parse reads an export. An empty format is recognised from the content. It returns an UnreadableError when the export cannot be read.
func Parse(r io.Reader, f Format) (Export, error) {
	data, err := io.ReadAll(io.LimitReader(r, exportBytesMax+1))
	if err != nil {
		return Export{}, err
	}
	if len(data) > exportBytesMax {
		return Export{}, &UnreadableError{Err: fmt.Errorf("the file is larger than %d MiB; export fewer days", exportBytesMax>>20)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Programs for tables begin a CSV file with this mark.
	line := 1
	for text := range bytes.Lines(data) {
		if !utf8.Valid(text) {
			return Export{}, &UnreadableError{Line: line, Err: errors.New("the file is not text in UTF-8")}
		}
		line++
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Export{}, &UnreadableError{Err: errors.New("the file is empty")}
	}
	isJSON := strings.ContainsRune("{[", rune(bytes.TrimSpace(data)[0]))
	if f == "" && isJSON {
		if f, err = recognise(data); err != nil {
			return Export{}, err
		}
	}
	b := &builder{export: Export{Format: cmp.Or(f, OpenRouterActivity)}, sums: map[rowKey]*sum{}}
	switch {
	case b.export.Format == OpenRouterActivity && !isJSON:
		err = b.readActivityCSV(data)
	case b.export.Format == OpenRouterActivity:
		err = b.readActivityJSON(data)
	case b.export.Format == OpenAICosts:
		err = readPages[openAICost](b, data)
	case b.export.Format == OpenAIUsage:
		err = readPages[openAIUsage](b, data)
	case b.export.Format == AnthropicUsage:
		err = readPages[anthropicUsage](b, data)
	case b.export.Format == AnthropicCost:
		err = readPages[anthropicCost](b, data)
	default:
		err = fmt.Errorf("reconcile: %q is not a format", f)
	}
	if err != nil {
		return Export{}, err
	}
	return b.finish()
}

// lineAt is the number of the line that contains an offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// entry is one row of a file, before rows of the same day and model are added up.
type entry struct {
	model, item string
	counts      map[Measure]number
	cost        *money
}

type rowKey struct {
	day         Day
	model, item string
}

type sum struct {
	counts counts
	cost   money
}

// builder adds up the rows of a file.
type builder struct {
	export         Export
	sums           map[rowKey]*sum
	named, unnamed bool
}

// add adds a row of a day.
func (b *builder) add(day Day, e entry) error {
	b.export.Period.extend(day)
	isNamed := e.model != "" || e.item != ""
	b.named, b.unnamed = b.named || isNamed, b.unnamed || !isNamed
	if b.named && b.unnamed {
		return errors.New("some rows name a model and some do not; export the file again, grouped by model")
	}
	key := rowKey{day: day, model: e.model, item: e.item}
	s := b.sums[key]
	if s == nil {
		s = &sum{}
		b.sums[key] = s
	}
	for q, n := range e.counts {
		b.export.stated[q] = b.export.stated[q] || n.isStated
		s.counts[q] += n.value
	}
	if e.cost != nil {
		b.export.hasCost = true
		s.cost.add(e.cost)
	}
	return nil
}

// finish returns the export with its rows in order.
func (b *builder) finish() (Export, error) {
	e := b.export
	e.ByModel = !b.unnamed
	for key, s := range b.sums {
		row := Row{Day: key.day, Model: key.model, Item: key.item, counts: s.counts}
		var err error
		if row.cost, err = s.cost.amount(); err != nil {
			return Export{}, &UnreadableError{Err: fmt.Errorf("%s %s: %w", key.day, cmp.Or(key.model, key.item, "all models"), err)}
		}
		e.Rows = append(e.Rows, row)
	}
	slices.SortFunc(e.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Item, b.Item))
	})
	return e, nil
}
