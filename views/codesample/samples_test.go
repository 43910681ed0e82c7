package codesample

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestSamplesRunAsTheyStand(t *testing.T) {
	t.Parallel()
	call := Call{BaseURL: "http://127.0.0.1:8080/v1", Key: "sk-umg-abc", Model: `odd"model`}
	for _, s := range OfCall(call) {
		if strings.Contains(s.Source, "{base") || strings.Contains(s.Source, "{key") || strings.Contains(s.Source, "{model") {
			t.Errorf("%s has an unfilled place:\n%s", s.Name, s.Source)
		}
		for _, want := range []string{call.BaseURL, call.Key, `"odd\"model"`} {
			if !strings.Contains(s.Source, want) {
				t.Errorf("%s lacks %s", s.Name, want)
			}
		}
	}
	byName := map[string]string{}
	for _, s := range OfCall(call) {
		byName[s.Name] = s.Source
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "main.go", byName["go"], parser.AllErrors); err != nil {
		t.Errorf("the Go sample does not parse: %v", err)
	}
	_, body, _ := strings.Cut(byName["curl"], "-d '")
	var sent struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(body, "'")), &sent); err != nil || sent.Model != call.Model || len(sent.Messages) != 1 {
		t.Errorf("the cURL sample sends %+v, %v", sent, err)
	}
}

func TestSamplesWithoutAKeySayWhereItGoes(t *testing.T) {
	t.Parallel()
	for _, s := range OfCall(Call{BaseURL: "https://x/v1", Model: "m"}) {
		if strings.Count(s.Source, KeyVariable) != 1 || strings.Contains(s.Source, KeyPlaceholder) {
			t.Errorf("%s does not say where the key goes", s.Name)
		}
	}
}

func TestEnvLinesHaveTheVariablesOfTheCode(t *testing.T) {
	t.Parallel()
	if got := EnvLines("sk", "https://x/v1"); got != "UMG_BASE_URL=https://x/v1\nUMG_API_KEY=sk" {
		t.Error(got)
	}
}
