package dialect

import (
	"strings"
	"testing"
)

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"ASCII": "some words ", "lines": `some words of a line of code(1, 2);\n`, "quotes": `some \"words\" of text\n`, "accents": "où est la bibliothèque ", "Chinese": "漢字仮名交じり文",
	} {
		s := []byte(`"` + strings.Repeat(text, 100_000/len(text)) + `"`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				var w textSize
				w.textEnd(s, 0)
			}
		})
	}
}
