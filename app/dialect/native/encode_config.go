package native

import (
	"strconv"
	"strings"

	"umg/app"
	"umg/app/llm"
)

// config writes the members of generationConfig. The object is left out when it has none.
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
	seed := s.Seed
	if n, err := strconv.ParseInt(string(seed), 10, 64); err == nil && n != int64(int32(n)) {
		seed = llm.Number(strconv.FormatInt(n&0x7fffffff, 10)) // The style takes 32 bits.
	}
	c.number("seed", seed)
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

// belowTwo returns a penalty below 2. Other styles also allow 2 itself.
func belowTwo(n llm.Number) llm.Number {
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && f >= 2 {
		return "1.999"
	}
	return n
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
	// budgetMax is the largest thinking budget, in tokens, that every model of this style takes.
	budgetMax = 24_576
)

// thinking writes the reasoning options as a budget, which more models take than levels. It asks for thoughts unless the request omits
// them, because the other styles return them by default.
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
