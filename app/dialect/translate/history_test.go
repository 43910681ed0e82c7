package translate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"umg/app/llm"
)

func words(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func asks(ids ...string) llm.Turn {
	turn := llm.Turn{Role: llm.Assistant}
	for _, id := range ids {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: "f", Arguments: "{}"}})
	}
	return turn
}

func gives(ids ...string) llm.Turn {
	var turn llm.Turn
	for _, id := range ids {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: id, Parts: []llm.Part{words("of " + id)}}})
	}
	return turn
}

func says(role llm.Role, texts ...string) llm.Turn {
	turn := llm.Turn{Role: role}
	for _, s := range texts {
		turn.Parts = append(turn.Parts, words(s))
	}
	return turn
}

// sketch writes a history in short: its roles, and what is in them.
func sketch(turns []llm.Turn) string {
	var all []string
	for i := range turns {
		s := [...]string{llm.User: "u", llm.Assistant: "a", llm.System: "s"}[turns[i].Role] + ":"
		for _, p := range turns[i].Parts {
			switch p.Kind {
			case llm.Text:
				s += strconv.Quote(p.Text)
			case llm.Call:
				s += "?" + p.Call.ID
			case llm.Result:
				s += "=" + p.Result.CallID + "(" + strings.Trim(sketch([]llm.Turn{{Parts: p.Result.Parts}}), "u:") + ")"
			case llm.Reasoning:
				s += "~" + p.Signature
			default:
				s += "*"
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func settled(turns []llm.Turn, upstream llm.Style) string {
	r := &llm.Request{Turns: turns}
	reduced := *r
	t := &translation{original: r, request: &reduced}
	before := sketch(turns)
	t.arrangeHistory(upstream)
	if sketch(turns) != before {
		return "the client's own history changed to " + sketch(turns)
	}
	return sketch(reduced.Turns)
}

func TestCallsOfOneIDAreToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turns []llm.Turn
		want  string
	}{
		"ids of their own stay": {[]llm.Turn{says(0, "q"), asks("a", "b"), gives("b", "a")}, `u:"q" a:?a?b u:=b("of b")=a("of a")`},
		"numbered from the start in each answer": {
			[]llm.Turn{says(0, "q"), asks("c0"), gives("c0"), asks("c0", "c1"), gives("c0", "c1"), asks("c0"), gives("c0")},
			`u:"q" a:?c0 u:=c0("of c0") a:?c0_2?c1 u:=c0_2("of c0")=c1("of c1") a:?c0_3 u:=c0_3("of c0")`,
		},
		"in one answer": {[]llm.Turn{says(0, "q"), asks("c", "c"), gives("c", "c")}, `u:"q" a:?c?c_2 u:=c("of c")=c_2("of c")`},
		"where the new id is taken": {
			[]llm.Turn{says(0, "q"), asks("c_2", "c"), gives("c", "c_2"), asks("c"), gives("c")},
			`u:"q" a:?c_2?c u:=c("of c")=c_2("of c_2") a:?c_3 u:=c_3("of c")`,
		},
		"a result of nothing": {[]llm.Turn{says(0, "q"), gives("x")}, `u:"q" u:=x("of x")`},
	} {
		if got := settled(c.turns, llm.Messages); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestResultsStandBehindTheirCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turns []llm.Turn
		want  string
	}{
		"behind instructions": {
			[]llm.Turn{says(0, "q"), asks("a", "b"), gives("b"), says(llm.System, "s"), gives("a")}, `u:"q" a:?a?b u:=a("of a")=b("of b") s:"s"`,
		},
		"all of them behind instructions": {
			[]llm.Turn{says(0, "q"), asks("a"), says(llm.System, "s"), gives("a"), says(0, "r")}, `u:"q" a:?a u:=a("of a") s:"s" u:"r"`,
		},
		"behind what the model went on to say": {
			[]llm.Turn{says(0, "q"), asks("a"), says(0, "wait"), says(llm.Assistant, "ok"), gives("a"), says(0, "r")},
			`u:"q" a:?a u:=a("of a")"wait" a:"ok" u:"r"`,
		},
		"unless the model would have the last word": {
			[]llm.Turn{says(0, "q"), asks("a"), says(0, "wait"), says(llm.Assistant, "ok"), gives("a")},
			`u:"q" a:?a u:"wait" a:"ok" u:=a("of a")`,
		},
	} {
		if got := settled(c.turns, llm.Messages); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	free := []llm.Turn{says(0, "q"), asks("a"), says(llm.System, "s"), gives("a")}
	if got := settled(free, llm.Responses); got != sketch(free) {
		t.Errorf("a style that takes them anywhere: %s", got)
	}
}

func TestTextsOfAChatMessageAreOneText(t *testing.T) {
	t.Parallel()
	image := llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aaaa"}}
	thought := llm.Part{Kind: llm.Reasoning, Signature: "1"}
	asked := asks("a", "b")
	asked.Parts = append([]llm.Part{thought, words("x"), asked.Parts[0], words("y"), {Kind: llm.Reasoning, Signature: "2"}}, asked.Parts[1:]...)
	given := gives("a", "b")
	given.Parts[0].Result.Parts = append(given.Parts[0].Result.Parts, words("more"))
	given.Parts = append([]llm.Part{words("first")}, append(given.Parts, words(""), words("last"), image, words("z"))...)
	turns := []llm.Turn{says(llm.System, "s1", "s2"), says(llm.System, "s3"), says(0, "q", "r"), asked, given, says(llm.System, "late", "too")}
	want := `s:"s1\n\ns2\n\ns3" u:"q\n\nr" a:"x\n\ny"~1?a~2?b u:=a("of a\nmore")=b("of b")"first\n\nlast"*"z" s:"late\n\ntoo"`
	if got := settled(turns, llm.Chat); got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	if got := settled(turns[:3], llm.Native); got != sketch(turns[:3]) {
		t.Errorf("other styles keep them apart: %s", got)
	}
}

// longShapes are requests whose every part could be compared with every other, each with so many parts.
func longShapes(many int) (*llm.Request, [][]llm.Turn) {
	parallel, reversed, same := llm.Turn{Role: llm.Assistant}, llm.Turn{}, llm.Turn{Role: llm.Assistant}
	var users, rounds []llm.Turn
	r := &llm.Request{Model: "m", Choice: llm.ToolChoice{Mode: llm.ChooseAuto}}
	for i := range many {
		id, last := fmt.Sprint("c", i), fmt.Sprint("c", many-1-i)
		parallel.Parts = append(parallel.Parts, asks(id).Parts...)
		reversed.Parts = append(reversed.Parts, gives(last).Parts...)
		same.Parts = append(same.Parts, asks("c0").Parts...)
		users = append(users, says(0, "q"))
		rounds = append(rounds, asks(id), says(llm.System, "s"), gives(id))
		r.Tools = append(r.Tools, llm.Tool{Name: id, Group: id})
		r.Choice.Names = append(r.Choice.Names, id)
	}
	return r, [][]llm.Turn{
		users, append([]llm.Turn{says(0, "q")}, rounds...), {says(0, "q"), parallel, reversed},
		{says(0, "q"), same, gives(strings.Fields(strings.Repeat("c0 ", many))...)},
	}
}

// translateLong takes a request with each of the shapes from every style to every other.
func translateLong(t testing.TB, r *llm.Request, shapes [][]llm.Turn) {
	t.Helper()
	for _, turns := range shapes {
		for from, client := range allDialects() {
			for to, upstream := range allDialects() {
				if from == to {
					continue
				}
				long := *r
				long.Turns = turns
				way, err := New(client, upstream, &long, "maker", 4096)
				if err == nil {
					err = way.Prepare()
				}
				if err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
				}
			}
		}
	}
}

func TestLongRequestsAreTranslated(t *testing.T) {
	t.Parallel()
	r, shapes := longShapes(1000)
	translateLong(t, r, shapes)
}

// BenchmarkLongRequests shows by its two sizes whether some part of the translation compares everything with
// everything: the larger then takes a hundred times as long as the smaller, and ten times otherwise.
func BenchmarkLongRequests(b *testing.B) {
	for _, many := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(many), func(b *testing.B) {
			r, shapes := longShapes(many)
			for b.Loop() {
				translateLong(b, r, shapes)
			}
		})
	}
}
