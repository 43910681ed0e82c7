package ui

import (
	"context"
	"io"
	"strconv"

	"github.com/a-h/templ"
)

// Bars are 3 wide with a gap of 1, in a box 28 high.
const (
	barStep   = 4
	barsHigh  = 28
	barLowest = 2
)

func barsBox(n int) string { return "0 0 " + strconv.Itoa(n*barStep-1) + " " + strconv.Itoa(barsHigh) }

func barX(i int) string { return strconv.Itoa(i * barStep) }

// barSize keeps the smallest bar visible: a day with some spend never looks like a day with none.
func barSize(percent int) int { return max(percent*barsHigh/100, barLowest) }

func barY(percent int) string { return strconv.Itoa(barsHigh - barSize(percent)) }

func barHeight(percent int) string { return strconv.Itoa(barSize(percent)) }

// joinedText writes the two parts of an amount with nothing between them.
func joinedText(main, fine string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		html := templ.EscapeString(main)
		if fine != "" {
			html += `<span class="money-fine">` + templ.EscapeString(fine) + `</span>`
		}
		_, err := io.WriteString(w, html)
		return err
	})
}
