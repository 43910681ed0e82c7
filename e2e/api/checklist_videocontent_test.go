package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// variantTypes are what an official client saves of a video, with the media types of the videos style.
var variantTypes = map[string]string{"video": "video/mp4", "thumbnail": "image/webp", "spritesheet": "image/jpeg"}

// magic is what files of a media type begin with.
func magic(mediaType, data string) bool {
	switch mediaType {
	case "video/mp4":
		return len(data) > 12 && data[4:8] == "ftyp"
	case "image/webp":
		return strings.HasPrefix(data, "RIFF") && len(data) > 12 && data[8:12] == "WEBP"
	case "image/jpeg":
		return strings.HasPrefix(data, "\xff\xd8\xff")
	}
	return false
}

func contentHeaders(t *testing.T, v *films) {
	for _, id := range videoModels {
		name := harness.TextMember(v.done[id], "id")
		for _, root := range videoRoots {
			for _, accept := range []string{"", "application/binary", "*/*", "text/html"} {
				a := v.Call(t, "GET", root+"/"+name+"/content", "", "Accept", accept)
				if a.Status != http.StatusOK || !magic("video/mp4", a.Body) {
					t.Fatalf("%s: %d %.100s", id, a.Status, a.Body)
				}
				for header, want := range map[string]string{
					"Content-Type": "video/mp4", "Content-Length": fmt.Sprint(len(a.Body)), "Accept-Ranges": "bytes",
					"Content-Disposition": "attachment; filename=" + name + ".mp4", "X-Content-Type-Options": "nosniff",
				} {
					if got := a.Header.Get(header); got != want {
						t.Errorf("%s is %q, not %q", header, got, want)
					}
				}
				if !strings.HasPrefix(a.Header.Get("Etag"), `"`) || !strings.Contains(a.Header.Get("Cache-Control"), "private") {
					t.Errorf("the headers are %v", a.Header)
				}
			}
		}
	}
}

func contentRanges(t *testing.T, v *films) {
	path := harness.VideosPath + "/" + harness.TextMember(v.done[harness.VideosModel], "id") + "/content"
	full := v.Call(t, "GET", path, "")
	n, tag := len(full.Body), full.Header.Get("Etag")
	for ranges, want := range map[string][2]int{
		"bytes=0-99": {0, 100}, "bytes=100-199": {100, 200}, "bytes=-50": {n - 50, n}, fmt.Sprintf("bytes=%d-", n-1): {n - 1, n}, "bytes=10-9999999999": {10, n},
	} {
		a := v.Call(t, "GET", path, "", "Range", ranges)
		if a.Status != http.StatusPartialContent || a.Body != full.Body[want[0]:want[1]] || a.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", want[0], want[1]-1, n) {
			t.Errorf("%s: %d %v, %d bytes", ranges, a.Status, a.Header, len(a.Body))
		}
		if b := v.Call(t, "GET", path, "", "Range", ranges, "If-Range", tag); b.Status != http.StatusPartialContent || b.Body != a.Body {
			t.Errorf("%s with If-Range: %d", ranges, b.Status)
		}
		if b := v.Call(t, "GET", path, "", "Range", ranges, "If-Range", `"other"`); b.Status != http.StatusOK || b.Body != full.Body {
			t.Errorf("%s with another If-Range: %d", ranges, b.Status)
		}
	}
	for _, beyond := range []string{fmt.Sprintf("bytes=%d-", n), fmt.Sprintf("bytes=%d-%d", n+5, n+9)} {
		a := v.Call(t, "GET", path, "", "Range", beyond)
		if a.Status != http.StatusRequestedRangeNotSatisfiable || a.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", n) {
			t.Errorf("%s: %d %v", beyond, a.Status, a.Header)
		}
	}
	if a := v.Call(t, "GET", path, "", "Range", "bytes=0-9,20-29"); a.Status != http.StatusPartialContent || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d %v", a.Status, a.Header)
	}
	if a := v.Call(t, "GET", path, "", "Range", "pages=1-2"); a.Status != http.StatusOK && a.Status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range of pages: %d", a.Status)
	}
	for _, sent := range []string{tag, "*", `"x", ` + tag} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := v.Call(t, method, path, "", "If-None-Match", sent); a.Status != http.StatusNotModified || a.Body != "" {
				t.Errorf("%s with %s: %d", method, sent, a.Status)
			}
		}
	}
	if a := v.Call(t, "GET", path, "", "If-None-Match", `"other"`); a.Status != http.StatusOK {
		t.Errorf("with another tag: %d", a.Status)
	}
	head := v.Call(t, "HEAD", path, "")
	for _, name := range []string{"Content-Type", "Content-Length", "Etag", "Accept-Ranges", "Content-Disposition"} {
		if head.Status != http.StatusOK || head.Body != "" || head.Header.Get(name) != full.Header.Get(name) {
			t.Errorf("HEAD: %d, %s is %q", head.Status, name, head.Header.Get(name))
		}
	}
	if a := v.Call(t, "HEAD", path, "", "Range", "bytes=0-9"); a.Body != "" || a.Status != http.StatusPartialContent && a.Status != http.StatusOK {
		t.Errorf("HEAD of a range: %d", a.Status)
	}
}

func contentVariants(t *testing.T, v *films) {
	for _, id := range videoModels {
		name := harness.TextMember(v.done[id], "id")
		path := harness.VideosPath + "/" + name + "/content"
		tags := map[string]bool{}
		for variant, mediaType := range variantTypes {
			a := v.Call(t, "GET", path+"?variant="+variant, "")
			got := a.Header.Get("Content-Type")
			if id != harness.VideosModel && variant == "thumbnail" {
				// The upstream has no thumbnail, so the gateway makes it from the video.
				mediaType = "image/jpeg"
			}
			if a.Status != http.StatusOK || got != mediaType || !magic(got, a.Body) || a.Header.Get("Content-Length") != fmt.Sprint(len(a.Body)) {
				t.Errorf("%s of %s: %d %v %.60q", variant, id, a.Status, a.Header, a.Body)
			}
			if variant != "video" && !strings.Contains(a.Header.Get("Content-Disposition"), name+"-"+variant) {
				t.Errorf("%s of %s is called %s", variant, id, a.Header.Get("Content-Disposition"))
			}
			tags[a.Header.Get("Etag")] = true
			part := v.Call(t, "GET", path+"?variant="+variant, "", "Range", "bytes=3-9")
			if part.Status != http.StatusPartialContent || part.Body != a.Body[3:10] {
				t.Errorf("a part of the %s of %s: %d", variant, id, part.Status)
			}
			if h := v.Call(t, "HEAD", path+"?variant="+variant, ""); h.Status != http.StatusOK || h.Header.Get("Etag") != a.Header.Get("Etag") {
				t.Errorf("HEAD of the %s of %s: %d", variant, id, h.Status)
			}
		}
		if len(tags) != len(variantTypes) {
			t.Errorf("%s: the tags are %v", id, tags)
		}
		if standard := v.Call(t, "GET", path, ""); standard.Body != v.Call(t, "GET", path+"?variant=video", "").Body {
			t.Errorf("%s: the standard is not the video", id)
		}
		for _, variant := range []string{"Video", "audio", "mp4", "thumbnail ", "video,thumbnail"} {
			r := harness.CheckVideoError(t, v.Call(t, "GET", path+"?variant="+url.QueryEscape(variant), ""), 400, "invalid_value", "variant")
			for word := range variantTypes {
				if !strings.Contains(r.Message, word) {
					t.Errorf("the message does not name %s: %s", word, r.Message)
				}
			}
		}
	}
}

// variantsWithoutUpstream lets an upstream have no stills: the gateway makes them of the video.
func variantsWithoutUpstream(t *testing.T, v *films) {
	id := harness.TextMember(v.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "simulate: no-stills\nwithout stills")), "id")
	for _, variant := range []string{"thumbnail", "spritesheet"} {
		a := v.Call(t, "GET", harness.VideosPath+"/"+id+"/content?variant="+variant, "")
		if a.Status != http.StatusOK || !magic(a.Header.Get("Content-Type"), a.Body) {
			t.Errorf("%s: %d %v %.200s", variant, a.Status, a.Header, a.Body)
		}
	}
	// As if this machine had no program to make them with.
	v.DB(t).MustExec(`update video_jobs set content = content - 'thumbnail' where id = $1`, id)
	harness.CheckVideoError(t, v.Call(t, "GET", harness.VideosPath+"/"+id+"/content?variant=thumbnail", ""), 404, "variant_unavailable", "variant")
	if a := v.Call(t, "GET", harness.VideosPath+"/"+id+"/content", ""); a.Status != http.StatusOK {
		t.Errorf("the video itself: %d", a.Status)
	}
}

func contentWhenCompleted(t *testing.T, v *films) {
	for _, model := range videoModels {
		mark := harness.UniqueName("content")
		id := harness.TextMember(v.CreateVideo(t, harness.VideoBody(model, "simulate: render=hold\n"+mark)), "id")
		failed := harness.TextMember(v.FailVideo(t, harness.VideoBody(model, "simulate: fail=broken\nx"), "generation_failed"), "id")
		for _, root := range videoRoots {
			for variant := range variantTypes {
				for _, name := range []string{id, failed} {
					harness.CheckVideoError(t, v.Call(t, "GET", root+"/"+name+"/content?variant="+variant, ""), 400, "video_not_ready", "video_id")
				}
			}
		}
		v.CallSimulator(t, "POST", "/_control/finish?id="+mark, "")
		v.WaitVideo(t, id)
		if a := v.Call(t, "GET", harness.VideosPath+"/"+id+"/content", ""); a.Status != http.StatusOK {
			t.Errorf("%s: %d", model, a.Status)
		}
	}
	expired := harness.TextMember(v.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "expires")), "id")
	v.DB(t).MustExec(`update video_jobs set expires_at = now() - interval '1 second' where id = $1`, expired)
	harness.CheckVideoError(t, v.Call(t, "GET", harness.VideosPath+"/"+expired+"/content", ""), 404, "video_expired", "video_id")
	harness.CheckVideoError(t, v.Call(t, "POST", harness.VideosPath+"/"+expired+"/remix", `{"prompt":"x"}`), 404, "video_expired", "video_id")
	is(t, v.GetVideo(t, expired), "status", "completed")
}

// library is a customer with some videos, oldest first.
func library(t *testing.T, v *films, n int) (harness.Customer, []string) {
	t.Helper()
	c := harness.NewVideoCustomer(t, v.Gateway, "library")
	ids := []string{}
	for i := range n {
		ids = append(ids, harness.TextMember(c.CreateVideo(t, harness.VideoBody([]string{harness.VideosModel, harness.TasksModel}[i%2], fmt.Sprintf("film 100%% nr_%d", i))), "id"))
	}
	return c, ids
}

func listPages(t *testing.T, v *films) {
	c, ids := library(t, v, 7)
	newest := slices.Clone(ids)
	slices.Reverse(newest)
	for order, want := range map[string][]string{"": newest, "&order=desc": newest, "&order=asc": ids} {
		for _, limit := range []int{1, 2, 3, 6, 7, 8, 100} {
			var got []string
			query := fmt.Sprintf("?limit=%d%s", limit, order)
			for after := ""; ; {
				p := listPage(t, c, query+after)
				if len(p.Data) > limit || p.HasMore != (len(got)+len(p.Data) < len(ids)) {
					t.Fatalf("%s: %d are listed, more: %v", query+after, len(p.Data), p.HasMore)
				}
				if got = append(got, p.ids()...); !p.HasMore {
					break
				}
				after = "&after=" + *p.LastID
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s lists %v, not %v", query, got, want)
			}
		}
	}
	if p := listPage(t, c, ""); len(p.Data) != len(ids) || p.HasMore {
		t.Errorf("without a limit: %+v", p)
	}
	if p := listPage(t, c, "?after="+ids[0]); len(p.Data) != 0 || p.HasMore {
		t.Errorf("behind the last: %+v", p)
	}
	for query, param := range map[string]string{
		"?limit=-1": "limit", "?limit=101": "limit", "?limit=x": "limit", "?limit=1.5": "limit", "?order=up": "order", "?order=ASC": "order", "?after=nonsense": "after",
		"?status=done": "status", "?created_after=soon": "created_after", "?created_before=-1": "created_before",
	} {
		r := harness.OpenAIError(t, c.Call(t, "GET", harness.VideosPath+query, ""))
		if r.Type != "invalid_request_error" || r.Param != param {
			t.Errorf("%s: %+v", query, r)
		}
	}
	for _, root := range videoRoots {
		if a := c.Call(t, "GET", root+"?limit=3", ""); a.Status != http.StatusOK || strings.Count(a.Body, `"object":"video"`) != 3 {
			t.Errorf("%s: %d %s", root, a.Status, a.Body)
		}
	}
}

func listFilters(t *testing.T, v *films) {
	c, ids := library(t, v, 4)
	failed := harness.TextMember(c.FailVideo(t, harness.VideoBody(harness.VideosModel, "simulate: fail=broken\nodd one"), "generation_failed"), "id")
	for _, id := range ids {
		c.WaitVideo(t, id)
	}
	running := harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "simulate: render=hold\nodd two")), "id")
	for query, want := range map[string][]string{
		"status=completed": ids, "status=failed": {failed}, "model=" + harness.TasksModel: {ids[1], ids[3]}, "model=unknown": {}, "search=ODD": {failed, running},
		"search=" + url.QueryEscape("100%"): ids, "search=" + url.QueryEscape("nr_2"): {ids[2]}, "search=nothing": {}, "remixed_from_video_id=" + ids[0]: {},
		"created_after=4000000000": {}, "created_before=1": {}, "created_before=4000000000&status=failed": {failed}, "unknown=1&limit=1": {ids[0]},
	} {
		if got := listVideos(t, c, "?order=asc&"+query); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, not %v", query, got, want)
		}
	}
	harness.WaitUntil(t, "the held one runs", func() bool { return harness.TextMember(c.GetVideo(t, running), "status") == "in_progress" })
	if queued, runs := listVideos(t, c, "?status=queued"), listVideos(t, c, "?status=in_progress"); len(queued) != 0 || !slices.Equal(runs, []string{running}) {
		t.Errorf("queued are %v, running %v", queued, runs)
	}
	isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+running, ""), running)
}

// listMoves makes and deletes videos between two pages: the list repeats no video and leaves out no video that stays.
func listMoves(t *testing.T, v *films) {
	c, ids := library(t, v, 6)
	first := listPage(t, c, "?limit=2")
	made := harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "newer")), "id")
	// This video is the cursor of the next page.
	isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+ids[4], ""), ids[4])
	isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+ids[2], ""), ids[2])
	if got := first.ids(); !slices.Equal(got, []string{ids[5], ids[4]}) {
		t.Errorf("the first page is %v", got)
	}
	if got := listVideos(t, c, "?limit=100&after="+*first.LastID); !slices.Equal(got, []string{ids[3], ids[1], ids[0]}) {
		t.Errorf("the second page is %v", got)
	}
	if got := listVideos(t, c, "?order=asc&after="+ids[3]); !slices.Equal(got, []string{ids[5], made}) {
		t.Errorf("upwards there is %v", got)
	}
	if got := listVideos(t, v.Customer, "?limit=100"); slices.Contains(got, made) {
		t.Error("another account's video is listed")
	}
}
