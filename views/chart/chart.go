package chart

import (
	"strconv"
	"time"
)

// The chart is drawn in percent of its place, so that it fits every width and its words are never stretched.
const (
	FullScale       = 10_000 // hundredths of a percent
	MinHeight       = 60     // smallest height of a value above zero
	LabelsMax       = 8      // steps with labels below them
	NarrowLabelsMax = 4      // labels on narrow screens

	budgetShownMax = 10 // multiple of the largest bar: a larger budget would flatten the bars
)

// Chart is the bars of a report, ready to be drawn.
type Chart struct {
	Columns   []Column
	Top, Half string // labels of the scale
	Names     []string
	Compared  bool
	Summary   string // summary of the chart in a sentence
	Budget    int64  // budget of a step, zero without one
	BudgetY   string

	BudgetName string
	Slim       bool // a second chart below the first, which always shows its budget
	// Brush is the address that shows a part of the chart, without its bounds. It is empty when no part can be chosen.
	Brush string
}

// Column is one step.
type Column struct {
	Start          time.Time
	Name, Full     string
	Href           string
	HitX, HitWidth string // the whole area of the column
	X, Width       string
	Middle         string
	Pieces         []Piece
	Before         string // y position of the previous period's value; empty without one
	BeforeX, BeforeEnd,
	Tick string // "", "many" or "few": on which widths its label is shown
	Values    []int64
	Total     int64
	BeforeSum int64
	Hint      string
	// From and To are the bounds of the column in the address Brush.
	From, To string
	// Words are the values in text: each of Values, and their total, and the value of the previous period where it is compared.
	Words                   []string
	TotalWords, BeforeWords string
}

// Piece is the part of one group.
type Piece struct {
	Series    int
	Y, Height string
}

// Position is a number of hundredths of a percent as an attribute.
func Position(units int) string {
	text := strconv.Itoa(units / 100)
	if rest := units % 100; rest != 0 {
		text += "." + strconv.Itoa(rest/10) + strconv.Itoa(rest%10)
	}
	return text + "%"
}

// ScaleTop is a round number that is not less than the largest.
func ScaleTop(largest int64) int64 {
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

// HeightOf is how much of the scale a value takes.
func HeightOf(value, top int64) int {
	if value <= 0 || top <= 0 {
		return 0
	}
	scale := max(top/(1<<40), 1)
	return int(min(value/scale*FullScale/(top/scale), FullScale))
}

// Words put a value of a chart into text: short for the scale, and in full for tooltips.
type Words struct {
	Short, Full func(int64) string
}

// Draw computes the position of every bar, label and line. It is called after the values of the columns are set.
func (c *Chart) Draw(w Words) {
	var largest int64
	for _, col := range c.Columns {
		largest = max(largest, col.Total, col.BeforeSum)
	}
	if c.Budget > 0 && (c.Slim || c.Budget/budgetShownMax <= largest) {
		largest = max(largest, c.Budget)
	} else {
		c.Budget = 0
	}
	top := ScaleTop(largest)
	c.Top = w.Short(top)
	if c.Budget > 0 {
		c.BudgetY = Position(FullScale - HeightOf(c.Budget, top))
	}
	if top%2 == 0 {
		c.Half = w.Short(top / 2)
	}
	n := max(len(c.Columns), 1)
	for i := range c.Columns {
		c.Columns[i].draw(i, n, top, w, c.Compared)
	}
	c.Label()
}

func (col *Column) draw(i, n int, top int64, w Words, compared bool) {
	const (
		fewColumns = 40
		bar        = 70 // percent of a column's width
		barOfMany  = 86
	)
	left, right := FullScale*i/n, FullScale*(i+1)/n
	room := right - left
	width := room * bar / 100
	if n > fewColumns {
		width = room * barOfMany / 100
	}
	gap := (room - width) / 2
	col.HitX, col.HitWidth, col.X, col.Width, col.Middle = Position(left), Position(room), Position(left+gap), Position(width),
		Position(left+room/2)
	foot := FullScale
	for s, value := range col.Values {
		height := HeightOf(value, top)
		if value > 0 {
			height = min(max(height, MinHeight), foot)
		}
		if height > 0 {
			foot -= height
			col.Pieces = append(col.Pieces, Piece{Series: s, Y: Position(foot), Height: Position(height)})
		}
	}
	for _, value := range col.Values {
		col.Words = append(col.Words, w.Full(value))
	}
	col.TotalWords = w.Full(col.Total)
	col.Hint = col.Full + ": " + col.TotalWords
	if compared {
		col.BeforeWords = w.Full(col.BeforeSum)
		col.Hint += ", the period before " + col.BeforeWords
		col.Before = Position(FullScale - HeightOf(col.BeforeSum, top))
		col.BeforeX, col.BeforeEnd = Position(left), Position(right)
	}
}

// Label gives some of the columns their names, evenly and from the last one back.
func (c *Chart) Label() {
	n := len(c.Columns)
	step := max((n+LabelsMax-1)/LabelsMax, 1)
	for i, k := n-1-step/2, 0; i >= 0; i, k = i-step, k+1 {
		c.Columns[i].Tick = "many"
		if k%(LabelsMax/NarrowLabelsMax) == 0 {
			c.Columns[i].Tick = "few"
		}
	}
}
