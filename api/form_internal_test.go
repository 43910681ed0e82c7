package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"

	"umg/app"
	"umg/app/video"
)

const testBoundary = "b"

// part is one part of a form as it travels.
func part(headers, body string) string {
	return "--" + testBoundary + "\r\n" + headers + "\r\n\r\n" + body + "\r\n"
}

func formField(name, value string) string {
	return part(`Content-Disposition: form-data; name="`+name+`"`, value)
}

func file(name, fileName, mediaType, body string) string {
	return part(`Content-Disposition: form-data; name="`+name+`"; filename="`+fileName+`"`+"\r\nContent-Type: "+mediaType, body)
}

func parse(parts ...string) (video.Call, error) {
	body := strings.Join(parts, "") + "--" + testBoundary + "--\r\n"
	return parseForm(multipart.NewReader(strings.NewReader(body), testBoundary))
}

func TestAFormBecomesAnObjectAndAFile(t *testing.T) {
	t.Parallel()
	c, err := parse(formField("model", "m"), formField("seconds", "8"), formField("stream", "true"), formField("metadata[a][b]", "c"), formField("metadata[a][d]", "e"),
		file("input_reference", "x.png", "image/png", "bytes"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(c.Body, &got); err != nil {
		t.Fatal(err)
	}
	want := `map[metadata:map[a:map[b:c d:e]] model:m seconds:8 stream:true]`
	if s := fmt.Sprint(got); s != want || got["stream"] != true {
		t.Errorf("the object is %s, want %s", s, want)
	}
	if c.Upload == nil || c.Upload.Name != "x.png" || c.Upload.Type != "image/png" || string(c.Upload.Data) != "bytes" {
		t.Errorf("the file is %+v", c.Upload)
	}
}

func TestAssetsOfAFormAreOneList(t *testing.T) {
	t.Parallel()
	for want, parts := range map[string][]string{
		`{"asset_ids":["a"]}`:                      {formField("asset_ids", "a")},
		`{"asset_ids":["a","b","a"]}`:              {formField("asset_ids", "a"), formField("asset_ids[]", "b"), formField("asset_ids", "a")},
		`{"asset_ids":["c"],"metadata":{"a":"b"}}`: {formField("metadata[a]", "b"), formField("asset_ids[]", "c")},
		`{"asset_ids":[""]}`:                       {formField("asset_ids", "")},
	} {
		if c, err := parse(parts...); err != nil || string(c.Body) != want {
			t.Errorf("%s, %v, want %s", c.Body, err, want)
		}
	}
	for _, parts := range [][]string{
		{formField("asset_ids[0]", "a")}, {formField("asset_ids[x][y]", "a")}, {formField("asset_ids", "a"), formField("asset_ids[x]", "b")},
		{file("asset_ids", "a.png", "image/png", "bytes")},
	} {
		if c, err := parse(parts...); err == nil || !strings.HasPrefix(app.AsError(err).Param, "asset_ids") {
			t.Errorf("%q: %s, %v", parts, c.Body, err)
		}
	}
}

func TestFieldsOfFormsAreUTF8AsJSONIs(t *testing.T) {
	t.Parallel()
	if c, err := parse(formField("prompt", "a \xff cat")); err == nil || app.AsError(err).Param != "prompt" {
		t.Errorf("%s, %v", c.Body, err)
	}
}

func TestARefusedContentTypeNamesFormsToo(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"multipart/mixed; boundary=b": "multipart/form-data", "": "multipart/form-data"} {
		r := httptest.NewRequest("POST", "/v1/videos", strings.NewReader("{}"))
		r.Header.Set("Content-Type", kind)
		_, err := (&API{}).readVideo(&call{exchange: newExchange(httptest.NewRecorder(), r)})
		if e := app.AsError(err); e.Kind != app.MediaType || !strings.Contains(e.Message, want) {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestAFormWithoutAFileAndWithNestedReferenceIsRead(t *testing.T) {
	t.Parallel()
	c, err := parse(formField("prompt", "ü \"x\""), formField("input_reference[image_url]", "https://example.com/a.png"))
	if err != nil || c.Upload != nil || string(c.Body) != `{"input_reference":{"image_url":"https://example.com/a.png"},"prompt":"ü \"x\""}` {
		t.Errorf("%s, %+v, %v", c.Body, c.Upload, err)
	}
}

func TestAFileFieldWithoutAFileIsIgnored(t *testing.T) {
	t.Parallel()
	c, err := parse(formField("prompt", "x"), file("input_reference", "", "application/octet-stream", ""))
	if err != nil || c.Upload != nil || string(c.Body) != `{"prompt":"x"}` {
		t.Errorf("%s, %+v, %v", c.Body, c.Upload, err)
	}
}

func TestABadFormIsRefusedByName(t *testing.T) {
	t.Parallel()
	many := make([]string, formPartsMax+1)
	for i := range many {
		many[i] = formField(fmt.Sprint("f", i), "x")
	}
	image := file("input_reference", "x.png", "image/png", "bytes")
	for name, c := range map[string]struct {
		parts []string
		param string
	}{
		"a part without a name":       {[]string{part("Content-Disposition: form-data", "x")}, ""},
		"too many parts":              {many, ""},
		"a field twice":               {[]string{formField("prompt", "a"), formField("prompt", "b")}, "prompt"},
		"two files":                   {[]string{image, image}, "input_reference"},
		"a file and a field":          {[]string{image, formField("input_reference[image_url]", "https://example.com")}, "input_reference"},
		"a field and a file":          {[]string{formField("input_reference", "x"), image}, "input_reference"},
		"a file elsewhere":            {[]string{file("mask", "x.png", "image/png", "x")}, "mask"},
		"a text that is an object":    {[]string{formField("metadata", "x"), formField("metadata[a]", "y")}, "metadata[a]"},
		"an object that is a text":    {[]string{formField("metadata[a]", "y"), formField("metadata", "x")}, "metadata"},
		"an open bracket":             {[]string{formField("a[b", "x")}, "a[b"},
		"an empty member":             {[]string{formField("a[]", "x")}, "a[]"},
		"something behind the member": {[]string{formField("a[b]c", "x")}, "a[b]c"},
		"names too deep":              {[]string{formField("a[b][c][d][e]", "x")}, "a[b][c][d][e]"},
		"a name that is all bracket":  {[]string{formField("[a]", "x")}, "[a]"},
		"a large file":                {[]string{file("input_reference", "x", "image/png", strings.Repeat("x", uploadBytesMax+1))}, "input_reference"},
		"a large field":               {[]string{formField("prompt", strings.Repeat("x", formTextBytesMax+1))}, "prompt"},
	} {
		_, err := parse(c.parts...)
		e := app.AsError(err)
		if err == nil || e.Kind != app.Invalid && e.Kind != app.TooLarge || e.Param != c.param || e.Message == "" {
			t.Errorf("%s: %v, param %q", name, err, e.Param)
		}
	}
}

func TestABrokenFormIsRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "another boundary": "--c\r\n\r\nx\r\n--c--\r\n", "no end": formField("prompt", "x"),
		"a head without an end": "--b\r\nContent-Disposition: form-data; name=\"prompt\"", "a large head": part(strings.Repeat("X-Y: "+strings.Repeat("z", 1000)+"\r\n", 20_000)+"A: b", "x"),
	} {
		_, err := parseForm(multipart.NewReader(strings.NewReader(body), testBoundary))
		if err == nil || app.KindOf(err) != app.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(formField("model", "m") + formField("a[b][c]", "d") + file("input_reference", "x", "image/png", "y") + "--b--\r\n"))
	f.Add([]byte(formField("a", "x") + formField("a[b]", "y")))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := parseForm(multipart.NewReader(bytes.NewReader(body), testBoundary))
		if err != nil {
			if k := app.KindOf(err); k != app.Invalid && k != app.TooLarge {
				t.Fatalf("%v", err)
			}
			return
		}
		if !json.Valid(c.Body) || c.Body[0] != '{' {
			t.Fatalf("not an object: %s", c.Body)
		}
	})
}
