package dialect

import (
	"slices"
	"strings"
)

const (
	// droppedMax bounds how many dropped members a header lists.
	droppedMax = 32
	// droppedBytesMax bounds the length of each of their names.
	droppedBytesMax = 64
)

// DroppedHeader returns the value of the header that lists the names of dropped members. It is empty when there are none.
func DroppedHeader(names []string) string {
	if len(names) == 0 {
		return ""
	}
	list := slices.Compact(slices.Sorted(slices.Values(names)))
	if len(list) > droppedMax {
		list = append(list[:droppedMax], "…")
	}
	for i, name := range list {
		list[i] = strings.Map(func(r rune) rune {
			if r <= ' ' && r != ' ' || r == ',' || r >= 0x7f {
				return '?'
			}
			return r
		}, name[:min(len(name), droppedBytesMax)])
	}
	return strings.Join(list, ",")
}
