package codesample

import (
	"encoding/json"
	"strconv"
	"strings"

	"umg/views/ui"
)

// Video is the video that a sample creates.
type Video struct {
	Model, Prompt, Size string
	Seconds             int
	Assets              []string // ids of assets in the request
	RemixedFrom         string   // id of the video to remix; empty for a new video
}

// OfVideo are programs in each language that create the video. They poll for the result, or receive it as a webhook
// if hook is set.
func OfVideo(baseURL string, v Video, hook bool) []ui.Sample {
	programs, path := videoPrograms, "/videos"
	if hook {
		programs = videoHookPrograms
	}
	how := videoCreates
	withAssets := len(v.Assets) > 0 && v.RemixedFrom == ""
	if withAssets {
		how = videoAssetCreates(v)
	}
	if v.RemixedFrom != "" {
		how, path = videoRemixes, "/videos/"+v.RemixedFrom+"/remix"
	}
	fill := strings.NewReplacer(
		`{base"}`, Quote(baseURL), "{base}", baseURL, "{path}", path,
		"{model}", Quote(v.Model), "{prompt}", Quote(v.Prompt), "{size}", Quote(v.Size), "{seconds}", Quote(strconv.Itoa(v.Seconds)),
		"{source}", Quote(v.RemixedFrom), "{shell}", ShellText(jsonNotation.literal(v.request(), 1, "  ")),
	)
	out := make([]ui.Sample, len(languages))
	for i, s := range languages {
		p := programs[s.Name]
		text := p.text
		if withAssets {
			text = strings.ReplaceAll(strings.ReplaceAll(text, assetGoHeadOld, assetGoHead), openAIPythonImport, assetPythonImport)
		}
		s.Note, s.Source = p.note, filled(fill, WithKey(s.Name, text, ""), how[s.Name], withAssets)
		out[i] = s
	}
	return out
}

// request is the body that asks for the video.
func (v Video) request() []byte {
	var body any = struct {
		Model   string   `json:"model"`
		Prompt  string   `json:"prompt"`
		Size    string   `json:"size"`
		Seconds string   `json:"seconds"`
		Assets  []string `json:"asset_ids,omitempty"`
	}{v.Model, v.Prompt, v.Size, strconv.Itoa(v.Seconds), v.Assets}
	if v.RemixedFrom != "" {
		body = struct {
			Prompt string `json:"prompt"`
		}{v.Prompt}
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return b
}

type videoProgram struct{ note, text string }

// videoCreates ask for a video, videoRemixes for a change of one.
var (
	videoCreates = map[string]string{
		"python":     "client.videos.create(\n    model={model},\n    prompt={prompt},\n    size={size},\n    seconds={seconds},\n)",
		"javascript": "client.videos.create({\n  model: {model},\n  prompt: {prompt},\n  size: {size},\n  seconds: {seconds},\n})",
		"go": "client.Videos.New(ctx, openai.VideoNewParams{\n\t\tModel:   {model},\n\t\tPrompt:  {prompt},\n\t\tSize:    {size},\n" +
			"\t\tSeconds: {seconds},\n\t})",
	}
	videoRemixes = map[string]string{
		"python":     "client.videos.remix(\n    {source},\n    prompt={prompt},\n)",
		"javascript": "client.videos.remix({source}, {\n  prompt: {prompt},\n})",
		"go":         "client.Videos.Remix(ctx, {source}, openai.VideoRemixParams{\n\t\tPrompt: {prompt},\n\t})",
	}
)

// videoPrograms are whole: pasted into a file or a terminal, they run.
var videoPrograms = map[string]videoProgram{
	"curl": {"", `id=$(curl -s {base}{path} \
  -H "Authorization: Bearer {key}" \
  -H "Content-Type: application/json" \
  -d {shell} | sed -n 's/.*"id": *"\(video_[^"]*\)".*/\1/p')

while curl -s {base}/videos/$id -H "Authorization: Bearer {key}" | grep -qE '"status": *"(queued|in_progress)"'; do
  sleep 3
done

curl -f {base}/videos/$id/content -H "Authorization: Bearer {key}" -o video.mp4`},
	"python": {NoteOpenAIPython, `import time

` + openAIPython + `video = {create}
while video.status in ("queued", "in_progress"):
    time.sleep(3)
    video = client.videos.retrieve(video.id)
    print(video.status, video.progress)

if video.status == "failed":
    raise SystemExit(video.error.message)
client.videos.download_content(video.id).write_to_file("video.mp4")`},
	"javascript": {NoteOpenAIScript, `import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
` + openAIScript + `let video = await {create};
while (video.status === "queued" || video.status === "in_progress") {
  await setTimeout(3000);
  video = await client.videos.retrieve(video.id);
  console.log(video.status, video.progress);
}

if (video.status === "failed") {
  throw new Error(video.error.message);
}
const content = await client.videos.downloadContent(video.id);
await writeFile("video.mp4", Buffer.from(await content.arrayBuffer()));`},
	"go": {NoteOpenAIGo, `package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL({base"}), option.WithAPIKey({key"}))
	video, err := {create}
	for err == nil && (video.Status == openai.VideoStatusQueued || video.Status == openai.VideoStatusInProgress) {
		time.Sleep(3 * time.Second)
		if video, err = client.Videos.Get(ctx, video.ID); err == nil {
			fmt.Println(video.Status, video.Progress)
		}
	}
	if err != nil {
		panic(err)
	}
	if video.Status == openai.VideoStatusFailed {
		panic(video.Error.Message)
	}
	content, err := client.Videos.DownloadContent(ctx, video.ID, openai.VideoDownloadContentParams{})
	if err != nil {
		panic(err)
	}
	defer content.Body.Close()
	file, err := os.Create("video.mp4")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, content.Body); err != nil {
		panic(err)
	}
}`},
}

// videoHookPrograms ask for nothing twice: they wait to be called.
var videoHookPrograms = map[string]videoProgram{
	"curl": {"The answer holds the secret that events are signed with, this once.", `curl {base}/webhook_endpoints \
  -H "Authorization: Bearer {key}" \
  -H "Content-Type: application/json" \
  -d '{
    "name": "videos",
    "url": "https://example.com/webhook",
    "event_types": ["video.completed", "video.failed"]
  }'

curl {base}{path} \
  -H "Authorization: Bearer {key}" \
  -H "Content-Type: application/json" \
  -d {shell}`},
	"python": {"pip install openai flask", `import os

from flask import Flask, request
` + openAIPython + `server = Flask(__name__)


@server.post("/webhook")
def webhook():
    event = client.webhooks.unwrap(request.get_data(), request.headers, secret=os.environ["WEBHOOK_SECRET"])
    if event.type == "video.completed":
        client.videos.download_content(event.data.id).write_to_file(event.data.id + ".mp4")
    elif event.type == "video.failed":
        print(client.videos.retrieve(event.data.id).error.message)
    return "", 204


video = {create}
print("waiting for", video.id)
server.run(port=8000)`},
	"javascript": {NoteOpenAIScript, `import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
` + openAIScript + `createServer(async (request, response) => {
  const event = await client.webhooks.unwrap(await text(request), request.headers, process.env.WEBHOOK_SECRET);
  response.writeHead(204).end();
  if (event.type === "video.completed") {
    const content = await client.videos.downloadContent(event.data.id);
    await writeFile(event.data.id + ".mp4", Buffer.from(await content.arrayBuffer()));
  } else if (event.type === "video.failed") {
    console.log((await client.videos.retrieve(event.data.id)).error.message);
  }
}).listen(8000);

const video = await {create};
console.log("waiting for", video.id);`},
	"go": {NoteOpenAIGo, `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL({base"}), option.WithAPIKey({key"}),
		option.WithWebhookSecret(os.Getenv("WEBHOOK_SECRET")))
	http.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || client.Webhooks.VerifySignature(body, r.Header) != nil {
			http.Error(w, "not signed", http.StatusBadRequest)
			return
		}
		var event struct {
			Type string
			Data struct{ ID string }
		}
		if err := json.Unmarshal(body, &event); err != nil {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		fmt.Println(event.Type, event.Data.ID) // download it as the other program does
	})
	video, err := {create}
	if err != nil {
		panic(err)
	}
	fmt.Println("waiting for", video.ID)
	panic(http.ListenAndServe(":8000", nil))
}`},
}
