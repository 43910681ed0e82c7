package contentlog

import (
	"bytes"
	"strconv"
)

const (
	blobLeast  = 512 // Shorter runs of Base64 characters are text, not binary data.
	beforeBlob = 64  // The media type is looked for in this many bytes before the data.
)

// inBlob are the characters of Base64 in both alphabets, and the backslash of its escaped slashes and line ends.
var inBlob = charset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\")

// pictures are how files of pictures begin in Base64.
var pictures = [...]string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"}

func charset(chars string) *[256]bool {
	var set [256]bool
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return &set
}

// appendShort appends src with files in it replaced by their sizes, at most so many bytes of it, and says whether something is missing. It
// looks at most characters once and at those of plain words seldom: where the last of so many is none of Base64, no file covers it.
func appendShort(dst, src []byte, most int) (out []byte, cut bool) {
	most += len(dst)
	from, at := 0, 0
	for at+blobLeast <= len(src) && len(dst)+at-from <= most {
		last := at + blobLeast - 1
		if !inBlob[src[last]] {
			at = last + 1
			continue
		}
		start, end := last, last+1
		for start > from && inBlob[src[start-1]] {
			start--
		}
		for end < len(src) && inBlob[src[end]] {
			end++
		}
		at = end
		for end > start && src[end-1] == '\\' { // The backslash belongs to the quote after it.
			end--
		}
		if end-start < blobLeast {
			continue
		}
		dst = append(dst, src[from:dataStart(src, from, start)]...)
		dst = appendMark(dst, src, start, end)
		from = end
	}
	n := min(len(src)-from, max(0, most-len(dst)))
	cut = n < len(src)-from || len(dst) > most
	return append(dst[:min(len(dst), most)], src[from:from+n]...), cut
}

// dataStart is where a file begins with the scheme in front of it, if it has one.
func dataStart(src []byte, from, start int) int {
	near := src[max(from, start-beforeBlob):start]
	if at := bytes.LastIndex(near, []byte("data:")); at >= 0 && bytes.HasSuffix(near, []byte(";base64,")) {
		return start - len(near) + at
	}
	return start
}

func appendMark(dst, src []byte, start, end int) []byte {
	what := "[file, "
	near := src[max(0, start-beforeBlob):start]
	if bytes.Contains(near, []byte("image/")) {
		what = "[image, "
	}
	for _, p := range pictures {
		if bytes.HasPrefix(src[start:end], []byte(p)) {
			what = "[image, "
		}
	}
	dst = append(dst, what...)
	dst = strconv.AppendInt(dst, int64(end-start)/4*3, 10)
	return append(dst, " bytes]"...)
}
