package errorclass

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	textRunesMax = 600 // The rows see no more of a text.
	detailsMax   = 16  // Read reads no more details of an error.
)

// Report is what an error says of itself.
type Report struct {
	Message string
	Code    string // Code is a word or the digits of a number.
	Type    string

	number     int // Number is the status that the error states, or zero.
	reasons    []string
	texts      []string
	quotas     []string
	retryDelay string
}

// detail is an element of error.details of Google.
type detail struct {
	Reason     jsontext.Value            `json:"reason"`
	Detail     jsontext.Value            `json:"detail"`
	RetryDelay jsontext.Value            `json:"retryDelay"`
	Metadata   map[string]jsontext.Value `json:"metadata"`
	Violations []struct {
		QuotaID jsontext.Value `json:"quotaId"`
	} `json:"violations"`
}

// Read finds the members of an error in the usual places of its body.
func Read(body []byte) Report {
	var top map[string]jsontext.Value
	if json.Unmarshal(body, &top, llm.Lenient) != nil {
		return Report{}
	}
	inner, number := top, statusOf(top["code"])
	switch raw := top["error"]; raw.Kind() {
	case '"':
		r := Report{Message: stringOf(raw), Code: wordOf(top["code"]), number: number}
		r.texts = []string{app.Truncate(r.Message, textRunesMax)}
		return r
	case '{':
		inner = nil
		_ = json.Unmarshal(raw, &inner, llm.Lenient) // It is valid JSON, as checked above.
	}
	r := Report{Code: wordOf(inner["code"]), Type: stringOf(inner["type"]), number: number}
	for _, name := range []string{"code", "status", "status_code", "http_code"} {
		if r.number == 0 && top["error"].Kind() == '{' {
			r.number = statusOf(inner[name])
		}
	}
	if r.Type == "" {
		r.Type = stringOf(inner["error_type"])
	}
	for _, name := range []string{"message", "detail"} {
		if r.Message = stringOf(inner[name]); r.Message != "" {
			break
		}
	}
	r.texts = []string{app.Truncate(r.Message, textRunesMax)}
	if s := stringOf(inner["status"]); s != "" {
		r.reasons = append(r.reasons, s)
	}
	r.readDetails(inner["details"])
	return r
}

// readDetails reads the details of an error of Google.
func (r *Report) readDetails(raw jsontext.Value) {
	var list []jsontext.Value
	if raw.Kind() != '[' || json.Unmarshal(raw, &list, llm.Lenient) != nil {
		return
	}
	for _, element := range list[:min(len(list), detailsMax)] {
		var d detail
		if json.Unmarshal(element, &d, llm.Lenient) != nil {
			continue
		}
		if s := stringOf(d.Reason); s != "" {
			r.reasons = append(r.reasons, s)
		}
		if s := stringOf(d.Detail); s != "" {
			r.texts = append(r.texts, app.Truncate(s, textRunesMax))
		}
		if s := stringOf(d.RetryDelay); s != "" {
			r.retryDelay = s
		}
		if s := stringOf(d.Metadata["quota_limit"]); s != "" {
			r.quotas = append(r.quotas, s)
		}
		for _, v := range d.Violations[:min(len(d.Violations), detailsMax)] {
			r.quotas = append(r.quotas, stringOf(v.QuotaID))
		}
	}
}

// Status returns the status of an error in an answer with status 200: the one that it states, or else the one of its code or type.
func (r *Report) Status() int {
	if r.number > 0 {
		return r.number
	}
	for _, word := range []string{r.Code, r.Type} {
		word = strings.ToLower(word)
		for _, s := range table.statuses {
			if s.word.matches(word) {
				return s.status
			}
		}
	}
	return http.StatusBadGateway
}

// statusOf returns the status of an error that a number or its digits stand for, or zero.
func statusOf(raw jsontext.Value) int {
	if n, err := strconv.Atoi(wordOf(raw)); err == nil && n >= statusMin && n <= statusMax {
		return n
	}
	return 0
}

// wordOf returns a string, or the digits of a number.
func wordOf(raw jsontext.Value) string {
	if raw.Kind() == '0' {
		return string(raw)
	}
	return stringOf(raw)
}

func stringOf(raw jsontext.Value) string {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return s
}
