package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/prompt"
)

func TestVariablesAreFoundOnceAndInOrder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 40)
	got := prompt.Variables("{{name}} {{ spaced }} {{9th}} {{Topic_2}} {{name}} {{{inner}}} {{" + long + "}} {{" + long + "b}} {{é}}")
	if want := []string{"name", "Topic_2", "inner", long}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestValuesAreFilledInAndNeverFilledAgain(t *testing.T) {
	t.Parallel()
	got, err := prompt.Fill("{{a}}, {{{b}}} and {{a}} {{ c }}", map[string]string{"a": "{{b}}", "b": "$1 {{a}}"})
	if err != nil || got != "{{b}}, {$1 {{a}}} and {{b}} {{ c }}" {
		t.Errorf("%q %v", got, err)
	}
	_, err = prompt.Fill("{{a}} {{b}}", map[string]string{"a": ""})
	if e := app.AsError(err); e == nil || e.Param != "var_b" || !strings.Contains(e.Message, "{{b}}") {
		t.Errorf("a missing value: %v", err)
	}
	huge := strings.Repeat("x", 1<<20)
	for text, want := range map[string]app.Kind{"{{a}}{{a}}{{a}}": 0, strings.Repeat("{{a}}", 5): app.TooLarge, "{{a}}" + strings.Repeat(huge, 4): app.TooLarge} {
		if _, err := prompt.Fill(text, map[string]string{"a": huge}); (want == 0) != (err == nil) || err != nil && app.KindOf(err) != want {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}
