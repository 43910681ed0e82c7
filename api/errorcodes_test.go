package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"umg/app/docs"
)

// errorRow is a request that is answered with one code of app/docs/errors.yaml, and what the answer says.
type errorRow struct {
	code string
	// ask makes the request.
	ask func(w *errorWorld, path string) reply
	// paths are the text routes on which ask makes it; none for a request that has a path of its own.
	paths []string
	// world makes a server of its own for the row; nil for the usual one.
	world func(*testing.T) *errorWorld
	// param is the field that the answer names, empty where the error is about none.
	param string
	// says are parts of the message: the caller's value, the limit with its unit, the time, the next step.
	says []string
	// status is zero for the one of errors.yaml.
	status int
}

// elsewhereRow names the test that reaches a code which no request of a client brings about by what it says.
type elsewhereRow struct{ code, test string }

// errorRows are all rows.
func errorRows() []errorRow {
	return slices.Concat(requestErrors, textErrors, keyErrors, moneyErrors, limitErrors, accountErrors, videoErrors, assetErrors, webhookErrors,
		repeatErrors)
}

// TestEveryErrorCodeHasARow compares the rows with app/docs/errors.yaml, so that a new code needs a request that it answers.
func TestEveryErrorCodeHasARow(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{}
	for _, r := range errorRows() {
		rows[r.code] = true
	}
	for _, r := range elsewhereErrors {
		if rows[r.code] {
			t.Errorf("%s is reached here and elsewhere; keep one row", r.code)
		}
		rows[r.code] = true
		dir, name, _ := strings.Cut(r.test, " ")
		if !hasTest(t, dir, name, r.code) {
			t.Errorf("%s: there is no test %s in %s in a file that names the code", r.code, name, dir)
		}
	}
	known := map[string]bool{}
	for _, e := range docs.ErrorCodes() {
		known[e.Code] = true
		if !rows[e.Code] {
			t.Errorf("no row reaches the code %s of app/docs/errors.yaml", e.Code)
		}
	}
	for code := range rows {
		if !known[code] {
			t.Errorf("the code %s of a row is not in app/docs/errors.yaml", code)
		}
	}
}

// hasTest reports whether a folder has a test of that name in a file that names the code.
func hasTest(t *testing.T, dir, name, code string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	must(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		raw, err := os.ReadFile(file)
		must(t, err)
		return strings.Contains(string(raw), "\nfunc "+name+"(t ") && strings.Contains(string(raw), code)
	})
}

// TestEveryErrorCodeIsReachedAndSaysWhatToDo makes the request of each row, on every text route where the code belongs to text calls.
func TestEveryErrorCodeIsReachedAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	usual := newErrorWorld(t)
	usual.prepareObjects(t)
	statuses := map[string]int{}
	for _, e := range docs.ErrorCodes() {
		statuses[e.Code], _ = strconv.Atoi(e.Status) // The status is zero for errors of jobs, which no response carries.
	}
	for i, row := range errorRows() {
		t.Run(strconv.Itoa(i)+" "+row.code, func(t *testing.T) {
			w := usual
			if row.world != nil {
				t.Parallel()
				w = row.world(t)
			}
			defer func(t testing.TB) { w.t = t }(w.t)
			for _, path := range slices.Concat(row.paths, []string{""})[:max(len(row.paths), 1)] {
				t.Run(path, func(t *testing.T) {
					w.t = t
					status := cmp.Or(row.status, statuses[row.code])
					if status == http.StatusServiceUnavailable && path == "/v1/messages" && row.code != "service_unavailable" {
						status = 529 // The messages style has this status for an overloaded server.
					}
					checkRow(t, w, &row, row.ask(w, path), status)
				})
			}
		})
	}
}

func checkRow(t *testing.T, w *errorWorld, row *errorRow, a reply, status int) {
	t.Helper()
	e := readError(t, a)
	if a.status != status || e.code != row.code || e.param != row.param {
		t.Errorf("%d %s at %q, want %d %s at %q: %s", a.status, e.code, e.param, status, row.code, row.param, a.body)
	}
	for _, part := range row.says {
		if !strings.Contains(e.message, w.fill(part)) {
			t.Errorf("the message does not say %q: %s", w.fill(part), e.message)
		}
	}
	checkErrorLaws(t, a, &e)
}

// readErrorBody is an error in whatever layout its route has.
type readErrorBody struct{ message, code, param string }

// readError reads the four layouts: code and param stand beside the message, in its details, or in the details of the native style.
func readError(t *testing.T, a reply) readErrorBody {
	t.Helper()
	var body struct {
		Error struct {
			Message, Param string
			Code, Details  json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("%v: %d %q", err, a.status, a.body)
	}
	e := readErrorBody{message: body.Error.Message, param: body.Error.Param}
	_ = json.Unmarshal(body.Error.Code, &e.code) // Errors of the native style have a number here.
	var native []struct {
		Metadata        struct{ Code string }
		FieldViolations []struct{ Field string }
	}
	switch {
	case json.Unmarshal(body.Error.Details, &native) == nil:
		for _, d := range native {
			if d.Metadata.Code != "" {
				e.code = d.Metadata.Code
			}
			for _, v := range d.FieldViolations {
				e.param = v.Field
			}
		}
	case len(body.Error.Details) > 0:
		var details struct {
			ErrorCode string `json:"error_code"`
			Param     string
		}
		must(t, json.Unmarshal(body.Error.Details, &details))
		e.code, e.param = details.ErrorCode, details.Param
	}
	return e
}

// errorBytesMax bounds the message of an error, however long the values are that the caller has sent.
const errorBytesMax = 1000

var (
	// foreignWords are words of Go and of the inside of the gateway, which no caller knows.
	foreignWords = regexp.MustCompile(`%!|\bnil\b|map\[|strconv|json:|jsontext|\d+m0s|\b(pq|sql|SQL|hold|lease|journal|snapshot|goroutine|context canceled)\b`)
	// secretWords are names of providers and of what they call their models.
	secretWords = regexp.MustCompile(`(?i)secretly|hidden-`)
	fieldCodes  = []string{"invalid_value", "missing_required_parameter", "unknown_parameter", "unsupported_parameter", "invalid_request_error"}
	numbers     = regexp.MustCompile(`\d`)
)

// checkErrorLaws holds an error against what is so of every error, whatever its code.
func checkErrorLaws(t *testing.T, a reply, e *readErrorBody) {
	t.Helper()
	// The name of the field ends in an ellipsis when the caller sent a long name.
	m, param := e.message, strings.TrimSuffix(e.param, "…")
	begins := m != "" && (m[0] >= 'A' && m[0] <= 'Z' || m[0] == '"' || m[0] == '`' || param != "" && strings.HasPrefix(m, param))
	if !begins || !strings.HasSuffix(m, ".") || strings.Contains(m, "..") && !strings.Contains(m, "...") || strings.Contains(m, "  ") {
		t.Errorf("the message is no whole sentence: %q", m)
	}
	if found := foreignWords.FindString(m); found != "" {
		t.Errorf("the message has the word %q, which means nothing to a caller: %s", found, m)
	}
	if found := secretWords.FindString(a.body); found != "" {
		t.Errorf("the answer has %q, which is no caller's business: %s", found, a.body)
	}
	if len(m) > errorBytesMax {
		t.Errorf("the message has %d bytes: %.200s", len(m), m)
	}
	if got := a.header.Get("X-Error-Code"); got != e.code {
		t.Errorf("X-Error-Code is %q, the body has %q", got, e.code)
	}
	help := "<https://gateway.example" + docs.ErrorPath(e.code) + `>; rel="help"`
	if !slices.Contains(a.header.Values("Link"), help) || !strings.HasSuffix(docs.ErrorPath(e.code), "#"+e.code) {
		t.Errorf("Link is %q, not %q", a.header.Values("Link"), help)
	}
	if slices.Contains(fieldCodes, e.code) && (param == "" || !strings.Contains(m, lastName(param))) {
		t.Errorf("the message does not name the field %q: %s", e.param, m)
	}
	if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable && a.status != 529 {
		return
	}
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 59 {
		t.Errorf("%d with Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
	if a.status == http.StatusTooManyRequests && !numbers.MatchString(m) {
		t.Errorf("the message does not say which limit it is: %s", m)
	}
}

// lastName is the last name of a path, such as type of messages[0].content[1].type.
func lastName(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}
