package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"umg/app"
	"umg/billing/reconcile"
)

// reconcileText prints the result of a comparison for people.
type reconcileText struct {
	w      io.Writer
	result *reconcile.Result
}

// print prints the notes, a line for each difference, the sums of both sides, and how many days and models agree.
func (t reconcileText) print() error {
	var notes, differences, totals strings.Builder
	for _, note := range t.result.Notes {
		fmt.Fprintln(&notes, "note:", note)
	}
	for i := range t.result.Differences {
		d := &t.result.Differences[i]
		var values []string
		for _, v := range d.Values {
			values = append(values, describeValue(v))
		}
		if d.Note != "" {
			values = append(values, "("+d.Note+")")
		}
		fmt.Fprintf(&differences, "%s\t%s\t%s\t%s\n", d.Day, d.Class, d.Model, strings.Join(values, "; "))
	}
	fmt.Fprintf(&totals, "\n%s to %s\there\tthere\tdifference\n", t.result.Period.First, t.result.Period.Last)
	for _, v := range t.result.Totals {
		here := "unknown"
		if v.Here != nil {
			here = valueText(v, *v.Here)
		}
		fmt.Fprintf(&totals, "%s\t%s\t%s\t%s\n", v.Name, here, valueText(v, *v.There), excessText(v))
	}
	for _, part := range []string{notes.String(), differences.String(), totals.String(), t.summary()} {
		table := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
		if _, err := io.WriteString(table, part); err != nil {
			return err
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// summary says how many days and models agree, and counts the differences.
func (t reconcileText) summary() string {
	var classes []string
	counts := t.result.ByClass()
	for _, class := range reconcile.Classes {
		if n := counts[class]; n > 0 {
			classes = append(classes, fmt.Sprintf("%d %s", n, class))
		}
	}
	line := fmt.Sprintf("%d of %d days and models agree", t.result.Agreeing, t.result.Compared)
	if len(classes) > 0 {
		line += "; differences: " + strings.Join(classes, ", ")
	}
	return line + "\n"
}

// describeValue says what both sides have, such as "input tokens 1000 here, 900 there (+100)".
func describeValue(v reconcile.Value) string {
	switch {
	case v.Here == nil && v.There == nil:
		return v.Name + " unknown"
	case v.Here == nil && v.IsCost:
		return v.Name + " unknown here, " + valueText(v, *v.There) + " there"
	case v.Here == nil:
		return v.Name + " " + valueText(v, *v.There) + " there"
	case v.There == nil:
		return v.Name + " " + valueText(v, *v.Here) + " here"
	}
	return fmt.Sprintf("%s %s here, %s there (%s)", v.Name, valueText(v, *v.Here), valueText(v, *v.There), excessText(v))
}

// valueText is a count, or dollars.
func valueText(v reconcile.Value, n int64) string {
	if v.IsCost {
		return "$" + app.Amount(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// excessText is how much more there is here than there, with its sign. It is empty when a side is unknown.
func excessText(v reconcile.Value) string {
	if v.Here == nil || v.There == nil {
		return ""
	}
	difference := *v.Here - *v.There
	if difference < 0 {
		return "-" + valueText(v, -difference)
	}
	return "+" + valueText(v, difference)
}

// reconcileReport is the result as JSON.
type reconcileReport struct {
	Provider string           `json:"provider"`
	Format   reconcile.Format `json:"format"`
	reconcile.Period
	Compared    int                     `json:"compared"`
	Agreeing    int                     `json:"agreeing"`
	Counts      map[reconcile.Class]int `json:"counts"`
	Differences []reportedDifference    `json:"differences"`
	Totals      []reportedValue         `json:"totals"`
	Notes       []string                `json:"notes"`
}

type reportedDifference struct {
	Class  reconcile.Class `json:"class"`
	Day    reconcile.Day   `json:"day"`
	Model  string          `json:"model"`
	Values []reportedValue `json:"values"`
	Note   string          `json:"note,omitempty"`
}

// reportedValue is a number of both sides: a count, or dollars. It is null where a side is unknown or has none.
type reportedValue struct {
	Name  string `json:"name"`
	Here  any    `json:"here"`
	There any    `json:"there"`
}

func reportedValues(values []reconcile.Value) []reportedValue {
	list := make([]reportedValue, len(values))
	for i, v := range values {
		list[i].Name = v.Name
		for _, side := range []struct {
			from *int64
			to   *any
		}{{v.Here, &list[i].Here}, {v.There, &list[i].There}} {
			switch {
			case side.from == nil:
			case v.IsCost:
				*side.to = app.Amount(*side.from)
			default:
				*side.to = *side.from
			}
		}
	}
	return list
}
