package values

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"mizan/internal/disk"
	"mizan/posting/store/damage"
)

const testMax = 300_000 // bytes after which a file gets no further entries

func openSet(t *testing.T, dir string, listed []File) *Set {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(disk.Local(dir), testMax, listed)
	if err == nil {
		err = s.RemoveLeftovers()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it
	return s
}

// put appends values of these sizes in bytes, makes them durable with Flush, and returns their places and the files that have
// grown.
func put(t *testing.T, s *Set, kind Kind, sizes ...int) (places []Place, grown []File) {
	t.Helper()
	for _, size := range sizes {
		p, err := s.Append(kind, fmt.Appendf(nil, "key%d", size), bytes.Repeat([]byte{byte(size)}, size))
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	grown, err := s.Flush()
	if err != nil {
		t.Fatal(err)
	}
	return places, grown
}

func wantValues(t *testing.T, s *Set, places []Place) {
	t.Helper()
	for _, p := range places {
		got, err := s.Read(p, nil)
		if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(p.Length)}, int(p.Length))) {
			t.Errorf("the value at %v is %q: %v", p, got, err)
		}
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestValuesAreReadAtTheirPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "values")
	s := openSet(t, dir, nil)
	lasting, _ := put(t, s, Permanent, 1, 200, 0, 30)
	replaceable, _ := put(t, s, Replaceable, 5, 6)
	more, _ := put(t, s, Permanent, 7)
	all := slices.Concat(lasting, replaceable, more)
	wantValues(t, s, all)
	if lasting[0].File == replaceable[0].File {
		t.Error("values of both kinds are in one file")
	}
	files := s.Files()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openSet(t, dir, files)
	wantValues(t, s, all)
	more, _ = put(t, s, Permanent, 9)
	if more[0].File != lasting[0].File {
		t.Error("a file is not continued after another opening")
	}
	wantValues(t, s, slices.Concat(all, more))
}

func TestFullFileGetsNoFurtherValues(t *testing.T) {
	s := openSet(t, t.TempDir(), nil)
	first, grown := put(t, s, Permanent, testMax)
	second, _ := put(t, s, Permanent, 1)
	if first[0].File == second[0].File || !s.IsFull(grown[0]) {
		t.Errorf("places %v and %v", first, second)
	}
}

func TestFileRoundTrip(t *testing.T) {
	const block = blockSize
	f := File{Number: 7, Kind: Replaceable, Length: 1 << 30, Extents: []Extent{newExtent(0), newExtent(7 * block), newExtent(1<<30 - block)}}
	for _, want := range []File{f, f.AsRemoved()} {
		if got, ok := ParseFile(7, want.Append(nil)); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, ok)
		}
	}
	one := []Extent{newExtent(0)}
	for _, row := range [][]byte{
		nil, f.Append(nil)[:8], append(f.Append(nil), 0),
		File{Kind: removed, Length: block}.Append(nil), File{Kind: removed, Extents: one}.Append(nil), File{Kind: 4, Length: block, Extents: one}.Append(nil),
		File{Kind: Permanent, Extents: one}.Append(nil), File{Kind: Permanent, Length: -block, Extents: one}.Append(nil),
		File{Kind: Permanent, Length: block + 1, Extents: one}.Append(nil), File{Kind: Permanent, Length: block}.Append(nil),
		File{Kind: Permanent, Length: 9 * block, Extents: []Extent{newExtent(block)}}.Append(nil),
		File{Kind: Permanent, Length: 9 * block, Extents: []Extent{newExtent(0), newExtent(9 * block)}}.Append(nil),
		File{Kind: Permanent, Length: 9 * block, Extents: []Extent{newExtent(0), newExtent(block + 1)}}.Append(nil),
		File{Kind: Permanent, Length: 9 * block, Extents: []Extent{newExtent(0), newExtent(3 * block), newExtent(3 * block)}}.Append(nil),
		File{Kind: Permanent, Length: 9 * block, Extents: make([]Extent, maxExtents+1)}.Append(nil),
	} {
		if _, ok := ParseFile(7, row); ok {
			t.Errorf("%x was parsed", row)
		}
	}
	p := Place{1, 2, 1<<32 - 1}
	if got, ok := ParsePlace(p.Append(nil)); !ok || got != p {
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := ParsePlace(p.Append(nil)[1:]); ok {
		t.Error("a short place was parsed")
	}
}

// A file is deleted if its row is marked as removed, and its number is not used again. A file without a row is damage if
// there is a row with a higher number.
func TestOpenKnowsRemovedFiles(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	_, first := put(t, s, Replaceable, testMax)
	kept, second := put(t, s, Replaceable, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var damaged *damage.Error
	if _, err := Open(disk.Local(dir), testMax, second); !errors.As(err, &damaged) || damaged.Path != s.Path(1) {
		t.Errorf("without a row: %v", err)
	}
	s = openSet(t, dir, []File{first[0].AsRemoved(), second[0]})
	wantValues(t, s, kept)
	if got := names(t, dir); !slices.Equal(got, []string{"000002.values"}) {
		t.Errorf("there are %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	last := File{Number: 9}.AsRemoved()
	s = openSet(t, dir, []File{first[0].AsRemoved(), second[0], last})
	if next, _ := put(t, s, Permanent, 1); next[0].File != 10 {
		t.Errorf("the next file is %v", next)
	}
}

// A crash may leave bytes after the length that a file's row states; they are overwritten. It may also leave files without a
// row; they are removed. The number of such a file may be used again.
func TestOpenRemovesWhatIsNotListed(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	kept, grown := put(t, s, Permanent, 100)
	put(t, s, Permanent, 101)
	put(t, s, Replaceable, 102)
	if err := errors.Join(s.Close(), os.WriteFile(filepath.Join(dir, "note.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = openSet(t, dir, grown)
	wantValues(t, s, kept)
	if got := names(t, dir); !slices.Equal(got, []string{"000001.values", "note.txt"}) {
		t.Errorf("there are %v", got)
	}
	again, _ := put(t, s, Permanent, 103)
	other, _ := put(t, s, Replaceable, 104)
	wantValues(t, s, slices.Concat(kept, again, other))
	if again[0].Offset != uint32(grown[0].Length)+headSize([]byte("key103")) {
		t.Errorf("the next value is at %v", again[0])
	}
}

// Open removes no file, not even a file without a row: rows with values in such a file may be missing until the log is
// replayed. The replay may create some of these files again.
func TestOpenChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	for range 3 {
		put(t, s, Permanent, testMax)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.Path(1))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Open(disk.Local(dir), testMax, nil); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(s.Path(1)); err != nil || !bytes.Equal(before, after) || len(names(t, dir)) != 3 {
		t.Errorf("after Open there are %v: %v", names(t, dir), err)
	}
	places, _ := put(t, s, Replaceable, 9)
	if err := errors.Join(s.RemoveLeftovers(), s.RemoveLeftovers()); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"000001.values"}) {
		t.Errorf("there are %v", got)
	}
	wantValues(t, s, places)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMissingOrShortFileIsDamage(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"missing": os.Remove,
		"short":   func(path string) error { return os.Truncate(path, 50) },
	} {
		dir := t.TempDir()
		s := openSet(t, dir, nil)
		_, grown := put(t, s, Permanent, 100)
		if err := errors.Join(s.Close(), harm(s.Path(1))); err != nil {
			t.Fatal(err)
		}
		var damaged *damage.Error
		if _, err := Open(disk.Local(dir), testMax, grown); !errors.As(err, &damaged) || damaged.Path != s.Path(1) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileThatBecomesShorterIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	places, grown := put(t, s, Permanent, 100, 101)
	if err := os.Truncate(s.Path(1), 150); err != nil {
		t.Fatal(err)
	}
	var damaged *damage.Error
	if _, err := s.Read(places[1], nil); !errors.As(err, &damaged) {
		t.Errorf("read: %v", err)
	}
	if err := s.Entries(grown[0], 0, func(Entry) error { return nil }); !errors.As(err, &damaged) {
		t.Errorf("entries: %v", err)
	}
	if _, err := s.Read(Place{File: 9}, nil); !errors.As(err, &damaged) {
		t.Errorf("a file that never was: %v", err)
	}
}

func TestEntriesAreThoseThatWereAppended(t *testing.T) {
	s := openSet(t, t.TempDir(), nil)
	places, grown := put(t, s, Replaceable, 0, 1, 250, 3)
	var got []Place
	err := s.Entries(grown[0], 0, func(e Entry) error {
		if string(e.Key) != fmt.Sprintf("key%d", len(e.Stored)) {
			t.Errorf("the entry %v has the key %s", e.Place, e.Key)
		}
		got = append(got, e.Place)
		return nil
	})
	if err != nil || !slices.Equal(got, places) {
		t.Errorf("%v, %v, want %v", got, err, places)
	}
}

// If a byte in the head of an entry is changed, the error is a HeadError. If a later byte is changed, the entry's value is
// damaged.
func TestEveryChangedByteIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	places, grown := put(t, s, Permanent, 100)
	b, err := os.ReadFile(s.Path(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(places[0].Offset) + 100 + sumSize {
		for _, bit := range []byte{1, 0x80} {
			harmed := bytes.Clone(b)
			harmed[i] ^= bit
			if err := os.WriteFile(s.Path(1), harmed, 0o600); err != nil {
				t.Fatal(err)
			}
			isInHead := uint32(i) < places[0].Offset
			var damaged *damage.Error
			var damagedHead *HeadError
			err := s.Entries(grown[0], 0, func(e Entry) error {
				if !e.IsDamaged {
					t.Errorf("byte %d: the entry is not damaged", i)
				}
				return nil
			})
			if errors.As(err, &damaged) != isInHead || errors.As(err, &damagedHead) != isInHead {
				t.Errorf("byte %d: entries: %v", i, err)
			}
			if _, err := s.Read(places[0], nil); errors.As(err, &damaged) == isInHead {
				t.Errorf("byte %d: read: %v", i, err)
			}
		}
	}
}

// Each Flush begins a block, so a block with durable entries is not written again. The padding of the last block is not returned
// as an entry.
func TestFlushFillsItsLastBlock(t *testing.T) {
	const overhead = minEntry + len("key1000") // bytes of an entry in addition to its value
	for _, size := range []int{1000, blockSize - overhead, blockSize - overhead - 1, blockSize - overhead - minEntry, 4 * blockSize} {
		dir := t.TempDir()
		s := openSet(t, dir, nil)
		var all []Place
		var f File
		for range 3 {
			places, grown := put(t, s, Permanent, size)
			if start := places[0].Offset - headSize(fmt.Appendf(nil, "key%d", size)); start%blockSize != 0 {
				t.Errorf("%d bytes: a Flush begins at %d", size, start)
			}
			all, f = append(all, places...), grown[0]
		}
		wantValues(t, s, all)
		var got []Place
		err := s.Entries(f, 0, func(e Entry) error {
			got = append(got, e.Place)
			return nil
		})
		if info, statErr := os.Stat(s.Path(1)); err != nil || !slices.Equal(got, all) || statErr != nil || info.Size() != f.Length || f.Length%blockSize != 0 {
			t.Errorf("%d bytes: %v and %v in %v: %v, %v", size, got, all, f, err, statErr)
		}
	}
}

// After a crash the same bytes of a file are written again: those after the listed length, and those of a file that is
// created again. If the earlier content comes back, with the same keys and lengths, that is damage.
func TestBytesOfAnEarlierProcessAreDamage(t *testing.T) {
	for name, isContinued := range map[string]bool{"file that is continued": true, "file that is made again": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openSet(t, dir, nil)
			var listed []File
			if isContinued {
				_, listed = put(t, s, Replaceable, 50)
			}
			earlier, _ := put(t, s, Replaceable, 100, 101)
			before, err := os.ReadFile(s.Path(1))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			s = openSet(t, dir, listed)
			places, grown := put(t, s, Replaceable, 100, 101)
			wantValues(t, s, places)
			if !slices.Equal(places, earlier) {
				t.Fatalf("values are at %v, and were at %v", places, earlier)
			}
			if err := os.WriteFile(s.Path(1), before, 0o600); err != nil {
				t.Fatal(err)
			}
			var damaged *damage.Error
			for _, p := range places {
				if _, err := s.Read(p, nil); !errors.As(err, &damaged) || damaged.Path != s.Path(1) {
					t.Errorf("the value at %v: %v", p, err)
				}
			}
			if err := s.Entries(grown[0], 0, func(Entry) error { return nil }); !errors.As(err, &damaged) {
				t.Errorf("entries: %v", err)
			}
		})
	}
}

// Each process that writes into a file adds an extent to the file's row. A file with maxExtents extents gets no further values.
func TestExtentsOfAFileAreBounded(t *testing.T) {
	dir := t.TempDir()
	var all []Place
	var listed []File
	for i := range maxExtents + 1 {
		s := openSet(t, dir, listed)
		places, grown := put(t, s, Permanent, 2, 3)
		all = append(all, places...)
		if i < maxExtents {
			listed = grown
		} else if grown[0].Number != 2 || !s.IsFull(listed[0]) || s.IsFull(grown[0]) {
			t.Errorf("process %d has written into %v", i, grown)
		}
		wantValues(t, s, all)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(listed[0].Extents) != maxExtents {
		t.Errorf("the first file has %d extents", len(listed[0].Extents))
	}
}

func TestRemovedFileIsGone(t *testing.T) {
	dir := t.TempDir()
	s := openSet(t, dir, nil)
	_, grown := put(t, s, Replaceable, testMax)
	if err := s.Remove(grown[0].Number); err != nil {
		t.Fatal(err)
	}
	if len(s.Files()) != 0 || len(names(t, dir)) != 0 {
		t.Errorf("there are %v, %v", s.Files(), names(t, dir))
	}
	if err := s.Entries(grown[0], 0, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("entries: %v", err)
	}
	next, _ := put(t, s, Replaceable, 1)
	if next[0].File == grown[0].Number {
		t.Error("a number is used again")
	}
}
