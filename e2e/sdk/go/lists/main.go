// Command lists prints the models that the official Go clients of the messages and the native style list, page by page. Its
// arguments are an origin and a key.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"google.golang.org/genai"
)

const (
	callsTimeMax = time.Minute
	pageSize     = 3
)

// found are the ids of the models, and one that was asked for by itself, by style.
type found struct {
	Messages, Native []string
	MessagesOne      string
	NativeOne        genai.Model
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: lists ORIGIN KEY MODEL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callsTimeMax)
	defer cancel()
	f, err := list(ctx, os.Args[1], os.Args[2], os.Args[3])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lists:", err)
		os.Exit(1)
	}
}

func list(ctx context.Context, origin, key, model string) (f found, err error) {
	messages := anthropic.NewClient(option.WithBaseURL(origin), option.WithAPIKey(key), option.WithMaxRetries(0))
	pages := messages.Models.ListAutoPaging(ctx, anthropic.ModelListParams{Limit: anthropic.Int(pageSize)})
	for pages.Next() {
		f.Messages = append(f.Messages, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		return f, fmt.Errorf("messages: %w", err)
	}
	one, err := messages.Models.Get(ctx, model, anthropic.ModelGetParams{})
	if err != nil {
		return f, fmt.Errorf("messages: one: %w", err)
	}
	f.MessagesOne = one.DisplayName
	native, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: origin},
	})
	if err != nil {
		return f, err
	}
	for m, err := range native.Models.All(ctx) {
		if err != nil {
			return f, fmt.Errorf("native: %w", err)
		}
		f.Native = append(f.Native, m.Name)
	}
	got, err := native.Models.Get(ctx, model, nil)
	if err != nil {
		return f, fmt.Errorf("native: one: %w", err)
	}
	f.NativeOne = *got
	return f, nil
}
