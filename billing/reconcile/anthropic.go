package reconcile

import (
	"cmp"
	"errors"
)

// anthropicUsage is a result of GET /v1/organizations/usage_report/messages with group_by[]=model. The members are those of
// platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages, read on 2026-11-27. The report does not count calls.
type anthropicUsage struct {
	UncachedInputTokens  number `json:"uncached_input_tokens"`
	CacheReadInputTokens number `json:"cache_read_input_tokens"`
	CacheCreation        struct {
		Ephemeral1hInputTokens number `json:"ephemeral_1h_input_tokens"`
		Ephemeral5mInputTokens number `json:"ephemeral_5m_input_tokens"`
	} `json:"cache_creation"`
	OutputTokens  number `json:"output_tokens"`
	ServerToolUse struct {
		WebSearchRequests number `json:"web_search_requests"`
	} `json:"server_tool_use"`
	Model text `json:"model"`
}

func (r anthropicUsage) entry() (entry, error) {
	switch {
	case !r.UncachedInputTokens.isStated:
		return entry{}, errors.New("uncached_input_tokens is missing")
	case !r.OutputTokens.isStated:
		return entry{}, errors.New("output_tokens is missing")
	}
	return entry{model: string(r.Model), counts: map[Measure]number{
		UncachedInputTokens: r.UncachedInputTokens, CachedInputTokens: r.CacheReadInputTokens,
		CacheWrite5mTokens: r.CacheCreation.Ephemeral5mInputTokens, CacheWrite1hTokens: r.CacheCreation.Ephemeral1hInputTokens,
		OutputTokens: r.OutputTokens, WebSearches: r.ServerToolUse.WebSearchRequests,
	}}, nil
}

// anthropicCost is a result of GET /v1/organizations/cost_report with group_by[]=description. The members are those of
// platform.claude.com/docs/en/api/admin/cost_report/retrieve, read on 2026-11-27. The amount is text in cents: "123.45" is $1.2345. Charges
// for anything but tokens name no model. The report leaves out the priority tier.
type anthropicCost struct {
	Amount      cents    `json:"amount"`
	Currency    currency `json:"currency"`
	CostType    text     `json:"cost_type"`
	Description text     `json:"description"`
	Model       text     `json:"model"`
}

func (r anthropicCost) entry() (entry, error) {
	if r.Amount.money == nil {
		return entry{}, errors.New("amount is missing")
	}
	e := entry{model: string(r.Model), cost: r.Amount.money}
	if e.model == "" {
		e.item = string(cmp.Or(r.Description, r.CostType))
	}
	return e, nil
}
