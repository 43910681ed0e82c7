package gateway

import (
	"bytes"
	"encoding/csv"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider/recordings"
)

// recordedRequest is a row of testdata/requests.csv.
type recordedRequest struct {
	provider, reader     string
	style                llm.Style
	head                 dialect.Head
	providerTools, input int64
}

func recordedRequests(t *testing.T) (list []recordedRequest) {
	t.Helper()
	file, err := os.Open("testdata/requests.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		var n [6]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[3+i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, recordedRequest{
			provider: row[0], reader: row[1], style: llm.Style(row[2]), providerTools: n[4], input: n[5],
			head: dialect.Head{TextBytes: n[0], BodyBytes: n[0], Images: n[1], Documents: n[2], Opaque: n[2], Tools: n[3]},
		})
	}
	return list
}

// TestRecordedRequestsHaveNoMoreInputThanTheirBound holds the rules against what providers counted. The size of documents is not
// recorded, nor what tools of a provider have read; the context of the model bounds the first, and the catalog the second.
func TestRecordedRequestsHaveNoMoreInputThanTheirBound(t *testing.T) {
	t.Parallel()
	ratios, all := map[string][]float64{}, []float64{}
	documents, tools, exceeded := 0, 0, 0
	for _, r := range recordedRequests(t) {
		if r.providerTools > 0 {
			tools++
			continue
		}
		bound := inputRuleOf(r.reader, r.style).bound(&r.head)
		if r.head.Documents > 0 {
			documents++
			continue
		}
		if r.input > bound {
			exceeded++
			t.Errorf("%s, %s: %d tokens, and the bound is %d: %+v", r.provider, r.style, r.input, bound, r.head)
		}
		ratio := float64(bound) / float64(r.input)
		ratios[r.provider], all = append(ratios[r.provider], ratio), append(all, ratio)
	}
	for _, provider := range slices.Sorted(maps.Keys(ratios)) {
		t.Logf("%-22s %3d requests, the bound is %.2f times the input in the median", provider, len(ratios[provider]), median(ratios[provider]))
	}
	t.Logf("of %d requests of known size %d exceed the bound, which is %.2f times the input in the median; beside them %d have documents and %d tools of the provider",
		len(all), exceeded, median(all), documents, tools)
	if len(all) < 600 || median(all) > 3 {
		t.Errorf("%d requests, and the bound is %.2f times the input in the median", len(all), median(all))
	}
}

// TestUpstreamRequestsHaveNoMoreInputThanTheirBound holds the rules against the recorded requests in styles that only providers speak.
func TestUpstreamRequestsHaveNoMoreInputThanTheirBound(t *testing.T) {
	t.Parallel()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for i := range all {
		r := &all[i]
		style, ok := dialect.Of(llm.Style(r.Wire))
		if !ok || r.Wire.Spoken() || len(r.Request) == 0 || r.Status != http.StatusOK || r.Streamed {
			continue
		}
		answer, err := style.Codec.DecodeResponse(r.Body, &llm.ResponseOptions{})
		if err != nil {
			t.Errorf("%s: %v", r.File, err)
			continue
		}
		known++
		head := dialect.Head{TextBytes: int64(len(r.Request)), Tools: int64(bytes.Count(r.Request, []byte(`"description":"Gets`)))}
		if bound := inputRuleOf(r.Provider, style.Style).bound(&head); answer.Usage.InputTotal() > bound {
			t.Errorf("%s: %d tokens, and the bound is %d", r.File, answer.Usage.InputTotal(), bound)
		}
	}
	if known < 10 {
		t.Errorf("only %d requests of known size", known)
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// TestDenseTextHasMoreTokens reads requests of the same length in bytes.
func TestDenseTextHasMoreTokens(t *testing.T) {
	t.Parallel()
	style, _ := dialect.Of(llm.Chat)
	bounds := map[string]int64{}
	for name, text := range map[string]string{
		"prose": "the quick brown fox jumps over the lazy dog and runs home", "digits": "012345678901234567890123456789012345678901234567890123456",
		"Chinese": "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢", "marks": "{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{}[]{",
	} {
		head, err := style.Peek([]byte(`{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`))
		if err != nil || len(text) != 57 {
			t.Fatal(name, len(text), err)
		}
		bounds[name] = inputRuleOf("", llm.Chat).bound(&head)
	}
	if d := bounds["digits"] - bounds["prose"]; d != 38 {
		t.Errorf("digits have %d tokens more: %v", d, bounds)
	}
	if bounds["marks"] != bounds["digits"] || bounds["Chinese"] <= bounds["prose"] || bounds["Chinese"] >= bounds["digits"] {
		t.Errorf("%v", bounds)
	}
}

func TestTheDearestProviderOfAModelBoundsItsInput(t *testing.T) {
	t.Parallel()
	style, _ := dialect.Of(llm.Messages)
	bound := func(body string, m *catalog.Model) int64 {
		head, err := style.Peek([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return inputMost(&head, m)
	}
	const plain, tool, memory = `{"model":"m","max_tokens":9,"messages":[]}`, `{"model":"m","max_tokens":9,"messages":[],"tools":[{"name":"f","input_schema":{}}]}`,
		`{"model":"m","max_tokens":9,"messages":[],"tools":[{"type":"memory_20250818","name":"memory"}]}`
	routes := []catalog.Route{{Provider: &catalog.Provider{}, Style: llm.Chat}, {Provider: &catalog.Provider{}, Style: llm.Messages}}
	both, chat := &catalog.Model{Routes: routes}, &catalog.Model{Routes: routes[:1]}
	if a, b := bound(tool, chat), bound(tool, both); b <= a {
		t.Errorf("%d tokens at the one, and %d at both", a, b)
	}
	if a, b, c := bound(plain, both), bound(tool, both), bound(memory, both); b-a < 576 || c-b < 1000 {
		t.Errorf("%d tokens without tools, %d with one and %d with one of the provider", a, b, c)
	}
}
