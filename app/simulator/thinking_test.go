package simulator

import (
	"strings"
	"testing"
)

func TestAModelTakesOneFormOfThinking(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	const enabled, adaptive = `"thinking":{"type":"enabled","budget_tokens":1024}`, `"thinking":{"type":"adaptive"}`
	for _, c := range []struct{ model, members, refusal string }{
		{"m", enabled, ""}, {"m", adaptive, ""}, {"m", `"output_config":{"effort":"low"}`, ""},
		{"m+thinking=adaptive", adaptive, ""}, {"m+thinking=adaptive", `"thinking":{"type":"disabled"}`, ""},
		{"m+thinking=adaptive", enabled, `\"thinking.type.enabled\" is not supported for this model`},
		{"m+thinking=enabled", enabled, ""}, {"m+thinking=enabled", adaptive, "adaptive thinking is not supported on this model"},
		{"m+no-effort", `"output_config":{"effort":"low"}`, "does not support the effort parameter"}, {"m+no-effort", enabled, ""},
	} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			body := `{"model":"` + c.model + `","max_tokens":2000,` + c.members + `,"messages":[{"role":"user","content":"hi"}]}`
			res := u.do("POST", path, []byte(body), nil)
			if (res.status == 400) != (c.refusal != "") || !strings.Contains(string(res.body), c.refusal) {
				t.Errorf("%s: %d %s", body, res.status, res.body)
			}
		}
	}
}
