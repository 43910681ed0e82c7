package check

import (
	"errors"
	"strings"
	"testing"

	"umg/app/provider"
	"umg/app/provider/errorclass"
)

var errTest = errors.New("a test")

// sentenceRunesMax bounds a sentence of the table.
const sentenceRunesMax = 160

// TestAdviceIsOneSentenceThatSaysWhatToDo checks the words of the table.
func TestAdviceIsOneSentenceThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range advices {
		if seen[a.Problem] {
			t.Errorf("%s is there twice", a.Problem)
		}
		seen[a.Problem] = true
		for _, text := range []string{a.Found, a.Advice} {
			inner := strings.TrimSuffix(text, ".")
			if text == inner || strings.Contains(inner, ". ") || len([]rune(text)) > sentenceRunesMax || strings.ToUpper(text[:1]) != text[:1] {
				t.Errorf("%s: %q is not one short sentence", a.Problem, text)
			}
		}
		for _, w := range a.Words {
			if w != strings.ToLower(w) {
				t.Errorf("%s: %q is not in lower case", a.Problem, w)
			}
		}
	}
}

// TestEachFaultHasAdvice asks for the advice on each class of faults and each meaning of errors.
func TestEachFaultHasAdvice(t *testing.T) {
	t.Parallel()
	for class, want := range map[provider.Class]string{
		provider.ClassConnect: "unreachable", provider.ClassDNS: "name", provider.ClassTLS: "certificate", provider.ClassReset: "cut",
		provider.ClassFirstByte: "slow", provider.ClassIdle: "slow", provider.ClassTotal: "slow", provider.ClassRateLimited: "rate",
		provider.ClassServer: "server_error", provider.ClassCredential: "key", provider.ClassRefused: "refused",
		provider.ClassRedirect: "redirect", provider.ClassContent: "broken", provider.ClassTooLarge: "too_large", provider.ClassSetup: "setup",
		provider.ClassClient: "cancelled", provider.ClassEnded: "cancelled",
	} {
		if got := AdviceOn(provider.NewFault(class, errTest), StepCall).Problem; got != want {
			t.Errorf("%s is %s, not %s", class, got, want)
		}
	}
	for meaning, want := range map[errorclass.Meaning]string{
		errorclass.Account: "account", errorclass.Quota: "quota", errorclass.TooLong: "too_long", errorclass.Filter: "filter",
		errorclass.Route: "not_callable", errorclass.Request: "request", errorclass.Overloaded: "overloaded",
	} {
		f := provider.NewFault(provider.ClassRefused, errTest)
		f.Meaning = meaning
		if got := AdviceOn(f, StepCall).Problem; got != want {
			t.Errorf("%s is %s, not %s", meaning, got, want)
		}
	}
}
