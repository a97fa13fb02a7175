package canaries

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 8 of the checker: no canary is in any file of the data directory. A canary is a string that must not be stored,
// such as a card number that a test has sent. If the caller names no canary file, the rule is skipped.

// Check searches every file of the data directory for canaries. The parameters canaries and answers are the paths of
// the check's two input files. The input files are not searched.
func Check(c *scan.Scan, data, canaries, answers string) error {
	if canaries == "" || data == "" {
		c.Report.Skip(findings.RuleCanaries)
		return nil
	}
	content, err := os.ReadFile(canaries)
	if err != nil {
		return fmt.Errorf("%w: canaries: %w", findings.ErrInput, err)
	}
	s := newSearch(strings.Split(string(content), "\n"))
	inputs, err := inputFiles(canaries, answers)
	if err != nil {
		return err
	}
	return c.ReadSection(findings.RuleCanaries, func() error {
		return filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return ignoreRemoved(err)
			}
			if info, err := entry.Info(); err != nil || isInput(inputs, info) {
				return ignoreRemoved(err)
			}
			name, err := filepath.Rel(data, path)
			if err != nil {
				return err
			}
			c.Report.Count(findings.RuleCanaries, 1)
			return ignoreRemoved(s.searchFile(c.Ctx, path, func(line int, offset int64) {
				c.Report.Breach(findings.RuleCanaries, "%s: canary %d at byte %d", name, line, offset)
			}))
		})
	})
}

// ignoreRemoved returns nil if err says that a file does not exist: the store may remove files during the search. It
// returns any other error unchanged.
func ignoreRemoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// inputFiles returns the check's input files, which the search must skip if they are in the data directory.
func inputFiles(paths ...string) (inputs []fs.FileInfo, err error) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", findings.ErrInput, err)
		}
		inputs = append(inputs, info)
	}
	return inputs, nil
}

func isInput(inputs []fs.FileInfo, info fs.FileInfo) bool {
	for _, input := range inputs {
		if os.SameFile(input, info) {
			return true
		}
	}
	return false
}

// stemBytes is the length of a canary's stem: the first bytes of the canary, by which the search finds it.
const stemBytes = 4

// search finds many strings in one pass over a text. The stem of a string is its first four bytes. At each position, the search
// hashes the next four bytes of the text. It compares strings with the text only if some string's stem has the same hash.
// Strings shorter than a stem are searched for one by one.
type search struct {
	stemHashes    [1 << 16 / 64]uint64 // one bit for each possible hash of a stem, set if some string's stem has this hash
	byStem        map[uint32][]canary
	shortCanaries []canary
	longest       int // length of the longest string
	chunkBytes    int // number of bytes that are read at a time
}

type canary struct {
	line int // line number in the canary file, from 1
	text []byte
}

func newSearch(lines []string) *search {
	s := &search{byStem: make(map[uint32][]canary), chunkBytes: defaultChunkBytes}
	for i, line := range lines {
		text := []byte(strings.TrimSuffix(line, "\r"))
		c := canary{i + 1, text}
		switch {
		case len(text) == 0:
			continue
		case len(text) < stemBytes:
			s.shortCanaries = append(s.shortCanaries, c)
		default:
			stem := binary.LittleEndian.Uint32(text)
			s.byStem[stem] = append(s.byStem[stem], c)
			bit := stemHash(stem)
			s.stemHashes[bit/64] |= 1 << (bit % 64)
		}
		s.longest = max(s.longest, len(text))
	}
	return s
}

func stemHash(stem uint32) uint32 { return stem * 2654435761 >> 16 } // Knuth's multiplicative hash

// defaultChunkBytes is the number of bytes that are read from a file at a time. Tests use smaller chunks.
const defaultChunkBytes = 1 << 20

// searchFile searches one file. For every canary that it finds, it calls onFound with the number of the canary's line
// in the canary file and the canary's offset in the searched file.
func (s *search) searchFile(ctx context.Context, path string, onFound func(line int, offset int64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.searchReader(ctx, f, onFound)
}

// searchReader does the same as searchFile for a file that is already open.
func (s *search) searchReader(ctx context.Context, f io.Reader, onFound func(line int, offset int64)) error {
	if s.longest == 0 {
		return nil
	}
	overlap := s.longest - 1 // bytes that are searched again with the next chunk, because a canary may span two chunks
	buffer := make([]byte, overlap+s.chunkBytes)
	filled := 0        // number of bytes in buffer that have been read from the file
	offset := int64(0) // the file's offset at which buffer[0] was read
	for {
		n, err := io.ReadFull(f, buffer[filled:])
		filled += n
		atEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEOF {
			return err
		}
		end := filled // this round finds the canaries that begin before end
		if !atEOF {
			end = filled - overlap
		}
		s.scan(buffer[:filled], end, func(line, position int) { onFound(line, offset+int64(position)) })
		if atEOF {
			return nil
		}
		copy(buffer, buffer[end:filled])
		offset += int64(end)
		filled -= end
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// scan finds the canaries that begin in text[:end]. A canary may extend beyond end, but must lie completely within
// text.
func (s *search) scan(text []byte, end int, onFound func(line, position int)) {
	for _, c := range s.shortCanaries {
		for i := 0; i < end; {
			n := bytes.Index(text[i:], c.text)
			if n < 0 || i+n >= end {
				break
			}
			onFound(c.line, i+n)
			i += n + 1
		}
	}
	if len(s.byStem) == 0 {
		return
	}
	for i := range max(0, min(end, len(text)-stemBytes+1)) {
		stem := binary.LittleEndian.Uint32(text[i:])
		if bit := stemHash(stem); s.stemHashes[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, c := range s.byStem[stem] {
			if bytes.HasPrefix(text[i:], c.text) {
				onFound(c.line, i)
			}
		}
	}
}
