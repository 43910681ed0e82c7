package catalog

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"umg/app/postgres"
	"umg/billing"
)

// ParseCost reads the cost of a route as a file has it. An empty text is nil. Errors name the line.
func ParseCost(text string) (*FileCost, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	cost := &FileCost{}
	return cost, parsePart(text, cost)
}

// ParseConditions reads the conditions of prices as a file has them. Errors name the line.
func ParseConditions(text string) (list []FileCondition, err error) {
	return list, parsePart(text, &list)
}

// ParseSizeRates reads the prices by size as a file has them. Errors name the line.
func ParseSizeRates(text string) (sizes map[string]Rates, err error) {
	return sizes, parsePart(text, &sizes)
}

// parsePart reads a part of a file into a value. The error is one sentence.
func parsePart(text string, value any) error {
	raw := []byte(text)
	if len(raw) > fileBytesMax {
		return fmt.Errorf("the text is longer than %d bytes", fileBytesMax)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	err := dec.Decode(value)
	if errors.Is(err, io.EOF) { // The text is empty.
		err = nil
	}
	if err == nil {
		return nil
	}
	sentence := strings.TrimPrefix(nameFields(raw, err).Error(), "yaml: ")
	if _, list, ok := strings.Cut(sentence, "unmarshal errors:\n"); ok {
		sentence, _, _ = strings.Cut(strings.TrimSpace(list), "\n")
	}
	sentence = unknownFieldForm.ReplaceAllString(sentence, "$1 is not a field here")
	return errors.New(wrongNumberForm.ReplaceAllString(sentence, "$1: $3: “$2” is not a whole number"))
}

var (
	// unknownFieldForm is the decoder's error of a field that a file does not have there.
	unknownFieldForm = regexp.MustCompile(`field ([^ ]+) not found in type .*`)
	// wrongNumberForm is the error of nameFields for a text in place of a number.
	wrongNumberForm = regexp.MustCompile("^(line [0-9]+): cannot unmarshal !![a-z]+ `([^`]*)` into int[0-9]*, at (.+)$")
)

// PartText prints a part of a file, such as a cost or a list of conditions, as the file has it.
func PartText(part any) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(part); err != nil {
		return "", fmt.Errorf("catalog: print: %w", err)
	}
	return b.String(), nil
}

// RateCard is the card of the model's prices, those that its markup makes included. It reports false for a model without right prices.
func (m *FileModel) RateCard() (billing.RateCard, bool) { return m.card() }

// RateCard is the card of a cost. It reports false for an unknown cost, and for one with problems.
func (c *FileCost) RateCard() (billing.RateCard, bool) {
	if c == nil || len(c.Rates) == 0 {
		return billing.RateCard{}, false
	}
	card, err := newCard("", c.Rates, c.Conditions)
	return card, err == nil
}

// AnnouncedChanges are the prices that the announced change of a model alters, a line each.
func (m *FileModel) AnnouncedChanges() []string {
	if m.Announced == nil {
		return nil
	}
	priced := *m
	if err := priced.applyMarkup(); err != nil {
		return nil
	}
	card, _ := priced.card()
	next, err := m.Announced.change()
	if err != nil {
		return nil
	}
	shown := Model{Prices: priced.Rates, SizePrices: priced.SizeRates, RateCard: card, Announced: next}
	shown.Sizes = m.Sizes
	var lines []string
	for _, d := range shown.Differences() {
		lines = append(lines, d.String())
	}
	return lines
}

// RetiredModel is a model that has left the catalog.
type RetiredModel struct {
	ID, Name, Owner string
	At              time.Time
}

// Retired finds a model that has left the catalog. It reports false for a model that is in the catalog, or never was.
func Retired(ctx context.Context, q postgres.Queryer, id string) (RetiredModel, bool, error) {
	var m RetiredModel
	var row struct {
		Name  string    `db:"name"`
		Owner string    `db:"owner"`
		At    time.Time `db:"retired_at"`
	}
	err := q.GetContext(ctx, &row, `
		select coalesce(entry ->> 'name', '') as name, coalesce(entry ->> 'owner', '') as owner, retired_at
		from models where id = $1 and retired_at is not null`, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return m, false, nil
	case err != nil:
		return m, false, postgres.StoreError("catalog: retired model", err)
	}
	return RetiredModel{ID: id, Name: row.Name, Owner: row.Owner, At: row.At}, true, nil
}

// WithDefaults is a text model with the limits that ParseFile gives a model without.
func (m FileModel) WithDefaults() FileModel {
	m.Limits.RequestsPerMinute = cmp.Or(m.Limits.RequestsPerMinute, requestsPerMinuteDefault)
	m.Limits.TokensPerMinute = cmp.Or(m.Limits.TokensPerMinute, tokensPerMinuteDefault)
	return m
}

// MarkedUp are the prices that the markup of a model makes; none when it cannot make them.
func (m *FileModel) MarkedUp() (Rates, []FileCondition) {
	priced := *m
	if err := priced.applyMarkup(); err != nil {
		return nil, nil
	}
	return priced.Rates, priced.Conditions
}
