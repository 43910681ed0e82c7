package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// A segment begins with a header of one sector, which a disk writes whole or not at all:
//
//	0 magic | 8 version u32 | 12 owner's length u32 | 16 index u64 | 24 first LSN u64 | 32 size u64 | 40 made, Unix ns u64
//	48 owner | zeros | 508 CRC-32C of all before
//
// Records follow, each at a multiple of 8:
//
//	0 length of data u32 | 4 CRC-32C of all but itself u32 | 8 LSN u64 | 16 lag u32 | 20 kind u8 | 21 zeros | 24 data | zeros
//
// The lag is how many records before and with this one were not known to be durable when it was written: a broken record
// that a later whole one calls durable was not torn by a crash, it rotted. Zeros follow the last record.
const (
	magic         = "UMGjrnl\n"
	version       = 1
	headerBytes   = 512
	prefixBytes   = 24
	alignBytes    = 8
	windowBytes   = 256 << 10
	windowAtFirst = 16 << 10
	suffix        = ".journal"
	nameDigits    = 10
)

var (
	errEnd    = errors.New("no record")
	errBroken = errors.New("broken record")
	errZeros  = errors.New("no header")
	errHeader = errors.New("broken header")

	blank [4096]byte

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// segment is a file whose header is written. The last segment of a log is the one being written.
type segment struct {
	index uint64
	first LSN
	size  int64
	made  time.Time
	owner string
}

func (s segment) name() string { return nameOf(s.index) }

func nameOf(index uint64) string { return fmt.Sprintf("%0*d%s", nameDigits, index, suffix) }

// indexOf parses a file's name. Files with other names do not belong to the journal.
func indexOf(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	index, err := strconv.ParseUint(digits, 10, 64)
	return index, err == nil && nameOf(index) == name
}

func (s segment) header() []byte {
	b := make([]byte, headerBytes)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(s.owner)))
	binary.LittleEndian.PutUint64(b[16:], s.index)
	binary.LittleEndian.PutUint64(b[24:], uint64(s.first))
	binary.LittleEndian.PutUint64(b[32:], uint64(s.size))
	binary.LittleEndian.PutUint64(b[40:], uint64(s.made.UnixNano()))
	copy(b[48:], s.owner)
	binary.LittleEndian.PutUint32(b[headerBytes-4:], crc32.Checksum(b[:headerBytes-4], castagnoli))
	return b
}

func parseHeader(b []byte) (segment, error) {
	if zeros(b) {
		return segment{}, errZeros
	}
	sum := binary.LittleEndian.Uint32(b[headerBytes-4:])
	if string(b[:8]) != magic || sum != crc32.Checksum(b[:headerBytes-4], castagnoli) {
		return segment{}, errHeader
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return segment{}, fmt.Errorf("its format has version %d, and this program knows %d", v, version)
	}
	owner := binary.LittleEndian.Uint32(b[12:])
	s := segment{
		index: binary.LittleEndian.Uint64(b[16:]),
		first: LSN(binary.LittleEndian.Uint64(b[24:])),
		size:  int64(binary.LittleEndian.Uint64(b[32:])),
		made:  time.Unix(0, int64(binary.LittleEndian.Uint64(b[40:]))),
	}
	if owner > ownerBytesMax || s.first == 0 || s.size < headerBytes {
		return segment{}, errHeader
	}
	s.owner = string(b[48 : 48+owner])
	return s, nil
}

func zeros(b []byte) bool {
	for len(b) > len(blank) {
		if !bytes.Equal(b[:len(blank)], blank[:]) {
			return false
		}
		b = b[len(blank):]
	}
	return bytes.Equal(b, blank[:len(b)])
}

// room is how many bytes a record with that much data takes in a segment.
func room(dataBytes int) int {
	return (prefixBytes + dataBytes + alignBytes - 1) / alignBytes * alignBytes
}

// appendRecord writes a record without its checksum and lag, which seal adds later.
func appendRecord(b []byte, lsn LSN, kind Kind, data []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(lsn))
	b = append(b, 0, 0, 0, 0, byte(kind), 0, 0, 0)
	b = append(b, data...)
	for len(b)%alignBytes != 0 {
		b = append(b, 0)
	}
	return b
}

// seal completes the record that b begins with and returns its length in bytes.
func seal(b []byte, durable LSN) int {
	n := room(int(binary.LittleEndian.Uint32(b)))
	lag := binary.LittleEndian.Uint64(b[8:]) - uint64(durable)
	binary.LittleEndian.PutUint32(b[16:], uint32(min(lag, 1<<32-1)))
	binary.LittleEndian.PutUint32(b[4:], checksum(b[:n]))
	return n
}

func checksum(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[:4], castagnoli), castagnoli, record[8:])
}
