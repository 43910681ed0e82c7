package media

import (
	"bytes"
	"encoding/binary"
	"image"

	"golang.org/x/image/webp"
)

const (
	pngMagic       = "\x89PNG\r\n\x1a\n"
	pngChunkBytes  = 12 // The length, name and check sum are around the data.
	riffHeadBytes  = 12
	riffChunkBytes = 8
	xmpKeyword     = "XML:com.adobe.xmp"
	scansMax       = 100 // A decoder reads all pixels once for each scan of a JPEG.
)

// stripPNG copies the chunks of a PNG except its metadata. The last chunk of the picture must end the file.
func stripPNG(data []byte, _ image.Config) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), pngMagic...)
	for at := len(pngMagic); ; {
		if len(data)-at < pngChunkBytes {
			return nil, ErrTruncated
		}
		size := int64(binary.BigEndian.Uint32(data[at:])) + pngChunkBytes
		if size > int64(len(data)-at) {
			return nil, ErrTruncated
		}
		chunk := data[at : at+int(size)]
		at += len(chunk)
		body := chunk[8 : len(chunk)-4]
		switch string(chunk[4:8]) {
		case "acTL", "fcTL", "fdAT":
			return nil, ErrAnimated
		case "eXIf":
			continue
		case "iTXt":
			if bytes.HasPrefix(body, []byte(xmpKeyword)) {
				continue
			}
		case "IEND":
			if at != len(data) {
				return nil, ErrTrailingData
			}
			return append(out, chunk...), nil
		}
		out = append(out, chunk...)
	}
}

// These are the markers of JPEG that stripJPEG distinguishes.
const (
	jpegStuffed = 0x00 // After FF, this byte means an FF byte of the picture data.
	jpegFirst   = 0xd0 // Restart and start markers have no length.
	jpegBegin   = 0xd8
	jpegEnd     = 0xd9
	jpegScan    = 0xda
	jpegExif    = 0xe1 // Exif and XMP have this marker.
	jpegIPTC    = 0xed
	jpegTemp    = 0x01
)

// stripJPEG copies the segments and scans of a JPEG except its metadata. The end marker must end the file.
func stripJPEG(data []byte, _ image.Config) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), data[:2]...)
	scans := 0
	for at := 2; ; {
		if len(data)-at < 2 || data[at] != 0xff {
			return nil, ErrTruncated
		}
		mark := data[at+1]
		switch {
		case mark == 0xff: // This byte is a filler.
			at++
			continue
		case mark == jpegEnd:
			if at+2 != len(data) {
				return nil, ErrTrailingData
			}
			return append(out, 0xff, jpegEnd), nil
		case mark == jpegTemp || mark >= jpegFirst && mark <= jpegBegin:
			out, at = append(out, 0xff, mark), at+2
			continue
		}
		if len(data)-at < 4 {
			return nil, ErrTruncated
		}
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end < at+4 || end > len(data) {
			return nil, ErrTruncated
		}
		if mark == jpegScan {
			if scans++; scans > scansMax {
				return nil, ErrTooManyScans
			}
			end = scanEnd(data, end)
		}
		if mark != jpegExif && mark != jpegIPTC {
			out = append(out, data[at:end]...)
		}
		at = end
	}
}

// scanEnd returns where the picture data that begins at a position ends: at the next marker that is not part of the data.
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

// These are bits of the first byte of a VP8X chunk.
const (
	webpAnimation = 0x02
	webpXMP       = 0x04
	webpExif      = 0x08
)

// stripWebP copies the chunks of a WebP except its metadata. The size in the image chunk, for which a decoder allocates memory, must
// be the size of the whole picture.
func stripWebP(data []byte, whole image.Config) ([]byte, error) {
	total := int64(binary.LittleEndian.Uint32(data[4:])) + riffChunkBytes
	switch {
	case total > int64(len(data)):
		return nil, ErrTruncated
	case total < int64(len(data)):
		return nil, ErrTrailingData
	}
	out := append(make([]byte, 0, len(data)), data[:riffHeadBytes]...)
	for at := riffHeadBytes; at < len(data); {
		if len(data)-at < riffChunkBytes {
			return nil, ErrTruncated
		}
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		size += riffChunkBytes + size&1
		if size > int64(len(data)-at) {
			return nil, ErrTruncated
		}
		chunk := data[at : at+int(size)]
		at += len(chunk)
		switch string(chunk[:4]) {
		case "ANIM", "ANMF":
			return nil, ErrAnimated
		case "EXIF", "XMP ":
			continue
		case "VP8 ", "VP8L":
			inside, err := webp.DecodeConfig(bytes.NewReader(append(bytes.Clone(data[:riffHeadBytes]), chunk...)))
			if err != nil {
				return nil, err
			}
			if inside.Width != whole.Width || inside.Height != whole.Height {
				return nil, ErrTwoSizes
			}
		}
		out = append(out, chunk...)
		if string(chunk[:4]) == "VP8X" && len(chunk) > riffChunkBytes {
			flags := &out[len(out)-len(chunk)+riffChunkBytes]
			if *flags&webpAnimation != 0 {
				return nil, ErrAnimated
			}
			*flags &^= webpExif | webpXMP
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-riffChunkBytes))
	return out, nil
}
