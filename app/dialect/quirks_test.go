package dialect_test

import (
	"testing"

	"umg/app/dialect"
)

// TestSpliceSendsWhatAProviderOfOtherNamesTakes checks the bound that is added, and the usage that is not asked for.
func TestSpliceSendsWhatAProviderOfOtherNamesTakes(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	edit := dialect.Edit{Model: "up", MaxTokens: 9, OutputBound: "max_completion_tokens", NoStreamOptions: true}
	for body, want := range map[string]string{
		`{"model":"m","stream":true}`:                           `{"max_completion_tokens":9,"model":"up","stream":true}`,
		`{"model":"m","max_completion_tokens":20}`:              `{"model":"up","max_completion_tokens":9}`,
		`{"model":"m","stream":true,"max_completion_tokens":4}`: `{"model":"up","stream":true,"max_completion_tokens":4}`,
	} {
		h, err := d.Peek([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Splice(nil, []byte(body), &h, edit)); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}
