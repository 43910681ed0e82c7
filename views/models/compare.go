package models

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
)

// Comparison is up to four models side by side.
type Comparison struct {
	views.Shell
	Models  []views.Model
	Unknown []string      // requested ids that the catalog does not have
	Others  []views.Model // models that the reader could add
	Only    bool          // show only rows that differ
}

// ComparePath is the comparison of models.
func ComparePath(ids []string, only bool) string {
	v := url.Values{"m": ids}
	if only {
		v.Set("only", "differences")
	}
	if len(v["m"]) == 0 && !only {
		return views.ComparePath
	}
	return views.ComparePath + "?" + v.Encode()
}

func (c Comparison) ids() []string {
	ids := make([]string, len(c.Models))
	for i, m := range c.Models {
		ids[i] = m.ID
	}
	return ids
}

// path is the comparison, with all rows or just those that differ.
func (c Comparison) path(only bool) string { return ComparePath(c.ids(), only) }

// without is the comparison without one of its models.
func (c Comparison) without(id string) string {
	return ComparePath(slices.DeleteFunc(c.ids(), func(one string) bool { return one == id }), c.Only)
}

// roomy says whether another model has room beside these.
func (c Comparison) roomy() bool { return len(c.Models) < markedMax && len(c.Others) > 0 }

// playPath is the playground with all of them that answer text, empty when there are none.
func (c Comparison) playPath() string {
	var ids []string
	for _, m := range c.Models {
		if m.Callable() && m.Kind != views.VideoKind {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return views.PlaygroundPath + "?" + url.Values{"model": ids}.Encode()
}

// compareGroup is a part of the comparison.
type compareGroup struct {
	name string
	rows []compareRow
}

// compareRow is one thing, and what it is for each model.
type compareRow struct {
	name    string
	cells   []string // empty for what a model does not have
	differs bool
	yes     bool // the cells say yes or no
}

// groups are the rows that say something of at least one model, in their parts.
func (c Comparison) groups() []compareGroup {
	all := []compareGroup{
		{"Price", c.priceRows()},
		{"Size", []compareRow{
			c.row("Context", func(m views.Model) string { return tokensText(m.ContextTokens) }),
			c.row("Max output", func(m views.Model) string { return tokensText(m.MaxOutput) }),
			c.row("Sizes", views.Model.SizesText), c.row("Seconds", views.Model.SecondsText),
		}},
		{"What it takes", c.abilityRows()},
		{"Last 24 hours", []compareRow{
			c.row("Success", func(m views.Model) string {
				if !m.Callable() {
					return ""
				}
				return m.Now.HealthText()
			}),
			c.row("First token, p50", func(m views.Model) string { return told(m.Now.FirstByteP50) }),
			c.row("First token, p95", func(m views.Model) string { return told(m.Now.FirstByteP95) }),
			c.row("Tokens a second, p50", func(m views.Model) string { return strings.Trim(m.Now.SpeedText(), "–") }),
		}},
		{"Limits", c.limitRows()},
		{"Life", []compareRow{
			c.row("Status", func(m views.Model) string { return m.Badge(c.Now).Text }),
			c.row("Use instead", func(m views.Model) string { return insteadText(m.Now.Instead) }),
			c.row("Released", func(m views.Model) string { return format.Day(m.Released) }),
			c.row("Shuts down", func(m views.Model) string { return dayOrNothing(m.Shutdown) }),
		}},
	}
	var groups []compareGroup
	for _, g := range all {
		g.rows = slices.DeleteFunc(g.rows, func(r compareRow) bool {
			return !slices.ContainsFunc(r.cells, func(cell string) bool { return cell != "" }) || c.Only && !r.differs
		})
		if len(g.rows) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// insteadText names the models to use in place of another.
func insteadText(models []views.ModelRef) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return strings.Join(names, " or ")
}

func tokensText(n int64) string {
	if n == 0 {
		return ""
	}
	return format.Count(n) + " tokens"
}

func told(d time.Duration) string { return strings.Trim(format.Duration(d), "–") }

func dayOrNothing(t *time.Time) string {
	if t == nil {
		return ""
	}
	return format.Day(*t)
}

func (c Comparison) row(name string, of func(views.Model) string) compareRow {
	row := compareRow{name: name}
	for _, m := range c.Models {
		row.cells = append(row.cells, of(m))
	}
	row.differs = len(slices.Compact(slices.Clone(row.cells))) > 1
	return row
}

func (c Comparison) yesNo(name string, of func(views.Model) bool) compareRow {
	row := c.row(name, func(m views.Model) string {
		if of(m) {
			return "Yes"
		}
		return "No"
	})
	row.yes = true
	return row
}

// priceRows are all meters that any of the models is priced by.
func (c Comparison) priceRows() []compareRow {
	var rows []compareRow
	for _, meter := range views.MeterOrder {
		row := c.row(views.MeterWords[meter].Label, func(m views.Model) string {
			for _, p := range m.Prices {
				if p.Meter == meter && p.Like != "" {
					return "as " + strings.ToLower(views.MeterWords[p.Like].Label)
				}
				if p.Meter == meter {
					return p.Text() + " / " + p.Unit()
				}
			}
			return ""
		})
		rows = append(rows, row)
	}
	rows = append(rows, c.row("Other prices", func(m views.Model) string { return strings.Join(m.ConditionLines(), ". ") }))
	var sizes []string
	for _, m := range c.Models {
		for _, s := range m.SizePrices {
			if label := s.Price.Label() + " at " + s.Size; !slices.Contains(sizes, label) {
				sizes = append(sizes, label)
			}
		}
	}
	for _, label := range sizes {
		rows = append(rows, c.row(label, func(m views.Model) string {
			for _, s := range m.SizePrices {
				if s.Price.Label()+" at "+s.Size == label {
					return s.Price.Text() + " / " + s.Price.Unit()
				}
			}
			return ""
		}))
	}
	return rows
}

// abilityRows are modalities, styles and the optional parameters that any of the models takes.
func (c Comparison) abilityRows() []compareRow {
	rows := []compareRow{
		c.row("Capabilities", func(m views.Model) string { return strings.Join(m.Capabilities, ", ") }),
		c.row("Input", func(m views.Model) string { return strings.Join(m.Input, ", ") }),
		c.row("Output", func(m views.Model) string { return strings.Join(m.Output, ", ") }),
	}
	for _, style := range styleNames {
		if slices.ContainsFunc(c.Models, func(m views.Model) bool { return slices.Contains(m.Styles, views.Style(style)) }) {
			rows = append(rows, c.yesNo(views.Style(style).Label(), func(m views.Model) bool {
				return slices.Contains(m.Styles,
					views.Style(style))
			}))
		}
	}
	var parameters []string
	for _, m := range c.Models {
		for _, p := range m.Parameters {
			if p != "stream" && !slices.Contains(parameters, p) { // every text model streams, even if its catalog entry does not say so
				parameters = append(parameters, p)
			}
		}
	}
	for _, p := range parameters {
		rows = append(rows, c.yesNo(p, func(m views.Model) bool { return slices.Contains(m.Parameters, p) }))
	}
	return rows
}

// limitRows are the limits that hold for the reader's account, or the usual ones.
func (c Comparison) limitRows() []compareRow {
	var names []string
	for _, m := range c.Models {
		for _, row := range m.Limits.Rows() {
			if !slices.Contains(names, row.Name) && !strings.Contains(row.Name, "all models") {
				names = append(names, row.Name)
			}
		}
	}
	rows := make([]compareRow, len(names))
	for i, name := range names {
		rows[i] = c.row(name, func(m views.Model) string {
			for _, row := range m.Limits.Rows() {
				if row.Name == name {
					return row.Value
				}
			}
			return ""
		})
	}
	return rows
}

// playRight is the permission that the playground requires.
const playRight = app.CallText
