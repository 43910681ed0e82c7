package views

import (
	"strconv"
	"time"
)

// The chart is drawn in percent of its place, so that it fits every width and its words are never stretched.
const (
	wholeUnits    = 10_000 // hundredths of a percent
	chartLeast    = 60     // smallest height of a value above zero
	chartTicks    = 8      // steps with labels below them
	chartTicksFew = 4      // labels on narrow screens

	budgetShownMax = 10 // multiple of the largest bar: a larger budget would flatten the bars
)

// usageChart is the bars of a report, ready to be drawn.
type usageChart struct {
	columns   []chartColumn
	top, half string // labels of the scale
	names     []string
	compared  bool
	said      string // summary of the chart in a sentence
	budget    int64  // budget of a step, zero without one
	budgetY   string

	budgetName string
	slim       bool // a second chart below the first, which always shows its budget
}

// chartColumn is one step.
type chartColumn struct {
	start          time.Time
	name, full     string
	href           string
	hitX, hitWidth string // the whole area of the column
	x, width       string
	middle         string
	pieces         []chartPiece
	before         string // y position of the previous period's value; empty without one
	beforeX, beforeEnd,
	tick string // "", "many" or "few": on which widths its label is shown
	values    []int64
	total     int64
	beforeSum int64
	hint      string
}

// chartPiece is the part of one group.
type chartPiece struct {
	series    int
	y, height string
}

// place is a number of hundredths of a percent as an attribute.
func place(units int) string {
	text := strconv.Itoa(units / 100)
	if rest := units % 100; rest != 0 {
		text += "." + strconv.Itoa(rest/10) + strconv.Itoa(rest%10)
	}
	return text + "%"
}

// scaleTop is a round number that is not less than the largest.
func scaleTop(largest int64) int64 {
	const roundest = 1_000_000_000_000_000_000
	for unit := int64(1); unit < roundest; unit *= 10 {
		for _, factor := range []int64{1, 2, 4, 6, 8} {
			if unit*factor >= largest {
				return unit * factor
			}
		}
	}
	return max(largest, 1)
}

// heightOf is how much of the scale a value takes.
func heightOf(value, top int64) int {
	if value <= 0 || top <= 0 {
		return 0
	}
	scale := max(top/(1<<40), 1)
	return int(min(value/scale*wholeUnits/(top/scale), wholeUnits))
}

// words put a value of a chart into text: short for the scale, and in full for tooltips.
type chartWords struct {
	short, full func(int64) string
}

// draw computes the position of every bar, label and line. It is called after the values of the columns are set.
func (c *usageChart) draw(w chartWords) {
	var largest int64
	for _, col := range c.columns {
		largest = max(largest, col.total, col.beforeSum)
	}
	if c.budget > 0 && (c.slim || c.budget/budgetShownMax <= largest) {
		largest = max(largest, c.budget)
	} else {
		c.budget = 0
	}
	top := scaleTop(largest)
	c.top = w.short(top)
	if c.budget > 0 {
		c.budgetY = place(wholeUnits - heightOf(c.budget, top))
	}
	if top%2 == 0 {
		c.half = w.short(top / 2)
	}
	n := max(len(c.columns), 1)
	for i := range c.columns {
		c.columns[i].draw(i, n, top, w, c.compared)
	}
	c.label()
}

func (col *chartColumn) draw(i, n int, top int64, w chartWords, compared bool) {
	const (
		fewColumns = 40
		bar        = 70 // percent of a column's width
		barOfMany  = 86
	)
	left, right := wholeUnits*i/n, wholeUnits*(i+1)/n
	room := right - left
	width := room * bar / 100
	if n > fewColumns {
		width = room * barOfMany / 100
	}
	gap := (room - width) / 2
	col.hitX, col.hitWidth, col.x, col.width, col.middle = place(left), place(room), place(left+gap), place(width), place(left+room/2)
	foot := wholeUnits
	for s, value := range col.values {
		height := heightOf(value, top)
		if value > 0 {
			height = min(max(height, chartLeast), foot)
		}
		if height > 0 {
			foot -= height
			col.pieces = append(col.pieces, chartPiece{series: s, y: place(foot), height: place(height)})
		}
	}
	col.hint = col.full + ": " + w.full(col.total)
	if compared {
		col.hint += ", the period before " + w.full(col.beforeSum)
		col.before = place(wholeUnits - heightOf(col.beforeSum, top))
		col.beforeX, col.beforeEnd = place(left), place(right)
	}
}

// label gives some of the columns their names, evenly and from the last one back.
func (c *usageChart) label() {
	n := len(c.columns)
	step := max((n+chartTicks-1)/chartTicks, 1)
	for i, k := n-1-step/2, 0; i >= 0; i, k = i-step, k+1 {
		c.columns[i].tick = "many"
		if k%(chartTicks/chartTicksFew) == 0 {
			c.columns[i].tick = "few"
		}
	}
}
