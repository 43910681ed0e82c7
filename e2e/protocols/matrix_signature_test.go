package protocols

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// testMatrixSignatures lets a model think before it calls a tool, and gives its reasoning back with what the tool
// said: to the same upstream, which gets its own signature byte for byte, and to each other one, which gets nothing of
// it. The simulator refuses what it has not signed, so an answer proves it too.
func testMatrixSignatures(m *matrix, t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			for _, stream := range []bool{true, false} {
				if !stream && !slices.Contains(oncePerStyle(), p) {
					continue
				}
				first := question{model: p.model(), thinks: true, limit: 4000, tools: true, stream: stream, turns: says("call: get_time {}")}
				r, _ := m.ask(t, p.client, first)
				proof := p.opened(t, &r)
				for _, next := range wires {
					t.Run(modeOf(stream)+"/then "+next.style, func(t *testing.T) {
						m.goesOn(t, p, next, first.turns, r, proof)
					})
				}
			}
		})
	}
}

// opened is what an upstream must find of its own signature, in the form of its requests.
func (p pair) opened(t *testing.T, r *reply) []string {
	t.Helper()
	list := r.signatures()
	if len(list) != 1 {
		t.Fatalf("%d signatures in %+v", len(list), r.parts)
	}
	signature := list[0]
	if p.straight() {
		return []string{`"` + signature + `"`}
	}
	if p.client.style == "native" {
		plain, err := base64.StdEncoding.DecodeString(signature)
		if err != nil {
			t.Fatalf("clients take a signature for bytes: %v", err)
		}
		signature = string(plain)
	}
	maker, raw, _ := strings.Cut(strings.TrimPrefix(signature, "gw1."), ".")
	if !strings.HasPrefix(signature, "gw1.m-") || !strings.HasPrefix(maker, "m-"+p.upstream.style) {
		t.Fatalf("the signature %q does not say whose it is", signature)
	}
	if p.upstream.style != "responses" {
		return []string{`"` + raw + `"`}
	}
	// The proof in a signature holds for one item only.
	id, raw, ok := strings.Cut(raw, ".")
	if !ok || !strings.HasPrefix(id, "rs_") {
		t.Fatalf("the signature %q does not say which item it is for", signature)
	}
	return []string{`"id":"` + id + `"`, `"` + raw + `"`}
}

// torn reports whether a signature cannot go back: the client's style ties it to the call and not to the thought, and
// the upstream takes it only with the thought.
func (p pair) torn() bool { return p.client.style == "chat" && p.upstream.style == "messages" }

// goesOn asks the next upstream with the history, and then the first one again with both answers.
func (m *matrix) goesOn(t *testing.T, p pair, next *wire, asked []turn, r reply, proof []string) {
	t.Helper()
	call := r.calls()[0]
	second := pair{p.client, next}
	q := question{model: second.model(), thinks: true, limit: 4000, tools: true, turns: append(slices.Clone(asked),
		turn{said: &r}, turn{results: []result{{call.id, call.name, "noon"}}})}
	answer, s := m.ask(t, p.client, q)
	if answer.text() != "According to the tool: noon." {
		t.Errorf("the text is %q", answer.text())
	}
	m.carries(t, second, &q, s.mark, proof, next == p.upstream && !p.torn())
	if next == p.upstream {
		return
	}
	q.model, q.turns = p.model(), append(q.turns, turn{said: &answer}, turn{text: "echo: and back"})
	if back, s := m.ask(t, p.client, q); back.text() != "and back" {
		t.Errorf("back at the first upstream the text is %q", back.text())
	} else {
		m.carries(t, p, &q, s.mark, proof, !p.torn())
	}
}

// carries looks for the signature in what reached the upstream.
func (m *matrix) carries(t *testing.T, p pair, q *question, mark string, proof []string, want bool) {
	t.Helper()
	m.reached(t, p, q, mark)
	body := m.arrived(t, mark)[0].Body
	for _, one := range proof {
		if got := strings.Contains(body, one); got != want {
			t.Errorf("%s came along: %t\n%s", one, got, body)
		}
	}
	for _, foreign := range []string{"gw1.", base64.StdEncoding.EncodeToString([]byte("gw1."))[:5]} {
		if strings.Contains(body, `"`+foreign) {
			t.Errorf("a sealed signature came along: %s", body)
		}
	}
	if p.upstream.style == "native" && !want && !strings.Contains(body, `"thoughtSignature":"skip_thought_signature_validator"`) {
		t.Errorf("a call of another model came without the dummy: %s", body)
	}
}
