// Package jsonschematest compares checks of app/jsonschema with an independent validator. New makes an Oracle for one document, and
// Disagreement tries one body on both.
package jsonschematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app"
)

// These are the bounds of app/jsonschema, and its code for a body that is not JSON.
const (
	depthMax        = 128
	numberBytesMax  = 1024
	codeInvalid     = "invalid_request_error"
	codeInvalidJSON = "invalid_json"
)

// Oracle is a check and an independent validator of the same document.
type Oracle struct {
	check  func(body []byte) error
	schema *jsonschema.Schema
}

// New makes the validator. The test fails when the document is not a JSON Schema.
func New(t testing.TB, document []byte, check func(body []byte) error) Oracle {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("contract.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("contract.json")
	if err != nil {
		t.Fatalf("the document is not a JSON Schema: %v", err)
	}
	return Oracle{check: check, schema: schema}
}

// Disagreement says how the check and the validator disagree about a body. It is empty when they agree.
func (o Oracle) Disagreement(body []byte) string {
	e := app.AsError(o.check(body))
	if e != nil && (e.Kind != app.Invalid || e.Message == "" || (e.Code != codeInvalid && e.Code != codeInvalidJSON)) {
		return "an unusual error: " + e.Error()
	}
	switch {
	case !isAccepted(body):
		if e == nil {
			return "accepts what is not correct JSON"
		}
		return ""
	case e != nil && e.Code == codeInvalidJSON:
		return "calls correct JSON invalid: " + e.Message
	case e != nil && strings.Contains(e.Message, "names are case-sensitive"):
		return ""
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return "the oracle cannot read it: " + err.Error()
	}
	if err := o.schema.Validate(value); (err == nil) != (e == nil) {
		return "check: " + errorText(e) + "\noracle: " + errorText(err)
	}
	return ""
}

func errorText(err error) string {
	var e *app.Error
	if err == nil || (errors.As(err, &e) && e == nil) {
		return "accepts"
	}
	return err.Error()
}

// isAccepted tests by other means what the check demands of all JSON: grammar, Unicode, unique names, depth and numbers.
func isAccepted(body []byte) bool {
	if !jsontext.Value(body).IsValid() || !json.Valid(body) {
		return false
	}
	depth, dec := 0, json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return true
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			if depth > depthMax {
				return false
			}
		case json.Number:
			f, err := strconv.ParseFloat(v.String(), 64)
			mantissa, _, _ := strings.Cut(strings.ToLower(v.String()), "e")
			if err != nil || math.IsInf(f, 0) || len(v) > numberBytesMax || (f == 0 && strings.ContainsAny(mantissa, "123456789")) {
				return false
			}
		}
	}
}
