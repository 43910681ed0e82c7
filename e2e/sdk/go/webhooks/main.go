// Command webhooks is a receiver of webhooks with the Go libraries, and their management with the official client. Its
// arguments are verify and deliveries, or manage and a configuration.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"umg/e2e/sdk/go/cases"
)

// delivery is what a receiver got, and what is to come of it.
type delivery struct {
	Name    string            `json:"name"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Secret  string            `json:"secret"`
	Refused bool              `json:"refused"`
}

func main() {
	var run cases.Run
	var deliveries []delivery
	m := managing{Run: &run}
	into, then := any(&deliveries), func() { verify(&run, deliveries) }
	if len(os.Args) == 3 && os.Args[1] == "manage" {
		into, then = &m.config, m.run
	}
	if len(os.Args) != 3 || json.Unmarshal([]byte(os.Args[2]), into) != nil {
		fmt.Fprintln(os.Stderr, "usage: webhooks verify DELIVERIES | manage CONFIGURATION")
		os.Exit(2)
	}
	then()
	run.Exit()
}

// verify lets each library check each delivery.
func verify(run *cases.Run, deliveries []delivery) {
	for _, d := range deliveries {
		h := http.Header{}
		for name, value := range d.Headers {
			h.Set(name, value)
		}
		for library, open := range map[string]func() error{
			"standard-webhooks": func() error {
				w, err := standardwebhooks.NewWebhook(d.Secret)
				if err != nil {
					return err
				}
				return w.Verify([]byte(d.Body), h)
			},
			"openai-go": func() error {
				api := openai.NewClient(option.WithAPIKey("none"), option.WithWebhookSecret(d.Secret))
				return api.Webhooks.VerifySignature([]byte(d.Body), h)
			},
			"openai-go unwrapped": func() error { return unwrapped(d, h) },
		} {
			run.Check(library+"/"+d.Name, func(context.Context) error {
				err := open()
				if d.Refused && err == nil {
					return errors.New("it is taken")
				}
				if d.Refused {
					return nil
				}
				return err
			})
		}
	}
}

// unwrapped reads the event with the client, which has no type of its own for videos: the words are in the union.
func unwrapped(d delivery, h http.Header) error {
	api := openai.NewClient(option.WithAPIKey("none"), option.WithWebhookSecret(d.Secret))
	event, err := api.Webhooks.Unwrap([]byte(d.Body), h)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(event.ID, "evt_") || !strings.HasPrefix(event.Type, "video.") || event.CreatedAt == 0 ||
		!strings.HasPrefix(event.Data.ID, "video_") {
		return fmt.Errorf("the event is %+v", event)
	}
	return nil
}
