package videoapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestMetadataHoldsNoAddressesAndNoSecrets(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                           ``,
		`{"a":null,"known":1}`:         ``,
		`{"b":2,"a":true,"known":"x"}`: `{"a":true,"b":2}`,
		`{"a":"https://x.example/f?key=1","b":["https://x.example/g",7],"c":{"d":"see http://y","e":false}}`: `{"b":[7],"c":{"e":false}}`,
		`{"access_token":"t","apiKey":"k","X":{"clientSecret":"s","password":1},"file_uri":"gs"}`:            `{"X":{}}`,
		`{"a":"data:image/png;base64,AAAA","b":"plain\u0000 \u001btext\ud800"}`:                              "{\"b\":\"plain text\uFFFD\"}",
		`{"a":1e999,"b":1e3,"c":123456789012345678901234567890,"d":-0.5}`:                                    `{"b":1000,"c":1.2345678901234568e+29,"d":-0.5}`,
		`{"a\u0000b":1,"":2,"c":[[[[[[[[[[[[1]]]]]]]]]]]]}`:                                                  `{"c":[[[[[[[[[]]]]]]]]]}`,
	} {
		m, err := parse([]byte(raw))
		if err != nil {
			t.Fatal(raw, err)
		}
		if got := string(metadataOf(m, "known")); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	raw.WriteString(`{"a":"` + strings.Repeat("x", metadataBytesMax) + `"`)
	for i := range 400 {
		fmt.Fprintf(&raw, `,"n%d":"%s"`, i, strings.Repeat("y", 100))
	}
	raw.WriteString(`}`)
	m, err := parse([]byte(raw.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := metadataOf(m)
	if len(got) > metadataBytesMax || len(got) < metadataBytesMax/2 || !json.Valid(got) {
		t.Errorf("%d bytes, valid %v", len(got), json.Valid(got))
	}
}
