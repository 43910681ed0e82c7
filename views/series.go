package views

import "strconv"

const (
	seriesMax = 6 // groups with their own color
)

func seriesName(i int) string { return strconv.Itoa(min(i, seriesMax)) }
