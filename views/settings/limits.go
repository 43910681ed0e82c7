package settings

import (
	"slices"
	"strconv"
	"strings"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	briefFrom = 10_000_000
)

// LimitsView is the page with what an account may do, and what of it is used now.
type LimitsView struct {
	views.Shell
	Factor   int // Factor multiplies the default limits.
	Account  []Gauge
	Models   []ModelGauges
	Keys     []views.Key // Keys are those with limits of their own.
	Requests []views.LimitRequest
	Form     WishForm
	MayAsk   bool
}

// Gauge is one limit: the allowed amount, and how much of it is used now. Known is false where the use is not counted for this
// page.
type Gauge struct {
	Name        string
	Limit, Used int64
	Known       bool
}

// ModelGauges are the limits on one model.
type ModelGauges struct {
	Model  string
	Video  bool
	Gauges []Gauge
}

// WishForm is the form that asks for higher limits.
type WishForm struct {
	Model, Times, Reason                             string
	ModelError, TimesError, ReasonError, FormProblem string
}

var wishTimes = []ui.Option{
	{Value: "2", Label: "Twice as much"}, {Value: "5", Label: "5 times as much"}, {Value: "10", Label: "10 times as much"},
	{Value: "50", Label: "50 times as much"},
}

func (v LimitsView) modelOptions() []ui.Option {
	list := []ui.Option{{Value: "", Label: "All models"}}
	for _, m := range v.Models {
		list = append(list, ui.Option{Value: m.Model, Label: m.Model})
	}
	return list
}

// open is the request that waits for an answer.
func (v LimitsView) open() *views.LimitRequest {
	for i := range v.Requests {
		if v.Requests[i].State == "open" {
			return &v.Requests[i]
		}
	}
	return nil
}

func (v LimitsView) tier() string {
	if v.Factor <= 1 {
		return "Usual limits"
	}
	return format.Count(int64(v.Factor)) + " times the usual limits"
}

// limitColumn is a column of the table of models: its title, and the kind of limit in it.
type limitColumn struct {
	head  string
	names []string
}

var limitColumns = []limitColumn{
	{"Requests a minute", []string{"Requests a minute"}}, {"Tokens a minute", []string{"Tokens a minute"}},
	{"A day", []string{"Requests a day", "Jobs a day"}}, {"At once", []string{"Calls at once", "Jobs at once"}},
}

// at is the limit that is in a column, or nil.
func (m ModelGauges) at(c limitColumn) *Gauge {
	for i := range m.Gauges {
		if slices.Contains(c.names, m.Gauges[i].Name) {
			return &m.Gauges[i]
		}
	}
	return nil
}

// used says whether anything of the model's limits is used now.
func (m ModelGauges) used() bool {
	return slices.ContainsFunc(m.Gauges, func(g Gauge) bool { return g.Known && g.Used > 0 })
}

// byUse are the models, those in use first.
func (v LimitsView) byUse() []ModelGauges {
	list := slices.Clone(v.Models)
	slices.SortStableFunc(list, func(a, b ModelGauges) int {
		switch {
		case a.used() == b.used():
			return 0
		case a.used():
			return -1
		default:
			return 1
		}
	})
	return list
}

// unit returns the word for the unit of a limit whose use is not counted here.
func (g Gauge) unit() string {
	if strings.HasPrefix(g.Name, "Jobs") {
		return "jobs"
	}
	return ""
}

// brief prints a number of a dense table: whole up to some millions, short beyond. The whole number is in the tooltip.
func brief(n int64) string {
	if n < briefFrom {
		return format.Count(n)
	}
	return format.ShortCount(n)
}

// left is what may still be done, in words.
func (g Gauge) left() string {
	if !g.Known {
		return "–"
	}
	return format.Count(max(g.Limit-g.Used, 0))
}

// near says whether nearly all is used.
func (g Gauge) near() bool { return g.Known && g.Limit > 0 && g.Used*10 >= g.Limit*9 }

func (g Gauge) words() string {
	if !g.Known {
		return format.Count(g.Limit)
	}
	return format.Count(g.Used) + " of " + format.Count(g.Limit) + " used, " + g.left() + " left"
}

// used is the value of the meter, which never passes its end.
func (g Gauge) used() string { return strconv.FormatInt(min(g.Used, g.Limit), 10) }

// ownLimits are the limits of a key, in words.
func ownLimits(k views.Key) string {
	var list []string
	for _, one := range []struct {
		n    int64
		word string
	}{{k.Requests, "requests a minute"}, {k.Tokens, "tokens a minute"}, {k.Concurrency, "calls at once"}} {
		if one.n > 0 {
			list = append(list, format.Count(one.n)+" "+one.word)
		}
	}
	return strings.Join(list, ", ")
}
