package models

import (
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// Detail is the page of one model.
type Detail struct {
	views.Shell
	Model views.Model
	// HasAPI means that the model has contracts, which the part about the API shows.
	HasAPI    bool
	Contracts []Contract // contracts of the styles in which the model answers
	KeyHint   string     // masked form of one of the reader's keys, empty without one
	Language  string     // language of the first sample, from the cookie umg_language
	Style     string     // style of the first sample, from the cookie umg_style
	Factor    int        // multiplier of the account's default limits
	// Tab is the part of the page that is shown, one of the Tab constants.
	Tab  string
	Days []Day // the last 90 days, in order of time
	// Providers says how each provider of the model does.
	Providers Performance
	Past      []PastPrices // newest first
	Next      *PastPrices  // announced prices; nil without any
	Changes   []Change     // newest first
	Calc      *Calculation // nil for a model without prices
	Last      *LastCalls   // nil until the reader asks for it
}

// The parts of the page of a model. Each is a page of its own, so that the first one is short.
const (
	TabOverview    = ""
	TabPerformance = "performance"
	TabCost        = "cost"
	TabAPI         = "api"
	TabHistory     = "history"
)

// ParseTab returns the part that an address names, or the first one.
func ParseTab(name string) string {
	switch name {
	case TabPerformance, TabCost, TabAPI, TabHistory:
		return name
	}
	return TabOverview
}

// detailTab is a link to a part of the page.
type detailTab struct{ name, label string }

// partTabs are the parts that say something about the model.
func (d Detail) partTabs() []detailTab {
	list := []detailTab{{TabOverview, "Overview"}}
	if d.Model.State != views.ModelComing {
		list = append(list, detailTab{TabPerformance, "Performance"})
	}
	if len(d.Model.Prices) > 0 || len(d.Model.SizePrices) > 0 {
		list = append(list, detailTab{TabCost, "Cost"})
	}
	if d.HasAPI {
		list = append(list, detailTab{TabAPI, "API"})
	}
	return append(list, detailTab{TabHistory, "History"})
}

// tabPath is the address of a part of the page.
func (d Detail) tabPath(tab string) string { return TabPath(d.Model.ID, tab) }

// TabPath is the address of a part of the page of a model.
func TabPath(id, tab string) string {
	if tab == TabOverview {
		return views.ModelPath(id)
	}
	return views.ModelPath(id) + "?tab=" + tab
}

// Contract describes the requests that a model accepts in one style.
type Contract struct {
	Style   views.Style
	Hash    string
	Fields  []Field
	Hints   []string // members of the style that the model does not support, and that are left out of requests
	Without []string // members of the style that the model does not support, and that are refused
	Sample  []byte   // a short request, as JSON
}

// Field is one member of a request, or one form that a member may take.
type Field struct {
	Name     string
	Variant  bool // a variant of the field above it, not a member
	Types    string
	Required bool
	Default  string
	Allowed  []string // the values, or the bounds in words
	Text     string
	Fields   []Field
}

// tabs are the styles as tabs.
func (d Detail) tabs(id, title string) ui.TabsProps {
	t := ui.TabsProps{ID: id, Title: title, Group: "style", Selected: d.Style}
	for _, c := range d.Contracts {
		t.Tabs = append(t.Tabs, ui.Tab{Name: string(c.Style), Label: c.Style.Label()})
	}
	return t
}

// samples are a short request as code.
func (d Detail) samples(c Contract) []ui.Sample {
	if c.Style == views.VideosStyle {
		v := codesample.Video{Model: d.Model.ID, Prompt: sampleVideo}
		if len(d.Model.Sizes) > 0 && len(d.Model.Seconds) > 0 {
			v.Size, v.Seconds = d.Model.Sizes[0], int(d.Model.Seconds[0])
		}
		return codesample.OfVideo(d.BaseURL, v, false)
	}
	return codesample.OfRequest(codesample.Request{Style: c.Style, BaseURL: d.BaseURL, Body: c.Sample})
}

// sampleVideo is the prompt of code that makes a video.
const sampleVideo = "A lighthouse at dusk, slow pan"

// nestedNote counts the fields inside a disclosure.
func (f Field) nestedNote() string {
	if len(f.Fields) > 0 && f.Fields[0].Variant {
		return format.CountOf(int64(len(f.Fields)), "form", "forms")
	}
	return format.CountOf(int64(len(f.Fields)), "field", "fields")
}

// factorNote explains limits that are not the usual ones.
func (d Detail) factorNote() string {
	if d.Viewer == nil {
		return "The usual limits of an account, counted over all of its keys."
	}
	if d.Factor > 1 {
		return "This account has " + format.Count(int64(d.Factor)) + " times the usual limits, counted over all of its keys."
	}
	return "The limits of this account, counted over all of its keys. A key may have limits of its own."
}

// live says whether what is left of the limits is known, and worth asking for again.
func (d Detail) live() bool { return d.Model.Limits.Left != nil }

func (d Detail) limitsTitle() string {
	if d.Viewer == nil {
		return "Usual limits"
	}
	return "Your limits"
}

// inner is the place of a field's members, none below forms of a field.
func (f Field) inner(place string) string {
	if place == "" || f.Variant || len(f.Fields) > 0 && f.Fields[0].Variant {
		return ""
	}
	return place + "-" + f.Name
}
