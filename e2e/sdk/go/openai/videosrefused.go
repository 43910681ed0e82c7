package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
)

// failures are the cases in which nothing is made.
func (f *filming) failures() {
	good := openai.VideoNewParams{Model: f.Models["videos"], Prompt: "A boat"}
	changed := func(change func(*openai.VideoNewParams)) openai.VideoNewParams {
		p := good
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		key, code, param string
		status           int
		params           openai.VideoNewParams
	}{
		"400 size":      {f.Key, "invalid_value", "size", 400, changed(func(p *openai.VideoNewParams) { p.Size = "640x480" })},
		"400 seconds":   {f.Key, "invalid_value", "seconds", 400, changed(func(p *openai.VideoNewParams) { p.Seconds = "7" })},
		"400 guardrail": {f.Key, "content_policy_violation", "prompt", 400, changed(func(p *openai.VideoNewParams) { p.Prompt = "guardrail: minors" })},
		"400 picture": {f.Key, "invalid_value", "input_reference", 400, changed(func(p *openai.VideoNewParams) {
			p.InputReference.OfFile = openai.File(bytes.NewReader([]byte("no picture")), "frame.png", "image/png")
		})},
		"400 file_id": {f.Key, "invalid_value", "input_reference.file_id", 400, changed(func(p *openai.VideoNewParams) {
			p.InputReference.OfImageInputReference = &openai.ImageInputReferenceParam{FileID: openai.String("file-1")}
		})},
		"401":       {"umg_unknown", "invalid_api_key", "", 401, good},
		"402":       {f.Busy, "insufficient_quota", "", 402, changed(func(p *openai.VideoNewParams) { p.Model, p.Size, p.Seconds = f.Pro, "1920x1080", "20" })},
		"404 model": {f.Key, "model_not_found", "model", 404, changed(func(p *openai.VideoNewParams) { p.Model = "no/such" })},
	} {
		f.Check("error/"+name, func(ctx context.Context) error {
			api := f.client(c.key)
			_, err := api.Videos.New(ctx, c.params)
			return refused(err, c.status, c.code, c.param)
		})
	}
	f.Check("error/429", f.crowd)
	f.Check("error/404 unknown and unfinished", f.unfinished)
	f.Check("error/404 what is not served", f.unserved)
}

// crowd asks for one video more than may be rendered at a time.
func (f *filming) crowd(ctx context.Context) error {
	api := f.client(f.Busy)
	p := openai.VideoNewParams{Model: f.Pro, Prompt: "simulate: render=hold\nlong"}
	var running []string
	var err error
	for range 2 {
		v, made := api.Videos.New(ctx, p)
		if made != nil {
			return made
		}
		running = append(running, v.ID)
	}
	_, err = api.Videos.New(ctx, p)
	err = refused(err, http.StatusTooManyRequests, "rate_limit_exceeded", "")
	for _, id := range running {
		_, gone := api.Videos.Delete(ctx, id)
		err = errors.Join(err, gone)
	}
	return err
}

// unfinished asks for the content of a video that is still made, and for one that there is not.
func (f *filming) unfinished(ctx context.Context) error {
	_, unknown := f.api.Videos.Get(ctx, "video_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	v, err := f.api.Videos.New(ctx, openai.VideoNewParams{Model: f.Models["videos"], Prompt: "simulate: render=hold\nlong"})
	if err != nil {
		return err
	}
	_, content := f.api.Videos.DownloadContent(ctx, v.ID, openai.VideoDownloadContentParams{})
	_, remix := f.api.Videos.Remix(ctx, v.ID, openai.VideoRemixParams{Prompt: "again"})
	_, gone := f.api.Videos.Delete(ctx, v.ID)
	return errors.Join(
		refused(unknown, http.StatusNotFound, "video_not_found", "video_id"), refused(content, http.StatusBadRequest, "video_not_ready", "video_id"),
		refused(remix, http.StatusBadRequest, "video_not_ready", "video_id"), gone,
	)
}

// unserved are the operations that the client has and the gateway has not.
func (f *filming) unserved(ctx context.Context) error {
	mp4 := func() *bytes.Reader { return bytes.NewReader([]byte("film")) }
	_, edit := f.api.Videos.Edit(ctx, openai.VideoEditParams{Prompt: "edit", Video: openai.VideoEditParamsVideoUnion{OfFile: mp4()}})
	_, extend := f.api.Videos.Extend(ctx, openai.VideoExtendParams{
		Prompt: "extend", Seconds: "4", Video: openai.VideoExtendParamsVideoUnion{OfFile: mp4()},
	})
	_, character := f.api.Videos.NewCharacter(ctx, openai.VideoNewCharacterParams{Name: "one", Video: mp4()})
	var err error
	for i, one := range []error{edit, extend, character} {
		if e := refused(one, http.StatusNotFound, "unsupported_endpoint", ""); e != nil {
			err = errors.Join(err, fmt.Errorf("operation %d: %w", i, e))
		}
	}
	return err
}
