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

// Rule 8: no canary is in any file of the data directory. A canary is a string that must not be stored,
// such as a card number that a test has sent. The rule is skipped without a file of canaries.

// Check searches every file of the data directory for canaries. It does not search the two input files of
// the check, whose paths are canaries and answers.
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
			return ignoreRemoved(s.searchFile(c.Ctx, path, func(canary int, offset int64) {
				c.Report.Breach(findings.RuleCanaries, "%s: canary %d at byte %d", name, canary, offset)
			}))
		})
	})
}

// ignoreRemoved drops the error for a file that the store has removed meanwhile.
func ignoreRemoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// inputFiles returns the files that are inputs of the check. They may be in the data directory.
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

// stemBytes is the number of bytes at a canary's beginning that are hashed.
const stemBytes = 4

// search finds many strings in one pass. A bit set has the hash of each string's first bytes. Strings are
// compared only with places of the text whose hash is in the bit set. Strings shorter than stemBytes are
// searched one by one.
type search struct {
	bits          [1 << 16 / 64]uint64
	stems         map[uint32][]canary
	shortCanaries []canary
	longest       int
	chunk         int // bytes read at a time
}

type canary struct {
	line int // line in the file of canaries, from 1
	text []byte
}

func newSearch(lines []string) *search {
	s := &search{stems: make(map[uint32][]canary), chunk: chunk}
	for i, line := range lines {
		text := []byte(strings.TrimSuffix(line, "\r"))
		c := canary{i + 1, text}
		switch {
		case len(text) == 0:
			continue
		case len(text) < stemBytes:
			s.shortCanaries = append(s.shortCanaries, c)
		default:
			head := binary.LittleEndian.Uint32(text)
			s.stems[head] = append(s.stems[head], c)
			bit := bitOf(head)
			s.bits[bit/64] |= 1 << (bit % 64)
		}
		s.longest = max(s.longest, len(text))
	}
	return s
}

func bitOf(head uint32) uint32 { return head * 2654435761 >> 16 } // Knuth's multiplicative hash

// chunk is the number of bytes of a file that are read at a time.
const chunk = 1 << 20

// searchFile calls onFound for every canary in a file, with the canary's line in the file of canaries and its
// offset in the searched file.
func (s *search) searchFile(ctx context.Context, path string, onFound func(canary int, offset int64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.read(ctx, f, onFound)
}

func (s *search) read(ctx context.Context, f io.Reader, onFound func(canary int, offset int64)) error {
	if s.longest == 0 {
		return nil
	}
	overlap := s.longest - 1 // bytes that are searched again with the next chunk, because a canary may lie across two chunks
	buffer := make([]byte, overlap+s.chunk)
	filled := 0        // bytes in buffer that are text
	offset := int64(0) // file offset of buffer[0]
	for {
		n, err := io.ReadFull(f, buffer[filled:])
		filled += n
		atEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEOF {
			return err
		}
		end := filled // end of the positions that are searched now
		if !atEOF {
			end = filled - overlap
		}
		s.scan(buffer[:filled], end, func(canary, position int) { onFound(canary, offset+int64(position)) })
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

// scan finds canaries that begin in text[:end]. They may end after that part, but within text.
func (s *search) scan(text []byte, end int, onFound func(canary, position int)) {
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
	if len(s.stems) == 0 {
		return
	}
	for i := range max(0, min(end, len(text)-stemBytes+1)) {
		head := binary.LittleEndian.Uint32(text[i:])
		if bit := bitOf(head); s.bits[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, c := range s.stems[head] {
			if bytes.HasPrefix(text[i:], c.text) {
				onFound(c.line, i)
			}
		}
	}
}
