package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app/dialect/rawjson"
	"umg/app/llm"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// unitsOf weighs a text character by character, as the table at the constants says.
func unitsOf(text string) (n int64) {
	for _, r := range text {
		switch {
		case r < 0x1000:
			n += letterUnits
		default:
			n += symbolUnits
		}
	}
	return n
}

func TestTextWeighsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(
			rapid.RuneFrom([]rune("abc \n\t\"\\/<>&é€漢字😀уй")), rapid.Rune(), rapid.RuneFrom([]rune("abcdefgh ")),
		)).Draw(t, "text")
		text = strings.ToValidUTF8(text, "")
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var escaped strings.Builder
		for _, r := range text {
			one, _ := json.Marshal(string(r))
			inside := string(one[1 : len(one)-1])
			if r > 0x7f && r < 0x10000 && rapid.Bool().Draw(t, "escaped") {
				inside = `\u` + strings.ToUpper(strings.ToLower(hex4(r)))
			}
			escaped.WriteString(inside)
		}
		want := unitsOf(text)
		for _, written := range []string{string(plain[1 : len(plain)-1]), escaped.String()} {
			var w textSize
			w.textEnd([]byte(`"`+written+`"`), 0)
			if w.units != want {
				t.Fatalf("%s weighs %d, want %d", written, w.units, want)
			}
			if dense, halves := denseOf(written); w.denseBytes != dense || w.denseHalves != halves {
				t.Fatalf("%s has %d dense bytes and %d halves of tokens, want %d and %d", written, w.denseBytes, w.denseHalves, dense, halves)
			}
		}
	})
}

// TestCorrectStringsAreCorrect takes only strings of a request that are correct JSON for correct, and those of plain ASCII.
func TestCorrectStringsAreCorrect(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Words, and more\\n \\\"words\\\". ", 40)
	for _, part := range []string{
		"", `\\\n\t\/\b\f\r\"`, "\x7f", `\x`, `\u0041`, `\ud834`, "\x00", "\x1f", "\n", "\x80", "é", `\'`, `\N`,
	} {
		for cut := range 40 {
			inside := long + strings.Repeat("a", 40-cut) + part + strings.Repeat("b", cut)
			body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + inside + `"}]}`)
			h, err := peekChat(body, llm.ExtraSet{})
			if err != nil {
				t.Fatal(err)
			}
			list := h.CorrectStrings(body)
			isPlain := strings.Trim(part, `\ntbfr/"`+"\x7f") == ""
			if len(list) > 0 != isPlain || len(h.CorrectStrings(body[1:])) > 0 {
				t.Fatalf("%q has the correct strings %v", body, list)
			}
			for _, at := range list {
				if value := jsontext.Value(body[at[0]:at[1]]); value.Kind() != '"' || !value.IsValid() {
					t.Fatalf("%q is said to be correct", value)
				}
			}
		}
	}
}

// denseOf counts the dense bytes of the inside of a JSON string, one after the other.
func denseOf(s string) (dense, halves int64) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && s[i+1] == 'u':
			dense, halves, i = dense+6, halves+3, i+5
		case c == '\\':
			dense, halves, i = dense+2, halves+2, i+1
		case c >= 0x80:
			dense, halves = dense+1, halves+1
		case !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ", rune(c)):
			dense, halves = dense+1, halves+2
		}
	}
	return dense, halves
}

func hex4(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// TestTheWeighingWalkEndsWhereTheOtherDoes gives both walks the same documents, whole, cut and broken.
func TestTheWeighingWalkEndsWhereTheOtherDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(rapid.StringOf(rapid.RuneFrom([]rune(`{}[]",:\ a1etrufalsn-.`))).Draw(t, "text"))
		if rapid.Bool().Draw(t, "whole") {
			doc, _ = json.Marshal(rapid.MapOf(rapid.SampledFrom([]string{"role", "content", "input", "args", "text", "x\"y"}),
				rapid.OneOf(rapid.Just[any](nil), rapid.Just[any]([]any{"a", 1, map[string]any{"arguments": []any{}, "b": true}}), rapid.Just[any]("漢"))).Draw(t, "doc"))
			doc = doc[:rapid.IntRange(0, len(doc)).Draw(t, "cut")]
		}
		depth := rapid.SampledFrom([]int{0, 1, 2, rawjson.DepthMax}).Draw(t, "depth")
		kind := rapid.SampledFrom([]textKind{kindUnread, kindTurns, kindJSON, kindSettings}).Draw(t, "kind")
		var w textSize
		if got, want := w.valueEnd(doc, 0, depth, kind), rawjson.ValueEnd(doc, 0, depth); got != want {
			t.Fatalf("%s ends at %d, want %d", doc, got, want)
		}
		if w.units > int64(len(doc))*symbolUnits {
			t.Fatalf("%s weighs %d", doc, w.units)
		}
	})
}
