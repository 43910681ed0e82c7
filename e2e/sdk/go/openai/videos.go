package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"umg/e2e/sdk/go/cases"
)

const (
	pollMS = 100
	// listedMore videos and those of the other cases are more than one page of any usual size.
	listedMore = 26
)

// videosConfig says where the gateway is, and who calls.
type videosConfig struct {
	Origin string `json:"origin"`
	Key    string `json:"key"`
	// Busy is a key of a customer with five dollars who may render two videos of the pro model at a time.
	Busy string `json:"busy"`
	// Folder is for downloads, which the test checks.
	Folder string `json:"folder"`
	// Frame is a PNG of the standard size.
	Frame string `json:"frame"`
	// Models has a model for each style of upstream.
	Models map[string]openai.VideoModel `json:"models"`
	// Pro is the expensive model.
	Pro openai.VideoModel `json:"pro"`
}

// filming is the state of the cases, which build on each other as a program would.
type filming struct {
	videosConfig
	cases.Run
	api openai.Client
	// made has the ids in the order of creation, without the deleted ones.
	made []string
}

// videos runs all cases of the video routes.
func videos(config string) {
	f := &filming{}
	if err := json.Unmarshal([]byte(config), &f.videosConfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	f.api = f.client(f.Key)
	for _, style := range []string{"videos", "operations", "tasks"} {
		f.Check("life/"+style, func(ctx context.Context) error { return f.life(ctx, style) })
	}
	f.Check("poll/hint", f.hint)
	f.Check("size and seconds", f.measures)
	f.Check("input_reference/file", f.frameFile)
	f.Check("input_reference/bare reader", f.frameReader)
	f.Check("input_reference/object", f.frameObject)
	f.Check("remix", f.remix)
	f.Check("failure", f.failure)
	f.Check("idempotency", f.idempotency)
	f.Check("list", f.list)
	f.Check("delete", f.delete)
	f.failures()
	f.Exit()
}

func (f *filming) client(key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(f.Origin+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// life is a video from its creation over its content: made, polled, looked at, downloaded.
func (f *filming) life(ctx context.Context, style string) error {
	prompt := `A boat, "quoted" \ <b>漢字</b> 🌍 ` + style
	v, err := f.api.Videos.New(ctx, openai.VideoNewParams{Model: f.Models[style], Prompt: prompt})
	if err != nil {
		return err
	}
	f.made = append(f.made, v.ID)
	seconds := openai.VideoSeconds("4")
	size := openai.VideoSize("720x1280")
	if style == "tasks" {
		seconds, size = "5", "1280x720"
	}
	waiting := v.Status == openai.VideoStatusQueued || v.Status == openai.VideoStatusInProgress
	age := time.Since(time.Unix(v.CreatedAt, 0))
	if !waiting || !strings.HasPrefix(v.ID, "video_") || age < -2*time.Second || age > time.Minute || v.Progress < 0 || v.Progress > 99 {
		return fmt.Errorf("made %s", v.RawJSON())
	}
	if v.CompletedAt != 0 || v.JSON.Error.Valid() || v.JSON.RemixedFromVideoID.Valid() || v.JSON.ExpiresAt.Valid() {
		return fmt.Errorf("too much of %s", v.RawJSON())
	}
	done, err := f.api.Videos.PollStatus(ctx, v.ID, pollMS)
	if err != nil {
		return err
	}
	again, err := f.api.Videos.Get(ctx, v.ID)
	if err != nil {
		return err
	}
	return errors.Join(
		f.completed(done), cases.Same("the look after it", again.RawJSON(), done.RawJSON()), cases.Same("the id", done.ID, v.ID),
		cases.Same("the prompt", done.Prompt, prompt), cases.Same("the model", done.Model, f.Models[style]),
		cases.Same("the size", done.Size, size), cases.Same("the length", done.Seconds, seconds),
		cases.Same("the creation", done.CreatedAt, v.CreatedAt),
		f.keep(ctx, done, "life-"+style, "video"), f.keep(ctx, done, "life-"+style, "thumbnail"), f.keep(ctx, done, "life-"+style, "spritesheet"),
	)
}

func (f *filming) completed(v *openai.Video) error {
	if v.Status != openai.VideoStatusCompleted || v.Progress != 100 || v.CompletedAt < v.CreatedAt || v.ExpiresAt <= v.CompletedAt ||
		v.JSON.Error.Valid() || string(v.Object) != "video" {
		return fmt.Errorf("ended as %s", v.RawJSON())
	}
	return nil
}

// keep downloads one variant under a name that says what the file must be.
func (f *filming) keep(ctx context.Context, v *openai.Video, name, variant string) error {
	query := openai.VideoDownloadContentParams{}
	if variant != "video" {
		query.Variant = openai.VideoDownloadContentParamsVariant(variant)
	}
	resp, err := f.api.Videos.DownloadContent(ctx, v.ID, query)
	if err != nil {
		return fmt.Errorf("the %s: %w", variant, err)
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	mediaType, ends := "video/mp4", ".mp4"
	switch {
	// This upstream has a thumbnail of its own.
	case variant == "thumbnail" && v.Model == f.Models["videos"]:
		mediaType, ends = "image/webp", ".webp"
	case variant != "video":
		mediaType, ends = "image/jpeg", ".jpg"
	}
	file := fmt.Sprintf("%s-%s_%s_%s%s", name, variant, v.Size, v.Seconds, ends)
	return errors.Join(
		cases.Same("the type", resp.Header.Get("Content-Type"), mediaType),
		cases.Same("the length", resp.ContentLength, int64(len(data))),
		cases.Same("the ranges", resp.Header.Get("Accept-Ranges"), "bytes"),
		cases.Same("the disposition", strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment"), true),
		os.WriteFile(filepath.Join(f.Folder, file), data, 0o600),
	)
}

// hint lets the client wait as long as the gateway tells it to. The video is soon made, and yet is looked at no earlier.
func (f *filming) hint(ctx context.Context) error {
	const told = 5 * time.Second
	v, err := f.api.Videos.New(ctx, openai.VideoNewParams{Model: f.Models["videos"], Prompt: "simulate: render=1s\nslowly"})
	if err != nil {
		return err
	}
	f.made = append(f.made, v.ID)
	asked := time.Now()
	done, err := f.api.Videos.PollStatus(ctx, v.ID, 0)
	if err != nil {
		return err
	}
	if took := time.Since(asked); took < told-100*time.Millisecond {
		err = fmt.Errorf("it waited for %s only", took)
	}
	return errors.Join(err, f.completed(done))
}

// film makes a video with the client's helper that waits.
func (f *filming) film(ctx context.Context, p openai.VideoNewParams) (*openai.Video, error) {
	if p.Model == "" {
		p.Model = f.Models["videos"]
	}
	v, err := f.api.Videos.NewAndPoll(ctx, p, pollMS)
	if err != nil {
		return nil, err
	}
	f.made = append(f.made, v.ID)
	return v, f.completed(v)
}

func (f *filming) measures(ctx context.Context) error {
	v, err := f.film(ctx, openai.VideoNewParams{Prompt: "A wide boat", Size: openai.VideoSize1280x720, Seconds: openai.VideoSeconds8})
	if err != nil {
		return err
	}
	return errors.Join(cases.Same("the size", v.Size, "1280x720"), cases.Same("the length", v.Seconds, "8"), f.keep(ctx, v, "wide", "video"))
}

func (f *filming) framed(ctx context.Context, name string, reference openai.VideoNewParamsInputReferenceUnion) error {
	v, err := f.film(ctx, openai.VideoNewParams{Prompt: "A framed boat", InputReference: reference})
	if err != nil {
		return err
	}
	return f.keep(ctx, v, name, "video")
}

func (f *filming) frameFile(ctx context.Context) error {
	data, err := os.ReadFile(f.Frame)
	if err != nil {
		return err
	}
	return f.framed(ctx, "framed-file", openai.VideoNewParamsInputReferenceUnion{
		OfFile: openai.File(bytes.NewReader(data), "frame.png", "image/png"),
	})
}

// frameReader sends the file as what it is not called: octets.
func (f *filming) frameReader(ctx context.Context) error {
	data, err := os.ReadFile(f.Frame)
	if err != nil {
		return err
	}
	return f.framed(ctx, "framed-reader", openai.VideoNewParamsInputReferenceUnion{OfFile: bytes.NewReader(data)})
}

func (f *filming) frameObject(ctx context.Context) error {
	data, err := os.ReadFile(f.Frame)
	if err != nil {
		return err
	}
	return f.framed(ctx, "framed-object", openai.VideoNewParamsInputReferenceUnion{OfImageInputReference: &openai.ImageInputReferenceParam{
		ImageURL: openai.String("data:image/png;base64," + base64.StdEncoding.EncodeToString(data)),
	}})
}

func (f *filming) remix(ctx context.Context) error {
	source, err := f.film(ctx, openai.VideoNewParams{Prompt: "A framed boat"})
	if err != nil {
		return err
	}
	v, err := f.api.Videos.Remix(ctx, source.ID, openai.VideoRemixParams{Prompt: "The same at night"})
	if err != nil {
		return err
	}
	f.made = append(f.made, v.ID)
	if v, err = f.api.Videos.PollStatus(ctx, v.ID, pollMS); err != nil {
		return err
	}
	return errors.Join(
		f.completed(v), cases.Same("the source", v.RemixedFromVideoID, source.ID), cases.Same("the prompt", v.Prompt, "The same at night"),
		cases.Same("the model", v.Model, source.Model), cases.Same("the size", v.Size, source.Size), cases.Same("the length", v.Seconds, source.Seconds),
		f.keep(ctx, source, "unframed", "video"), f.keep(ctx, v, "remix", "video"),
	)
}

// failure is a job that is taken and then fails: the client raises nothing, the job says why.
func (f *filming) failure(ctx context.Context) error {
	v, err := f.api.Videos.NewAndPoll(ctx, openai.VideoNewParams{Model: f.Models["videos"], Prompt: "guardrail-late: copyright"}, pollMS)
	if err != nil {
		return err
	}
	f.made = append(f.made, v.ID)
	_, err = f.api.Videos.DownloadContent(ctx, v.ID, openai.VideoDownloadContentParams{})
	return errors.Join(
		cases.Same("the status", v.Status, openai.VideoStatusFailed), cases.Same("the code", v.Error.Code, "moderation_blocked"),
		cases.Same("a message", v.Error.Message != "", true), refused(err, http.StatusBadRequest, "video_not_ready", "video_id"),
	)
}

func (f *filming) idempotency(ctx context.Context) error {
	key := option.WithHeader("Idempotency-Key", fmt.Sprint("go-", time.Now().UnixNano()))
	p := openai.VideoNewParams{Model: f.Models["videos"], Prompt: "simulate: fail=broken\nonce"}
	var replay *http.Response
	one, err := f.api.Videos.New(ctx, p, key)
	if err != nil {
		return err
	}
	f.made = append(f.made, one.ID)
	two, err := f.api.Videos.New(ctx, p, key, option.WithResponseInto(&replay))
	if err != nil {
		return err
	}
	p.Prompt += " more"
	_, err = f.api.Videos.New(ctx, p, key)
	return errors.Join(
		cases.Same("the second job", two.ID, one.ID), cases.Same("the mark", replay.Header.Get("Idempotency-Replayed"), "true"),
		refused(err, http.StatusUnprocessableEntity, "idempotency_error", "Idempotency-Key"),
	)
}

// list turns the pages of more jobs than fit on one, forwards and backwards.
func (f *filming) list(ctx context.Context) error {
	for i := range listedMore {
		v, err := f.api.Videos.New(ctx, openai.VideoNewParams{Model: f.Models["videos"], Prompt: fmt.Sprintf("simulate: fail=broken\nlisted %d", i)})
		if err != nil {
			return err
		}
		f.made = append(f.made, v.ID)
	}
	backwards := slices.Clone(f.made)
	slices.Reverse(backwards)
	for name, q := range map[string]struct {
		params openai.VideoListParams
		want   []string
	}{
		"unasked":         {openai.VideoListParams{}, backwards},
		"descending by 7": {openai.VideoListParams{Order: "desc", Limit: openai.Int(7)}, backwards},
		"ascending by 10": {openai.VideoListParams{Order: "asc", Limit: openai.Int(10)}, f.made},
		"behind one":      {openai.VideoListParams{Order: "asc", After: openai.String(f.made[3])}, f.made[4:]},
	} {
		var got []string
		pages := f.api.Videos.ListAutoPaging(ctx, q.params)
		for pages.Next() {
			got = append(got, pages.Current().ID)
		}
		if err := pages.Err(); err != nil || !slices.Equal(got, q.want) {
			return fmt.Errorf("%s: %w: %d of %d: %q and not %q", name, err, len(got), len(q.want), got, q.want)
		}
	}
	return nil
}

func (f *filming) delete(ctx context.Context) error {
	id := f.made[0]
	gone, err := f.api.Videos.Delete(ctx, id)
	if err != nil {
		return err
	}
	_, get := f.api.Videos.Get(ctx, id)
	_, content := f.api.Videos.DownloadContent(ctx, id, openai.VideoDownloadContentParams{})
	_, remix := f.api.Videos.Remix(ctx, id, openai.VideoRemixParams{Prompt: "again"})
	page, err := f.api.Videos.List(ctx, openai.VideoListParams{Order: "asc", Limit: openai.Int(1)})
	if err != nil || len(page.Data) != 1 {
		return fmt.Errorf("a page of one: %w %s", err, page.RawJSON())
	}
	return errors.Join(
		cases.Same("the id", gone.ID, id), cases.Same("deleted", gone.Deleted, true), cases.Same("the object", string(gone.Object), "video.deleted"),
		refused(get, http.StatusNotFound, "video_not_found", "video_id"), refused(content, http.StatusNotFound, "video_not_found", "video_id"),
		refused(remix, http.StatusNotFound, "video_not_found", "video_id"), cases.Same("the first that is listed", page.Data[0].ID, f.made[1]),
	)
}

// refused insists on the client's error, with all that it says.
func refused(err error, status int, code, param string) error {
	var failed *openai.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("no error of the client: %w", err)
	}
	if failed.StatusCode != status || failed.Code != code || failed.Param != param || failed.Message == "" || failed.Type == "" {
		return fmt.Errorf("not %d %s at %q: %s", status, code, param, failed.RawJSON())
	}
	return nil
}
