package chart

import "strconv"

// SeriesMax is the number of series that have a color of their own.
const SeriesMax = 6

// SeriesName is the number of a series as an attribute. All series beyond SeriesMax share one color.
func SeriesName(i int) string { return strconv.Itoa(min(i, SeriesMax)) }
