package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"umg/app"
	"umg/billing/usage"
)

// Class is a kind of difference.
type Class string

// The classes.
const (
	MissingHere  Class = "missing here"  // The provider charged for something that the gateway has no record of.
	MissingThere Class = "missing there" // The gateway has records of something that the export does not contain.
	OtherPrice   Class = "other price"
	OtherCount   Class = "other count"
)

// Classes lists the classes in the order of reports.
var Classes = []Class{MissingHere, MissingThere, OtherPrice, OtherCount}

// Value is one number of both sides. A side is nil when it is unknown.
type Value struct {
	// Name is the name of a measure, or cost.
	Name        string
	Here, There *int64
	IsCost      bool // A cost is in nano-dollars.
}

// Difference is one disagreement about a day and model.
type Difference struct {
	Class  Class
	Day    Day
	Model  string // Model is "all models" when the export does not name models, and "fees" for charges that belong to no model.
	Values []Value
	Note   string
}

// Result is what a comparison found.
type Result struct {
	Period      Period
	Compared    int // Compared is the number of days and models on both sides together.
	Agreeing    int // Agreeing is how many of them have no difference.
	Differences []Difference
	Totals      []Value
	Notes       []string
}

// costName is the name of a cost among values.
const costName = "cost"

const (
	allModels = "all models"
	feesModel = "fees"
)

// side is one side's sum of a day and of the models that are compared as one.
type side struct {
	exists    bool
	counts    counts
	cost      app.Amount
	unpriced  int64 // unpriced is how many calls have no known cost.
	estimated int64 // estimated is how many calls the gateway counted itself.
	hasFees   bool
}

func (s *side) add(other *side) {
	s.exists = s.exists || other.exists
	s.cost += other.cost
	s.unpriced += other.unpriced
	s.estimated += other.estimated
	s.hasFees = s.hasFees || other.hasFees
	for q := range s.counts {
		s.counts[q] += other.counts[q]
	}
}

// unpricedNote says how many calls have no known cost. It is empty when all have one.
func (s *side) unpricedNote() string {
	if s.unpriced == 0 {
		return ""
	}
	return fmt.Sprintf("calls whose cost is unknown here: %d; give their route a cost card", s.unpriced)
}

// estimatedNote says how many calls were counted here because the provider's answer had no usage. It is empty when none was.
func (s *side) estimatedNote() string {
	if s.estimated == 0 {
		return ""
	}
	return fmt.Sprintf("calls whose answers ended without usage and were counted here: %d", s.estimated)
}

// Compare finds every difference between an export and the gateway's records of the period. The gateway rounds the cost of each call up
// to a nano-dollar, so costs agree when they differ by no more than one nano-dollar for each call. Reports of usage are of tokens, so
// calls without any, such as videos, are compared with reports of costs only.
func Compare(e *Export, records []usage.ProviderDay, p Period) Result {
	c := comparison{export: e, result: Result{Period: p, Notes: slices.Clone(e.Notes)}}
	here, there, fees := map[Day]map[string]*side{}, map[Day]map[string]*side{}, map[Day][]Row{}
	for i := range records {
		d := &records[i]
		if day := DayOf(d.Day); p.contains(day) && (e.hasCost || d.Meters.Prompt()+d.Meters.Output() > 0) {
			c.addSide(here, day, d.Model, &side{
				exists: d.Calls > 0 || d.Cost > 0, counts: countsOf(d), cost: d.Cost, unpriced: d.Unpriced, estimated: d.Estimated,
				hasFees: hasFees(d),
			})
		}
	}
	for i := range e.Rows {
		row := &e.Rows[i]
		switch {
		case !p.contains(row.Day):
		case row.Item != "":
			fees[row.Day] = append(fees[row.Day], *row)
		case row.cost > 0 || row.counts != (counts{}):
			c.addSide(there, row.Day, row.Model, &side{exists: true, counts: row.counts, cost: row.cost})
		}
	}
	days := slices.Collect(maps.Keys(here))
	days = slices.AppendSeq(slices.AppendSeq(days, maps.Keys(there)), maps.Keys(fees))
	slices.Sort(days)
	for _, day := range slices.Compact(days) {
		c.compareDay(day, here[day], there[day], fees[day])
	}
	c.here.exists, c.there.exists = true, true
	c.result.Totals = c.values(&c.here, &c.there)
	return c.result
}

// comparison is the state of one Compare.
type comparison struct {
	export      *Export
	result      Result
	here, there side
	excess      app.Amount // excess is what the gateway's records of a day have beyond the export where calls had fees.
	excessCalls int64
}

// addSide adds a sum to the one of its day and model.
func (c *comparison) addSide(to map[Day]map[string]*side, day Day, model string, s *side) {
	if !c.export.ByModel {
		model = ""
	}
	if to[day] == nil {
		to[day] = map[string]*side{}
	}
	if to[day][model] == nil {
		to[day][model] = &side{}
	}
	to[day][model].add(s)
}

// compareDay compares all models of a day, family by family, and then the charges that belong to no model.
func (c *comparison) compareDay(day Day, here, there map[string]*side, fees []Row) {
	families := map[string]nameGroup{}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		g := families[family(name)]
		g.here = append(g.here, name)
		families[family(name)] = g
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		g := families[family(name)]
		g.there = append(g.there, name)
		families[family(name)] = g
	}
	c.excess, c.excessCalls = 0, 0
	for _, f := range slices.Sorted(maps.Keys(families)) {
		for _, g := range families[f].split() {
			c.compareModel(day, g, sumOf(here, g.here), sumOf(there, g.there), len(fees) > 0)
		}
	}
	c.compareFees(day, fees)
}

func sumOf(sides map[string]*side, names []string) *side {
	total := &side{}
	for _, name := range names {
		total.add(sides[name])
	}
	return total
}

// compareModel compares one model of a day.
func (c *comparison) compareModel(day Day, g nameGroup, here, there *side, hasFees bool) {
	c.here.add(here)
	c.there.add(there)
	found := Difference{Day: day, Model: cmp.Or(g.model(), allModels), Note: g.note()}
	values := c.values(here, there)
	if !here.exists || !there.exists {
		if found.Class = MissingHere; here.exists {
			found.Class = MissingThere
		}
		found.Values = slices.DeleteFunc(values, func(v Value) bool { return v.isZero() })
		found.Note = here.unpricedNote()
		if len(found.Values) > 0 || here.unpriced > 0 {
			c.result.Compared++
			c.result.Differences = append(c.result.Differences, found)
		}
		return
	}
	c.result.Compared++
	before := len(c.result.Differences)
	for _, v := range values {
		if v.IsCost || *v.Here == *v.There {
			continue
		}
		found.Values = append(found.Values, v)
	}
	if len(found.Values) > 0 {
		found.Class, found.Note = OtherCount, joinNotes(g.note(), here.estimatedNote())
		c.result.Differences = append(c.result.Differences, found)
	}
	if c.export.hasCost && !c.sameCost(here, there, hasFees) {
		found.Class, found.Values = OtherPrice, values[len(values)-1:]
		found.Note = joinNotes(g.note(), here.unpricedNote())
		c.result.Differences = append(c.result.Differences, found)
	}
	if before == len(c.result.Differences) {
		c.result.Agreeing++
	}
}

// sameCost reports whether the costs of a model agree. What the gateway has beyond the export for calls with fees is compared with the
// day's charges that belong to no model, if there are any.
func (c *comparison) sameCost(here, there *side, hasFees bool) bool {
	difference := here.cost - there.cost
	if here.unpriced > 0 {
		return difference == 0
	}
	if max(difference, -difference) <= app.Amount(here.counts[Calls]) {
		return true
	}
	if difference > 0 && hasFees && here.hasFees {
		c.excess += difference
		c.excessCalls += here.counts[Calls]
		return true
	}
	return false
}

// compareFees compares the charges of a day that belong to no model with what the models of the day cost beyond their own charges.
func (c *comparison) compareFees(day Day, fees []Row) {
	var there app.Amount
	var items []string
	for _, row := range fees {
		there += row.cost
		if row.cost > 0 {
			items = append(items, row.Item+" $"+row.cost.String())
		}
	}
	c.there.cost += there
	if there == 0 && c.excess == 0 {
		return
	}
	c.result.Compared++
	difference := c.excess - there
	if max(difference, -difference) <= app.Amount(c.excessCalls) {
		c.result.Agreeing++
		return
	}
	excess := c.excess
	found := Difference{Class: OtherPrice, Day: day, Model: feesModel, Values: []Value{costValue(&excess, &there)},
		Note: "charged there for no model: " + strings.Join(items, ", ")}
	if c.excess == 0 {
		found.Class, found.Values = MissingHere, []Value{costValue(nil, &there)}
	}
	c.result.Differences = append(c.result.Differences, found)
}

// values lists the numbers that the export states, the cost last. A side that does not exist has no numbers.
func (c *comparison) values(here, there *side) (values []Value) {
	for q := range measures {
		if c.export.stated[q] {
			v := Value{Name: q.String()}
			if here.exists {
				v.Here = &here.counts[q]
			}
			if there.exists {
				v.There = &there.counts[q]
			}
			values = append(values, v)
		}
	}
	if c.export.hasCost {
		var ours, theirs *app.Amount
		if here.exists && (here.unpriced == 0 || here.cost > 0) {
			ours = &here.cost
		}
		if there.exists {
			theirs = &there.cost
		}
		values = append(values, costValue(ours, theirs))
	}
	return values
}

func costValue(here, there *app.Amount) Value {
	return Value{Name: costName, Here: (*int64)(here), There: (*int64)(there), IsCost: true}
}

func (v Value) isZero() bool {
	return (v.Here == nil || *v.Here == 0) && (v.There == nil || *v.There == 0)
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// ByClass counts the differences of each class.
func (r *Result) ByClass() map[Class]int {
	n := map[Class]int{}
	for _, class := range Classes {
		n[class] = 0
	}
	for i := range r.Differences {
		n[r.Differences[i].Class]++
	}
	return n
}
