package video

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"

	"golang.org/x/image/webp"
)

const (
	pngMagic       = "\x89PNG\r\n\x1a\n"
	pngChunkBytes  = 12 // length, name and check sum around the data
	riffHeadBytes  = 12
	riffChunkBytes = 8
	xmpKeyword     = "XML:com.adobe.xmp"
	scansMax       = 100 // limit for a JPEG; each scan makes a reader pass over all pixels once more
)

// errCut means that a file ends before its picture does.
var errCut = errors.New("video: the picture is cut")

func animated() error {
	return badImage("input_reference is animated; the first frame of a video must be a still picture.")
}

func twoSizes() error {
	return badImage("input_reference says two different sizes of itself; save it again.")
}

func trailing() error {
	return badImage("input_reference has other data behind its picture; save the picture again without it.")
}

// tidyPNG walks a file to the end of its picture, which must be the end of the file, so that nothing else travels in it.
// It leaves out what cameras write about the place and the owner; comments and all that shapes the picture stay.
func tidyPNG(data []byte, _ image.Config) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), pngMagic...)
	for at := len(pngMagic); ; {
		if len(data)-at < pngChunkBytes {
			return nil, errCut
		}
		size := int64(binary.BigEndian.Uint32(data[at:])) + pngChunkBytes
		if size > int64(len(data)-at) {
			return nil, errCut
		}
		chunk := data[at : at+int(size)]
		at += len(chunk)
		body := chunk[8 : len(chunk)-4]
		switch string(chunk[4:8]) {
		case "acTL", "fcTL", "fdAT":
			return nil, animated()
		case "eXIf":
			continue
		case "iTXt":
			if bytes.HasPrefix(body, []byte(xmpKeyword)) {
				continue
			}
		case "IEND":
			if at != len(data) {
				return nil, trailing()
			}
			return append(out, chunk...), nil
		}
		out = append(out, chunk...)
	}
}

// The markers of JPEG that matter here.
const (
	jpegStuffed = 0x00 // an FF of the picture's own
	jpegFirst   = 0xd0 // restart marks and the begin have no length
	jpegBegin   = 0xd8
	jpegEnd     = 0xd9
	jpegScan    = 0xda
	jpegExif    = 0xe1 // the marker of Exif and XMP
	jpegIPTC    = 0xed
	jpegTemp    = 0x01
)

// tidyJPEG is tidyPNG for JPEG.
func tidyJPEG(data []byte, _ image.Config) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), data[:2]...)
	scans := 0
	for at := 2; ; {
		if len(data)-at < 2 || data[at] != 0xff {
			return nil, errCut
		}
		mark := data[at+1]
		switch {
		case mark == 0xff: // a filler
			at++
			continue
		case mark == jpegEnd:
			if at+2 != len(data) {
				return nil, trailing()
			}
			return append(out, 0xff, jpegEnd), nil
		case mark == jpegTemp || mark >= jpegFirst && mark <= jpegBegin:
			out, at = append(out, 0xff, mark), at+2
			continue
		}
		if len(data)-at < 4 {
			return nil, errCut
		}
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end < at+4 || end > len(data) {
			return nil, errCut
		}
		if mark == jpegScan {
			if scans++; scans > scansMax {
				return nil, badImage("input_reference is a JPEG of more than 100 scans; save it again.")
			}
			end = scanEnd(data, end)
		}
		if mark != jpegExif && mark != jpegIPTC {
			out = append(out, data[at:end]...)
		}
		at = end
	}
}

// scanEnd is where the coded picture that begins at a place ends: at the next mark that is not part of it.
func scanEnd(data []byte, at int) int {
	for {
		next := bytes.IndexByte(data[at:], 0xff)
		if next < 0 || at+next+1 >= len(data) {
			return len(data)
		}
		at += next
		mark := data[at+1]
		if mark != jpegStuffed && (mark < jpegFirst || mark >= jpegBegin) && mark != 0xff {
			return at
		}
		if at++; mark != 0xff {
			at++
		}
	}
}

// Bits of the first byte of a VP8X chunk.
const (
	webpAnimation = 0x02
	webpXMP       = 0x04
	webpExif      = 0x08
)

// tidyWebP is tidyPNG for WebP. The picture inside has measures of its own, which are those that a reader makes room for.
func tidyWebP(data []byte, whole image.Config) ([]byte, error) {
	total := int64(binary.LittleEndian.Uint32(data[4:])) + riffChunkBytes
	switch {
	case total > int64(len(data)):
		return nil, errCut
	case total < int64(len(data)):
		return nil, trailing()
	}
	out := append(make([]byte, 0, len(data)), data[:riffHeadBytes]...)
	for at := riffHeadBytes; at < len(data); {
		if len(data)-at < riffChunkBytes {
			return nil, errCut
		}
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		size += riffChunkBytes + size&1
		if size > int64(len(data)-at) {
			return nil, errCut
		}
		chunk := data[at : at+int(size)]
		at += len(chunk)
		switch string(chunk[:4]) {
		case "ANIM", "ANMF":
			return nil, animated()
		case "EXIF", "XMP ":
			continue
		case "VP8 ", "VP8L":
			inside, err := webp.DecodeConfig(bytes.NewReader(append(bytes.Clone(data[:riffHeadBytes]), chunk...)))
			if err != nil {
				return nil, err
			}
			if inside.Width != whole.Width || inside.Height != whole.Height {
				return nil, twoSizes()
			}
		}
		out = append(out, chunk...)
		if string(chunk[:4]) == "VP8X" && len(chunk) > riffChunkBytes {
			flags := &out[len(out)-len(chunk)+riffChunkBytes]
			if *flags&webpAnimation != 0 {
				return nil, animated()
			}
			*flags &^= webpExif | webpXMP
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-riffChunkBytes))
	return out, nil
}
