package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
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
		name := textAt(v.done[id], "id")
		for _, root := range videoRoots {
			for _, accept := range []string{"", "application/binary", "*/*", "text/html"} {
				a := v.call(t, "GET", root+"/"+name+"/content", "", "Accept", accept)
				if a.status != http.StatusOK || !magic("video/mp4", a.body) {
					t.Fatalf("%s: %d %.100s", id, a.status, a.body)
				}
				for header, want := range map[string]string{
					"Content-Type": "video/mp4", "Content-Length": fmt.Sprint(len(a.body)), "Accept-Ranges": "bytes",
					"Content-Disposition": "attachment; filename=" + name + ".mp4", "X-Content-Type-Options": "nosniff",
				} {
					if got := a.header.Get(header); got != want {
						t.Errorf("%s is %q, not %q", header, got, want)
					}
				}
				if !strings.HasPrefix(a.header.Get("Etag"), `"`) || !strings.Contains(a.header.Get("Cache-Control"), "private") {
					t.Errorf("the headers are %v", a.header)
				}
			}
		}
	}
}

func contentRanges(t *testing.T, v *films) {
	path := videosPath + "/" + textAt(v.done[reelModel], "id") + "/content"
	full := v.call(t, "GET", path, "")
	n, tag := len(full.body), full.header.Get("Etag")
	for ranges, want := range map[string][2]int{
		"bytes=0-99": {0, 100}, "bytes=100-199": {100, 200}, "bytes=-50": {n - 50, n}, fmt.Sprintf("bytes=%d-", n-1): {n - 1, n}, "bytes=10-9999999999": {10, n},
	} {
		a := v.call(t, "GET", path, "", "Range", ranges)
		if a.status != http.StatusPartialContent || a.body != full.body[want[0]:want[1]] || a.header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", want[0], want[1]-1, n) {
			t.Errorf("%s: %d %v, %d bytes", ranges, a.status, a.header, len(a.body))
		}
		if b := v.call(t, "GET", path, "", "Range", ranges, "If-Range", tag); b.status != http.StatusPartialContent || b.body != a.body {
			t.Errorf("%s with If-Range: %d", ranges, b.status)
		}
		if b := v.call(t, "GET", path, "", "Range", ranges, "If-Range", `"other"`); b.status != http.StatusOK || b.body != full.body {
			t.Errorf("%s with another If-Range: %d", ranges, b.status)
		}
	}
	for _, beyond := range []string{fmt.Sprintf("bytes=%d-", n), fmt.Sprintf("bytes=%d-%d", n+5, n+9)} {
		a := v.call(t, "GET", path, "", "Range", beyond)
		if a.status != http.StatusRequestedRangeNotSatisfiable || a.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", n) {
			t.Errorf("%s: %d %v", beyond, a.status, a.header)
		}
	}
	if a := v.call(t, "GET", path, "", "Range", "bytes=0-9,20-29"); a.status != http.StatusPartialContent || !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d %v", a.status, a.header)
	}
	if a := v.call(t, "GET", path, "", "Range", "pages=1-2"); a.status != http.StatusOK && a.status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range of pages: %d", a.status)
	}
	for _, sent := range []string{tag, "*", `"x", ` + tag} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := v.call(t, method, path, "", "If-None-Match", sent); a.status != http.StatusNotModified || a.body != "" {
				t.Errorf("%s with %s: %d", method, sent, a.status)
			}
		}
	}
	if a := v.call(t, "GET", path, "", "If-None-Match", `"other"`); a.status != http.StatusOK {
		t.Errorf("with another tag: %d", a.status)
	}
	head := v.call(t, "HEAD", path, "")
	for _, name := range []string{"Content-Type", "Content-Length", "Etag", "Accept-Ranges", "Content-Disposition"} {
		if head.status != http.StatusOK || head.body != "" || head.header.Get(name) != full.header.Get(name) {
			t.Errorf("HEAD: %d, %s is %q", head.status, name, head.header.Get(name))
		}
	}
	if a := v.call(t, "HEAD", path, "", "Range", "bytes=0-9"); a.body != "" || a.status != http.StatusPartialContent && a.status != http.StatusOK {
		t.Errorf("HEAD of a range: %d", a.status)
	}
}

func contentVariants(t *testing.T, v *films) {
	for _, id := range videoModels {
		name := textAt(v.done[id], "id")
		path := videosPath + "/" + name + "/content"
		tags := map[string]bool{}
		for variant, mediaType := range variantTypes {
			a := v.call(t, "GET", path+"?variant="+variant, "")
			got := a.header.Get("Content-Type")
			if id != reelModel && variant == "thumbnail" {
				// The upstream has no thumbnail, so the gateway makes it from the video.
				mediaType = "image/jpeg"
			}
			if a.status != http.StatusOK || got != mediaType || !magic(got, a.body) || a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
				t.Errorf("%s of %s: %d %v %.60q", variant, id, a.status, a.header, a.body)
			}
			if variant != "video" && !strings.Contains(a.header.Get("Content-Disposition"), name+"-"+variant) {
				t.Errorf("%s of %s is called %s", variant, id, a.header.Get("Content-Disposition"))
			}
			tags[a.header.Get("Etag")] = true
			part := v.call(t, "GET", path+"?variant="+variant, "", "Range", "bytes=3-9")
			if part.status != http.StatusPartialContent || part.body != a.body[3:10] {
				t.Errorf("a part of the %s of %s: %d", variant, id, part.status)
			}
			if h := v.call(t, "HEAD", path+"?variant="+variant, ""); h.status != http.StatusOK || h.header.Get("Etag") != a.header.Get("Etag") {
				t.Errorf("HEAD of the %s of %s: %d", variant, id, h.status)
			}
		}
		if len(tags) != len(variantTypes) {
			t.Errorf("%s: the tags are %v", id, tags)
		}
		if standard := v.call(t, "GET", path, ""); standard.body != v.call(t, "GET", path+"?variant=video", "").body {
			t.Errorf("%s: the standard is not the video", id)
		}
		for _, variant := range []string{"Video", "audio", "mp4", "thumbnail ", "video,thumbnail"} {
			r := isRefused(t, v.call(t, "GET", path+"?variant="+url.QueryEscape(variant), ""), 400, "invalid_value", "variant")
			for word := range variantTypes {
				if !strings.Contains(r.message, word) {
					t.Errorf("the message does not name %s: %s", word, r.message)
				}
			}
		}
	}
}

// variantsWithoutUpstream lets an upstream have no stills: the gateway makes them of the video.
func variantsWithoutUpstream(t *testing.T, v *films) {
	id := textAt(v.film(t, videoBody(reelModel, "simulate: no-stills\nwithout stills")), "id")
	for _, variant := range []string{"thumbnail", "spritesheet"} {
		a := v.call(t, "GET", videosPath+"/"+id+"/content?variant="+variant, "")
		if a.status != http.StatusOK || !magic(a.header.Get("Content-Type"), a.body) {
			t.Errorf("%s: %d %v %.200s", variant, a.status, a.header, a.body)
		}
	}
	// As if this machine had no program to make them with.
	v.db(t).MustExec(`update video_jobs set content = content - 'thumbnail' where id = $1`, id)
	isRefused(t, v.call(t, "GET", videosPath+"/"+id+"/content?variant=thumbnail", ""), 404, "variant_unavailable", "variant")
	if a := v.call(t, "GET", videosPath+"/"+id+"/content", ""); a.status != http.StatusOK {
		t.Errorf("the video itself: %d", a.status)
	}
}

func contentWhenCompleted(t *testing.T, v *films) {
	for _, model := range videoModels {
		mark := once("content")
		id := textAt(v.makeVideo(t, videoBody(model, "simulate: render=hold\n"+mark)), "id")
		failed := textAt(v.flop(t, videoBody(model, "simulate: fail=broken\nx"), "generation_failed"), "id")
		for _, root := range videoRoots {
			for variant := range variantTypes {
				for _, name := range []string{id, failed} {
					isRefused(t, v.call(t, "GET", root+"/"+name+"/content?variant="+variant, ""), 400, "video_not_ready", "video_id")
				}
			}
		}
		v.simulator(t, "POST", "/_control/finish?id="+mark, "")
		v.ended(t, id)
		if a := v.call(t, "GET", videosPath+"/"+id+"/content", ""); a.status != http.StatusOK {
			t.Errorf("%s: %d", model, a.status)
		}
	}
	expired := textAt(v.film(t, videoBody(reelModel, "expires")), "id")
	v.db(t).MustExec(`update video_jobs set expires_at = now() - interval '1 second' where id = $1`, expired)
	isRefused(t, v.call(t, "GET", videosPath+"/"+expired+"/content", ""), 404, "video_expired", "video_id")
	isRefused(t, v.call(t, "POST", videosPath+"/"+expired+"/remix", `{"prompt":"x"}`), 404, "video_expired", "video_id")
	is(t, v.task(t, expired), "status", "completed")
}

// library is a customer with some videos, oldest first.
func library(t *testing.T, v *films, n int) (customer, []string) {
	t.Helper()
	c := filmmaker(t, v.gateway, "library")
	ids := []string{}
	for i := range n {
		ids = append(ids, textAt(c.makeVideo(t, videoBody([]string{reelModel, swiftModel}[i%2], fmt.Sprintf("film 100%% nr_%d", i))), "id"))
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
				p := c.page(t, query+after)
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
	if p := c.page(t, ""); len(p.Data) != len(ids) || p.HasMore {
		t.Errorf("without a limit: %+v", p)
	}
	if p := c.page(t, "?after="+ids[0]); len(p.Data) != 0 || p.HasMore {
		t.Errorf("behind the last: %+v", p)
	}
	for query, param := range map[string]string{
		"?limit=-1": "limit", "?limit=101": "limit", "?limit=x": "limit", "?limit=1.5": "limit", "?order=up": "order", "?order=ASC": "order", "?after=nonsense": "after",
		"?status=done": "status", "?created_after=soon": "created_after", "?created_before=-1": "created_before",
	} {
		r := openAIRefusal(t, c.call(t, "GET", videosPath+query, ""))
		if r.kind != "invalid_request_error" || r.param != param {
			t.Errorf("%s: %+v", query, r)
		}
	}
	for _, root := range videoRoots {
		if a := c.call(t, "GET", root+"?limit=3", ""); a.status != http.StatusOK || strings.Count(a.body, `"object":"video"`) != 3 {
			t.Errorf("%s: %d %s", root, a.status, a.body)
		}
	}
}

func listFilters(t *testing.T, v *films) {
	c, ids := library(t, v, 4)
	failed := textAt(c.flop(t, videoBody(reelModel, "simulate: fail=broken\nodd one"), "generation_failed"), "id")
	for _, id := range ids {
		c.ended(t, id)
	}
	running := textAt(c.makeVideo(t, videoBody(reelModel, "simulate: render=hold\nodd two")), "id")
	for query, want := range map[string][]string{
		"status=completed": ids, "status=failed": {failed}, "model=" + swiftModel: {ids[1], ids[3]}, "model=nobody": {}, "search=ODD": {failed, running},
		"search=" + url.QueryEscape("100%"): ids, "search=" + url.QueryEscape("nr_2"): {ids[2]}, "search=nothing": {}, "remixed_from_video_id=" + ids[0]: {},
		"created_after=4000000000": {}, "created_before=1": {}, "created_before=4000000000&status=failed": {failed}, "unknown=1&limit=1": {ids[0]},
	} {
		if got := c.listVideos(t, "?order=asc&"+query); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, not %v", query, got, want)
		}
	}
	until(t, "the held one runs", func() bool { return textAt(c.task(t, running), "status") == "in_progress" })
	if queued, runs := c.listVideos(t, "?status=queued"), c.listVideos(t, "?status=in_progress"); len(queued) != 0 || !slices.Equal(runs, []string{running}) {
		t.Errorf("queued are %v, running %v", queued, runs)
	}
	isDeleted(t, c.call(t, "DELETE", videosPath+"/"+running, ""), running)
}

// listMoves makes and deletes videos between two pages: the list repeats no video and leaves out no video that stays.
func listMoves(t *testing.T, v *films) {
	c, ids := library(t, v, 6)
	first := c.page(t, "?limit=2")
	made := textAt(c.makeVideo(t, videoBody(reelModel, "newer")), "id")
	// This video is the cursor of the next page.
	isDeleted(t, c.call(t, "DELETE", videosPath+"/"+ids[4], ""), ids[4])
	isDeleted(t, c.call(t, "DELETE", videosPath+"/"+ids[2], ""), ids[2])
	if got := first.ids(); !slices.Equal(got, []string{ids[5], ids[4]}) {
		t.Errorf("the first page is %v", got)
	}
	if got := c.listVideos(t, "?limit=100&after="+*first.LastID); !slices.Equal(got, []string{ids[3], ids[1], ids[0]}) {
		t.Errorf("the second page is %v", got)
	}
	if got := c.listVideos(t, "?order=asc&after="+ids[3]); !slices.Equal(got, []string{ids[5], made}) {
		t.Errorf("upwards there is %v", got)
	}
	if got := v.listVideos(t, "?limit=100"); slices.Contains(got, made) {
		t.Error("another account's video is listed")
	}
}
