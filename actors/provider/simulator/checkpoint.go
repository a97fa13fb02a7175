package simulator

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"mizan/actors"
	"mizan/internal/durable"
)

// checkpointEvery is the number of bytes by which the log grows between two checkpoints (described below). At a
// start, Open reads at most this many bytes, plus the bytes that were written while the last checkpoint was being
// written. As long as the log is smaller, there is no checkpoint.
const checkpointEvery = 32 << 20

// checkpointMagic is the beginning of each checkpoint. The number in it must change if the layout or the hash of keys changes.
const checkpointMagic = "mizan simulator checkpoint 1\n"

// CheckpointSuffix is appended to the name of the log to get the name of its checkpoint.
const CheckpointSuffix = ".checkpoint"

// A checkpoint is a file beside the log. It contains the index, the Bloom filter and the chargebacks of all lines up to an
// offset, so that a start need not read these lines. Its parts are:
//
//	checkpointMagic, offset, number of lines, length of the last line, that line
// indexBound, words of the Bloom filter, number of entries of the ring, position of the oldest one, entries (hash, offset),
// Bloom filter instant after which all chargebacks are listed, number of chargebacks, chargebacks (org, reference, terminal,
// instant) CRC-32C of all these parts
//
// Numbers have 64 bits, little-endian; instants are microseconds since 1970. The checkpoint belongs to a log if the
// log contains the same line at that offset; random ids and a time make the line unique. A damaged checkpoint, or one
// of another log or version, is ignored. A checkpoint can be deleted at any time.

// appendCheckpoint appends a checkpoint of all durable lines to dst. The argument last is the text of the last
// durable line. The caller holds mu.
func (s *Simulator) appendCheckpoint(dst []byte, last []byte) []byte {
	put := func(n int64) { dst = binary.LittleEndian.AppendUint64(dst, uint64(n)) }
	dst = append(dst, checkpointMagic...)
	put(s.log.durable)
	put(int64(s.log.lineCount))
	put(int64(len(last)))
	dst = append(dst, last...)
	put(int64(s.index.bound))
	put(int64(len(s.index.bloomFilter)))
	put(int64(len(s.index.ring)))
	put(int64(s.index.oldest))
	for _, entry := range s.index.ring {
		dst = binary.LittleEndian.AppendUint64(dst, entry.hash)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(entry.offset))
	}
	for _, word := range s.index.bloomFilter {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	put(s.chargebacks.completeAfter.UnixMicro())
	put(int64(len(s.chargebacks.reports)))
	for i := range s.chargebacks.reports {
		r := &s.chargebacks.reports[i]
		dst = append(append(append(dst, r.Org[:]...), r.Reference[:]...), r.Terminal[:]...)
		put(r.At.UnixMicro())
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

// checkpointReader reads the parts of a checkpoint. If a part is missing, this part and all parts after it are read as empty.
type checkpointReader struct {
	rest    []byte
	isShort bool
}

func (r *checkpointReader) bytes(length int64) []byte {
	if length < 0 || length > int64(len(r.rest)) {
		r.rest, r.isShort = nil, true
		return nil
	}
	part := r.rest[:length]
	r.rest = r.rest[length:]
	return part
}

func (r *checkpointReader) number() int64 {
	if part := r.bytes(8); part != nil {
		return int64(binary.LittleEndian.Uint64(part))
	}
	return 0
}

// count reads the number of elements that follow. An element has size bytes. If fewer bytes are left than the
// elements need, count returns 0.
func (r *checkpointReader) count(size int64) int64 {
	n := r.number()
	if n < 0 || n > int64(len(r.rest))/size {
		r.rest, r.isShort = nil, true
		return 0
	}
	return n
}

// loadCheckpoint fills the index, the Bloom filter and the chargebacks from a checkpoint, and returns the part of the log that
// the checkpoint covers. If the checkpoint is damaged or belongs to another log, loadCheckpoint changes nothing and
// returns an empty section.
func (s *Simulator) loadCheckpoint(content []byte, length int64) section {
	sumAt := len(content) - crc32.Size
	if sumAt < len(checkpointMagic) || string(content[:len(checkpointMagic)]) != checkpointMagic ||
		binary.LittleEndian.Uint32(content[sumAt:]) != crc32.Checksum(content[:sumAt], castagnoli) {
		return section{}
	}
	r := &checkpointReader{rest: content[len(checkpointMagic):sumAt]}
	covered := section{end: r.number(), lineCount: int(r.number())}
	last := r.bytes(r.number())
	if covered.end > length || !s.log.hasLine(last, covered.end) {
		return section{}
	}
	restored := newIndex(s.index.bound, 64*len(s.index.bloomFilter))
	if r.number() != int64(restored.bound) || r.number() != int64(len(restored.bloomFilter)) {
		return section{}
	}
	entries, oldest := r.count(16), r.number()
	if entries > int64(restored.bound) || oldest < 0 || oldest > 0 && oldest >= entries {
		return section{}
	}
	restored.oldest = int(oldest)
	for range entries {
		entry := indexEntry{hash: uint64(r.number()), offset: r.number()}
		if entry.offset < 0 || entry.offset >= covered.end {
			return section{}
		}
		restored.append(entry)
	}
	for i := range restored.bloomFilter {
		restored.bloomFilter[i] = uint64(r.number())
	}
	list := chargebacks{bound: s.chargebacks.bound, completeAfter: time.UnixMicro(r.number()).UTC()}
	reports := r.count(3*16 + 8)
	for range reports {
		report := actors.Report{Kind: actors.Reversal}
		copy(report.Org[:], r.bytes(16))
		copy(report.Reference[:], r.bytes(16))
		copy(report.Terminal[:], r.bytes(16))
		report.At = time.UnixMicro(r.number()).UTC()
		list.reports = append(list.reports, report)
	}
	if r.isShort || len(r.rest) > 0 || len(list.reports) > list.bound {
		return section{}
	}
	s.index, s.chargebacks = restored, list
	s.log.lastLine = covered.end - int64(len(last))
	return covered
}

// hasLine tells whether the log's file contains this line, and the line ends at the offset end.
func (l *callLog) hasLine(text []byte, end int64) bool {
	begin := end - int64(len(text))
	if begin < 0 || !hasValidSum(text) {
		return false
	}
	found := make([]byte, len(text))
	return l.readFull(found, begin) == nil && bytes.Equal(found, text)
}

// readCheckpoint returns the content of the checkpoint's file, or nil if the file does not exist or cannot be read.
func readCheckpoint(path string) []byte {
	durable.RemoveLeftovers(filepath.Dir(path), filepath.Base(path))
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return content
}

// checkpointIfDue starts to write a checkpoint in the background if the log has grown enough since the last checkpoint.
// The caller holds mu.
func (s *Simulator) checkpointIfDue() {
	if s.isCheckpointing || s.isDamaged || s.log.durable-s.checkpointedUpTo < s.checkpointEvery {
		return
	}
	s.isCheckpointing = true
	s.background.Go(func() {
		s.writeCheckpoint()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.isCheckpointing = false; s.isDamaged {
			_ = os.Remove(s.checkpointPath)
		}
	})
}

// writeCheckpoint writes a checkpoint of all durable lines. An error is ignored, because without a checkpoint the
// next start only takes longer.
func (s *Simulator) writeCheckpoint() {
	s.mu.Lock()
	sizeNow := len(checkpointMagic) + maxLine + 16*len(s.index.ring) + 8*len(s.index.bloomFilter) + (3*16+8)*len(s.chargebacks.reports)
	s.mu.Unlock()
	content := make([]byte, sizeNow+sizeNow/16)
	for i := 0; i < len(content); i += os.Getpagesize() {
		content[i] = 1 // touch each page now, so that no page fault happens while mu is held
	}
	content = content[:0]
	s.mu.Lock()
	s.checkpointedUpTo = s.log.durable
	last, err := s.log.readLine(s.log.lastLine, s.log.durable)
	if err == nil {
		content = s.appendCheckpoint(content, last)
	}
	s.mu.Unlock()
	if err == nil {
		_ = durable.Replace(s.checkpointPath, 0o600, content)
	}
}
