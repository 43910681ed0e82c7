package testvideo

// bitWriter collects the fields of an H.264 unit, most significant bit first.
type bitWriter struct {
	bytes   []byte
	pending uint64 // The pending bits do not fill a byte yet and are at the low end.
	count   uint   // Count is the number of pending bits, at most seven between calls.
}

// bits appends the low n bits of v, at most 32.
func (w *bitWriter) bits(n uint, v uint32) {
	w.pending = w.pending<<n | uint64(v)&(1<<n-1)
	w.count += n
	for w.count >= 8 {
		w.count -= 8
		w.bytes = append(w.bytes, byte(w.pending>>w.count))
	}
}

func (w *bitWriter) flag(v bool) {
	if v {
		w.bits(1, 1)
	} else {
		w.bits(1, 0)
	}
}

// unsigned appends Exp-Golomb codes: small numbers are short.
func (w *bitWriter) unsigned(values ...uint32) {
	for _, v := range values {
		var length uint
		for rest := v + 1; rest > 1; rest >>= 1 {
			length++
		}
		w.bits(length, 0)
		w.bits(length+1, v+1)
	}
}

func (w *bitWriter) align() {
	if w.count > 0 {
		w.bits(8-w.count, 0)
	}
}

// raw appends whole bytes. The writer is aligned.
func (w *bitWriter) raw(b []byte) { w.bytes = append(w.bytes, b...) }

// unit ends the fields and returns them behind a header. Where two zero bytes would be followed by a byte that looks
// like the start of another unit, the byte 3 comes between, as the standard asks.
func (w *bitWriter) unit(header byte) []byte {
	w.bits(1, 1)
	w.align()
	out := make([]byte, 0, len(w.bytes)+len(w.bytes)/64+8)
	out = append(out, header)
	zeros := 0
	for _, c := range w.bytes {
		if zeros >= 2 && c <= 3 {
			out = append(out, 3)
			zeros = 0
		}
		if c == 0 {
			zeros++
		} else {
			zeros = 0
		}
		out = append(out, c)
	}
	return out
}
