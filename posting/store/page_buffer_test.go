package store

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

var (
	bufferOrg     = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	bufferAccount = ledger.Account{Path: "L:partner:1:available", Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}}
)

// pageLines returns encoded lines of an account, booked at the given times.
func pageLines(times ...ledger.Micros) (lines []byte) {
	for n, at := range times {
		lines = EncodeLine(lines, &Line{
			Seq: uint64(n + 1), Index: n, Booked: at, Side: ledger.Credit, Phase: ledger.Posted, Amount: money.FromUint64(uint64(n)),
			Totals: ledger.Totals{CreditsPosted: money.MustParse("1" + strings.Repeat("0", 70)), DebitsPending: money.FromUint64(300)},
		})
	}
	return lines
}

// listLines returns the encoded rows of a list, booked at the given times.
func listLines(times ...ledger.Micros) (lines []byte) {
	for n, at := range times {
		lines = EncodeListed(lines, ListRow{Booked: at, IsCreation: n%2 == 0, ID: bufferOrg})
	}
	return lines
}

func pageHeadOf(a ledger.Account) []byte { return PageHead(nil, KeyPages(nil, bufferOrg, a)) }

func listHeadOf(partner int64) []byte {
	return PageHead(nil, KeyListPages(nil, bufferOrg, ledger.NewList(ledger.Transaction, 1, byte(partner))))
}

// chunk is a chunk of a page-buffer row in a form that tests can compare: the head of a page, and lines.
type chunk struct{ head, lines string }

// chunksOf returns the chunks of a page-buffer row.
func chunksOf(row []byte) (chunks []chunk, err error) {
	err = EachChunk(row, func(head, lines []byte) error {
		chunks = append(chunks, chunk{string(head), string(lines)})
		return nil
	})
	return chunks, err
}

// bufferRow returns a page-buffer row and its chunks.
func bufferRow() (row []byte, chunks []chunk) {
	for _, c := range []chunk{
		{string(pageHeadOf(bufferAccount)), string(pageLines(7, 7, 9))},
		{string(listHeadOf(5)), string(listLines(3, 9))},
		{string(pageHeadOf(bufferAccount)), string(pageLines(11))},
		{string(listHeadOf(-1)), string(bytes.Repeat(listLines(20), 2_000))},
	} {
		row = AppendChunk(row, []byte(c.head), []byte(c.lines))
		chunks = append(chunks, c)
	}
	return row, chunks
}

func TestPageBufferRowRoundTrip(t *testing.T) {
	row, want := bufferRow()
	if got, err := chunksOf(row); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	if got, err := chunksOf(nil); err != nil || got != nil {
		t.Errorf("an empty row has %q (%v)", got, err)
	}
}

func TestEachChunkReturnsTheCallbacksError(t *testing.T) {
	row, _ := bufferRow()
	calls, failure := 0, fmt.Errorf("enough")
	err := EachChunk(row, func(_, _ []byte) error {
		calls++
		return failure
	})
	if err != failure || calls != 1 {
		t.Errorf("%v after %d chunks", err, calls)
	}
}

func TestPageHeadIsThePrefixWithoutTheOrganization(t *testing.T) {
	otherOrg := uuid.New()
	for _, prefix := range [][]byte{KeyPages(nil, bufferOrg, bufferAccount), KeyListPages(nil, bufferOrg, ledger.NewList(ledger.Transaction, 2, 7)), KeyPages(nil, bufferOrg, ledger.Account{})} {
		head := PageHead([]byte("before"), prefix)[len("before"):]
		if bytes.Contains(head, bufferOrg[:]) || len(head) != len(prefix)-16 {
			t.Errorf("the head of %x is %x", prefix, head)
		}
		if got := PagePrefix(nil, bufferOrg, head); !bytes.Equal(got, prefix) {
			t.Errorf("prefix %x, want %x", got, prefix)
		}
		if got := PagePrefix(nil, otherOrg, head); !bytes.Equal(got[1:17], otherOrg[:]) || !bytes.Equal(got[17:], prefix[17:]) {
			t.Errorf("another organization's prefix is %x", got)
		}
	}
}

func TestPageBufferKeyRoundTrip(t *testing.T) {
	highOrg := append(bytes.Repeat([]byte{0xff}, 15), 0xfe)
	var keys [][]byte
	for _, org := range []ledger.ID{{}, bufferOrg, ledger.ID(highOrg)} {
		for _, group := range []uint64{0, 1, 255, 256, math.MaxUint64} {
			for _, n := range []uint16{0, 1, math.MaxUint16} {
				k := BufferKey{Org: org, Group: group, Part: n}
				key := KeyBufferRow(nil, k)
				if got, ok := ParseBufferKey(key); !ok || got != k {
					t.Errorf("%+v is read as %+v, %v", k, got, ok)
				}
				for _, prefix := range [][]byte{KeyAllBuffers(), KeyBuffer(nil, org)} {
					if !bytes.HasPrefix(key, prefix) {
						t.Errorf("%x does not begin with %x", key, prefix)
					}
				}
				keys = append(keys, key)
			}
		}
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Error("keys are not in the order of organization, group and part")
	}
}

func TestMalformedPageBufferKeysAreRefused(t *testing.T) {
	key := KeyBufferRow(nil, BufferKey{Org: bufferOrg, Group: 9})
	for n := range key {
		if _, ok := ParseBufferKey(key[:n]); ok {
			t.Errorf("%d bytes of a key are taken for one", n)
		}
	}
	if _, ok := ParseBufferKey(append(key, 0)); ok {
		t.Error("a key with a byte too many is taken for one")
	}
	key[0] = prefixList
	if _, ok := ParseBufferKey(key); ok {
		t.Error("a list's key is taken for a page buffer's")
	}
}

func TestSpanIsFromTheFirstLineToTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		kind        byte
		lines       []byte
		first, last ledger.Micros
	}{
		"one line":           {prefixPage, pageLines(9), 9, 9},
		"lines of two times": {prefixPage, pageLines(7, 7, 1<<50), 7, 1 << 50},
		"one row":            {prefixList, listLines(1 << 50), 1 << 50, 1 << 50},
		"rows":               {prefixList, listLines(3, 4, 8), 3, 8},
		"no lines":           {prefixPage, nil, 0, 0},
	} {
		if first, last, err := BookedTimes(c.kind, c.lines); first != c.first || last != c.last || err != nil {
			t.Errorf("%s: from %d to %d (%v), want %d and %d", name, first, last, err, c.first, c.last)
		}
	}
	for _, kind := range []byte{0, prefixBlock, prefixBuffer, 0xff} {
		if _, _, err := BookedTimes(kind, pageLines(1)); err == nil {
			t.Errorf("pages of kind %q have a span", kind)
		}
	}
}

// A truncated row or chunk is detected, except when it is cut between two chunks or lines.
func TestTruncatedPageBufferRowIsRefused(t *testing.T) {
	row, want := bufferRow()
	chunksUpTo := map[int]int{0: 0} // maps a length to the number of whole chunks in a row that is cut to this length
	for n, length := 0, 0; n < len(want); n++ {
		length += len(AppendChunk(nil, []byte(want[n].head), []byte(want[n].lines)))
		chunksUpTo[length] = n + 1
	}
	for n := range len(row) + 1 {
		got, err := chunksOf(row[:n])
		if chunks, isBetween := chunksUpTo[n]; isBetween != (err == nil) || isBetween && !slices.Equal(got, want[:chunks]) {
			t.Fatalf("%d of %d bytes: %d chunks, %v", n, len(row), len(got), err)
		}
	}
	for kind, lines := range map[byte][]byte{prefixPage: pageLines(7, 7, 9), prefixList: listLines(3, 9, 1<<40)} {
		hasSpan := map[int]bool{0: true} // keys are lengths at which the row may be cut
		for n := 1; n <= len(lines); n++ {
			_, _, err := BookedTimes(kind, lines[:n])
			hasSpan[n] = err == nil
		}
		cuts := 0
		for _, has := range hasSpan {
			if has {
				cuts++
			}
		}
		if cuts != 4 || !hasSpan[len(lines)] {
			t.Errorf("lines of kind %q have a span when cut at %d places, want 4", kind, cuts)
		}
	}
}

func TestMalformedPageBufferRowIsRefused(t *testing.T) {
	head, lines := pageHeadOf(bufferAccount), pageLines(7)
	otherHead := slices.Clone(head)
	for kind := range 256 {
		otherHead[0] = byte(kind)
		_, err := chunksOf(AppendChunk(nil, otherHead, lines))
		if known := kind == prefixPage || kind == prefixList; known != (err == nil) {
			t.Errorf("a chunk of kind %d: %v", kind, err)
		}
	}
	for name, row := range map[string][]byte{
		"no head":                 AppendChunk(nil, nil, lines),
		"a head without account":  AppendChunk(nil, head[:1], lines),
		"no lines":                AppendChunk(nil, head, nil),
		"an endless length":       bytes.Repeat([]byte{0xff}, 32),
		"a head longer than all":  append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, head...),
		"lines longer than all":   append(append([]byte{byte(len(head))}, head...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"a byte after the chunks": append(AppendChunk(nil, head, lines), 0),
	} {
		if chunks, err := chunksOf(row); err == nil {
			t.Errorf("%s is read as %q", name, chunks)
		}
	}
}

// FuzzPageBufferRow checks that an invalid row causes no panic. The chunks of a valid row must not take more bytes when they are written again.
func FuzzPageBufferRow(f *testing.F) {
	row, _ := bufferRow()
	f.Add(row[:300])
	f.Add(AppendChunk(nil, listHeadOf(5), listLines(3, 9)))
	f.Add(AppendChunk(AppendChunk(nil, pageHeadOf(bufferAccount), pageLines(7, 7, 9)), listHeadOf(1), listLines(1)))
	f.Add([]byte{2, prefixPage, 0, 1, 0})
	f.Add(bytes.Repeat([]byte{0xff}, 12))
	f.Fuzz(func(t *testing.T, row []byte) {
		var rewritten []byte
		err := EachChunk(row, func(head, lines []byte) error {
			rewritten = AppendChunk(rewritten, head, lines)
			first, last, err := BookedTimes(head[0], lines)
			if err == nil && first == 0 && last != 0 {
				t.Errorf("lines from %d to %d", first, last)
			}
			prefix := PagePrefix(nil, bufferOrg, head)
			ParsePagePrefix(prefix)
			ParseListPrefix(prefix)
			return nil
		})
		if err == nil && len(rewritten) > len(row) {
			t.Errorf("%d bytes are %d when they are written again", len(row), len(rewritten))
		}
		ParseBufferKey(row)
	})
}
