package catalog

import (
	"strings"
	"testing"

	"umg/app"
)

func wideProperties(n int) string {
	var members []string
	for i := range n {
		members = append(members, `"p`+strings.Repeat("x", i)+`":{}`)
	}
	return strings.Join(members, ",")
}

func TestHostileBodiesAreRefusedWithoutEffort(t *testing.T) {
	t.Parallel()
	c := contractFor(t, "chat", everything(t))
	for name, body := range map[string]string{
		"deep arrays":          strings.Repeat("[", 1<<20),
		"deep objects":         strings.Repeat(`{"x":`, 1<<18),
		"deep in the unknown":  user(`,"x":` + strings.Repeat(`[{"a":`, 1<<18)),
		"a number of a MiB":    user(`,"x":` + strings.Repeat("9", 1<<20)),
		"a fraction of a MiB":  user(`,"temperature":0.` + strings.Repeat("0", 1<<20) + "1"),
		"an endless exponent":  user(`,"temperature":1e` + strings.Repeat("9", 1<<10)),
		"an open string":       user(`,"user":"` + strings.Repeat("a", 1<<20)),
		"backslashes":          message(`{"role":"` + strings.Repeat(`\`, 1<<20)),
		"quotes":               message(`{"role"` + strings.Repeat(`"`, 1<<20)),
		"half a role":          message(`{"content":"a","role`),
		"role without a value": message(`{"role":}`),
	} {
		if e := app.AsError(c.Check([]byte(body))); e == nil || e.Code != "invalid_json" || len(e.Message) > 1000 {
			t.Errorf("%s: %.200v", name, e)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	c := contractFor(b, "chat", everything(b))
	var members []string
	for i := range 100_000 {
		members = append(members, `"`+strings.Repeat("k", i%7)+string(rune('a'+i%26))+`":`+strings.Repeat("[", 3)+strings.Repeat("]", 3))
	}
	for name, body := range map[string]string{
		"roles last": message(strings.Repeat(`{"content":[`+strings.Repeat(`{"text":"a","type":"text"},`, 999)+
			`{"text":"a","type":"text"}],"role":"user"},`, 10) + `{"role":"user","content":"a"}`),
		"duplicates":  user(`,"x":{` + strings.Join(members, ",") + "}"),
		"many unique": user(`,"metadata":{` + wideProperties(2000) + "}"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				_ = c.Check([]byte(body))
			}
		})
	}
}
