package webhooks

import "umg/views/ui"

// verifySDK are receivers that let the official SDK check the signature. They are whole programs.
var verifySDK = []ui.Sample{
	{Name: "python", Label: "Python",
		Note: "pip install openai flask. Set UMG_API_KEY and OPENAI_WEBHOOK_SECRET.",
		Source: `import os

from flask import Flask, request
from openai import InvalidWebhookSignatureError, OpenAI

app = Flask(__name__)
client = OpenAI(api_key=os.environ["UMG_API_KEY"])  # the secret comes from OPENAI_WEBHOOK_SECRET

@app.post("/webhooks")
def receive():
    try:
        event = client.webhooks.unwrap(request.get_data(), request.headers)
    except (InvalidWebhookSignatureError, ValueError):
        return "", 400
    if event.type == "video.completed":
        print("ready:", event.data.id)
    return "", 204

app.run(port=8000)`},
	{Name: "javascript", Label: "JavaScript",
		Note: "npm install openai express. Set UMG_API_KEY and OPENAI_WEBHOOK_SECRET.",
		Source: `import express from "express";
import OpenAI from "openai";

// The secret comes from OPENAI_WEBHOOK_SECRET.
const client = new OpenAI({ apiKey: process.env.UMG_API_KEY });
const app = express();

app.post("/webhooks", express.text({ type: "application/json" }), async (req, res) => {
  let event;
  try {
    event = await client.webhooks.unwrap(req.body, req.headers);
  } catch {
    return res.sendStatus(400);
  }
  if (event.type === "video.completed") {
    console.log("ready:", event.data.id);
  }
  res.sendStatus(204);
});
app.listen(8000);`},
}

// verifyPlain are the same check with what the language brings along.
var verifyPlain = []ui.Sample{
	{Name: "python", Label: "Python", Source: `import base64, hashlib, hmac, os, time

SECRET = base64.b64decode(os.environ["OPENAI_WEBHOOK_SECRET"].removeprefix("whsec_"))

def verified(headers, body: bytes) -> bool:
    """headers: the request's, names in lower case; body: its bytes, unchanged."""
    id, stamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(stamp)) > 300:
        return False  # an old message, replayed by another party
    signed = f"{id}.{stamp}.".encode() + body
    want = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(want, one) for one in headers["webhook-signature"].split())`},
	{Name: "javascript", Label: "JavaScript", Source: `import { createHmac, timingSafeEqual } from "node:crypto";

const secret = Buffer.from(process.env.OPENAI_WEBHOOK_SECRET.replace("whsec_", ""), "base64");

// headers: the request's, names in lower case; body: its text, unchanged.
export function verified(headers, body) {
  const id = headers["webhook-id"];
  const stamp = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(stamp)) <= 300)) {
    return false; // an old message, replayed by another party
  }
  const mac = createHmac("sha256", secret).update(id + "." + stamp + "." + body);
  const want = Buffer.from("v1," + mac.digest("base64"));
  return headers["webhook-signature"].split(" ").some((one) => {
    const got = Buffer.from(one);
    return got.length === want.length && timingSafeEqual(got, want);
  });
}`},
	{Name: "go", Label: "Go", Source: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func verified(h http.Header, body []byte, key []byte) bool {
	id, stamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false // an old message, replayed by another party
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(h.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(one), []byte(want)) {
			return true
		}
	}
	return false
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("OPENAI_WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil || !verified(r.Header, body, key) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		log.Printf("received %s", body)
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(":8000", nil))
}`},
	{Name: "curl", Label: "Shell (openssl)",
		Note: "Fill in the three values from the request. Compare what is printed with each signature of the header.",
		Source: `# Reads the body from body.json, byte for byte as it was received.
id="evt_..."            # header webhook-id
timestamp="1795254067"  # header webhook-timestamp
key=$(printf %s "${OPENAI_WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \n')

printf 'v1,'
{ printf '%s.%s.' "$id" "$timestamp"; cat body.json; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64`},
}

// VerifySamples are the programs that check a signature without an SDK, so that they can be run.
func VerifySamples() []ui.Sample { return append([]ui.Sample(nil), verifyPlain...) }

func env(secret string) ui.CodeProps {
	return ui.CodeProps{ID: "env", Title: "For your .env file", Samples: []ui.Sample{
		{Name: "env", Label: ".env", Source: "OPENAI_WEBHOOK_SECRET=" + secret},
	}}
}
