package native

import (
	"strconv"
	"strings"

	"umg/app"
	"umg/app/llm"
)

// config writes the members of generationConfig, which is left out when it has none.
type config struct {
	dst   []byte
	begun bool
}

func (c *config) name(name string) {
	if c.begun {
		c.dst = append(c.dst, ',')
	} else {
		c.dst = append(c.dst, `,"generationConfig":{`...)
		c.begun = true
	}
	c.dst = append(append(append(c.dst, '"'), name...), `":`...)
}

func (c *config) number(name string, n llm.Number) {
	if n != "" {
		c.name(name)
		c.dst = append(c.dst, n...)
	}
}

func encodeConfig(dst []byte, r *llm.Request) ([]byte, error) {
	c := config{dst: dst}
	s := &r.Sampling
	c.number("temperature", s.Temperature)
	c.number("topP", s.TopP)
	c.number("topK", s.TopK)
	c.number("presencePenalty", belowTwo(s.PresencePenalty))
	c.number("frequencyPenalty", belowTwo(s.FrequencyPenalty))
	c.number("seed", shortSeed(s.Seed))
	if r.MaxOutput > 0 {
		c.number("maxOutputTokens", llm.Number(strconv.FormatInt(r.MaxOutput, 10)))
	}
	if len(r.Stop) > 0 {
		c.name("stopSequences")
		c.dst = appendStrings(c.dst, r.Stop)
	}
	if err := c.format(&r.Format); err != nil {
		return nil, err
	}
	if err := c.thinking(r.Reasoning); err != nil {
		return nil, err
	}
	if c.begun {
		c.dst = append(c.dst, '}')
	}
	return c.dst, nil
}

// belowTwo is a penalty that this wire takes: elsewhere the range has its upper end, here not.
func belowTwo(n llm.Number) llm.Number {
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && f >= 2 {
		return "1.999"
	}
	return n
}

// shortSeed is a seed of 32 bits, the same for the same seed.
func shortSeed(n llm.Number) llm.Number {
	seed, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || seed == int64(int32(seed)) {
		return n
	}
	return llm.Number(strconv.FormatInt(seed&0x7fffffff, 10))
}

func (c *config) format(f *llm.Format) error {
	switch f.Kind {
	case llm.FormatText:
		c.name("responseMimeType")
		c.dst = append(c.dst, `"text/plain"`...)
	case llm.FormatJSON, llm.FormatSchema:
		c.name("responseMimeType")
		c.dst = append(c.dst, `"application/json"`...)
	}
	if f.Kind != llm.FormatSchema || len(f.Schema) == 0 {
		return nil
	}
	c.name("responseJsonSchema")
	dst, err := appendSchema(c.dst, f.Schema, "The schema of the answer's format")
	c.dst = dst
	return err
}

const (
	// dynamic is the budget that leaves the amount of thinking to the model.
	dynamic = "-1"
	// budgetMax is the most thinking, in tokens, that every model of this style takes; providers refuse more.
	budgetMax = 24_576
)

// thinking writes the wish for reasoning as a budget, which more models take than levels. Thoughts are shown unless
// they are not wanted, since the other styles show them to all.
func (c *config) thinking(o llm.ReasoningOptions) error {
	if o == (llm.ReasoningOptions{}) {
		return nil
	}
	budget := o.Budget
	if (budget == "" || budget == dynamic) && o.Effort != "" {
		tokens, known := llm.BudgetOf(o.Effort)
		if !known {
			return app.Errorf(app.Invalid, "invalid_request_error",
				"The reasoning effort %q is none of none, minimal, low, medium, high, xhigh and max.", strings.ToValidUTF8(string(o.Effort), "\ufffd"))
		}
		budget = llm.Number(strconv.FormatInt(tokens, 10))
	}
	if n, err := strconv.ParseInt(string(budget), 10, 64); err == nil && n > budgetMax {
		budget = llm.Number(strconv.FormatInt(budgetMax, 10))
	}
	c.name("thinkingConfig")
	c.dst = append(c.dst, '{')
	switch {
	case budget == "0":
		c.dst = append(c.dst, `"thinkingBudget":0`...)
	case o.Show == "omitted":
		c.dst = append(c.dst, `"includeThoughts":false`...)
	default:
		c.dst = append(c.dst, `"includeThoughts":true`...)
	}
	if budget != "" && budget != "0" {
		c.dst = append(append(c.dst, `,"thinkingBudget":`...), budget...)
	}
	c.dst = append(c.dst, '}')
	return nil
}
