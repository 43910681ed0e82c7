package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the white border that readers need, in modules.
const quietZone = 4

// QR is a picture that devices scan: a path over a square of Size modules.
type QR struct {
	Size int
	Path string
}

// QRCode draws a text.
func QRCode(text string) (QR, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return QR{}, fmt.Errorf("views: draw a code to scan: %w", err)
	}
	side := code.Bounds().Dx()
	var path strings.Builder
	for y := range side {
		for x := 0; x < side; x++ {
			run := 0
			for x+run < side && dark(code.At(x+run, y).RGBA()) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quietZone, y+quietZone, run, run)
				x += run
			}
		}
	}
	return QR{Size: side + 2*quietZone, Path: path.String()}, nil
}

func dark(r, _, _, _ uint32) bool { return r == 0 }

func (q QR) box() string { return "0 0 " + strconv.Itoa(q.Size) + " " + strconv.Itoa(q.Size) }
