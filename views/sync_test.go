package views_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"umg/views/stories"
)

// changesInput reports whether a control sends its request while a person types or chooses. A form waits for its button unless it names
// another trigger, a link for a click, and a field for its change.
func changesInput(e *goquery.Selection) bool {
	trigger, named := e.Attr("hx-trigger")
	if !named {
		return e.Is("input, select, textarea")
	}
	for event := range strings.SplitSeq(trigger, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(event), " ")
		if slices.Contains([]string{"change", "input", "keydown", "keyup", "search"}, name) {
			return true
		}
	}
	return false
}

// TestTheNewestInputWins finds controls that send a request with every input and do not cancel the one before. Its answer could arrive
// last and show the older choice, or htmx would drop the newest input while two requests wait.
func TestTheNewestInputWins(t *testing.T) {
	t.Parallel()
	found := 0
	for _, s := range stories.All() {
		parse(t, draw(t, s)).Find("[hx-get], [hx-post]").Each(func(_ int, e *goquery.Selection) {
			if !changesInput(e) {
				return
			}
			found++
			if sync := e.AttrOr("hx-sync", ""); !strings.HasSuffix(sync, ":replace") {
				text, _ := goquery.OuterHtml(e)
				t.Errorf("%s: hx-sync is %q: %.300s", s.Name, sync, text)
			}
		})
	}
	if found == 0 {
		t.Error("the stories have no control that sends its input")
	}
}

// TestControlsOfOneRegionCancelEachOther finds regions that several controls draw again, such as a table with a filter and columns to
// sort by. The controls must share one queue, or the answer to the older one could arrive last. Polls yield by themselves, and a
// dialog covers the link that opened it.
func TestControlsOfOneRegionCancelEachOther(t *testing.T) {
	t.Parallel()
	shared := 0
	for _, s := range stories.All() {
		page := parse(t, draw(t, s))
		queues := map[string]map[*html.Node]bool{}
		page.Find("[hx-get][hx-target]").Each(func(_ int, e *goquery.Selection) {
			region := e.AttrOr("hx-target", "")
			if _, polls := e.Attr("data-poll"); polls || region == "#modal-body" {
				return
			}
			selector, replaces := strings.CutSuffix(e.AttrOr("hx-sync", ""), ":replace")
			queue := e
			if replaces && selector != "this" {
				queue = page.Find(selector).First()
			}
			if queue.Length() == 0 {
				t.Errorf("%s: no element is %q, which hx-sync names", s.Name, selector)
				return
			}
			if queues[region] == nil {
				queues[region] = map[*html.Node]bool{}
			}
			queues[region][queue.Nodes[0]] = true
			shared++
		})
		for region, of := range queues {
			if len(of) > 1 {
				t.Errorf("%s: %s is drawn again by %d controls that do not cancel each other", s.Name, region, len(of))
			}
		}
	}
	if shared == 0 {
		t.Error("the stories have no control that draws a region again")
	}
}
