package chart

import "strconv"

const (
	SeriesMax = 6 // groups with their own color
)

func SeriesName(i int) string { return strconv.Itoa(min(i, SeriesMax)) }
