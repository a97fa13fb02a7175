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
		lines = EncodeListed(lines, Listed{Booked: at, IsCreation: n%2 == 0, ID: bufferOrg})
	}
	return lines
}

func pageHeadOf(a ledger.Account) []byte { return PageHead(nil, KeyPages(nil, bufferOrg, a)) }

func listHeadOf(partner int64) []byte {
	return PageHead(nil, KeyLists(nil, bufferOrg, ledger.NewList(ledger.Transaction, 1, byte(partner))))
}

// chunk is a chunk (a page's head and lines) of a page-buffer row in the form that tests compare.
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
	var found []string
	err := FindChunks(row, pageHeadOf(bufferAccount), func(lines []byte) { found = append(found, string(lines)) })
	if err != nil || !slices.Equal(found, []string{want[0].lines, want[2].lines}) {
		t.Errorf("the account's chunks are %q (%v)", found, err)
	}
	if err := FindChunks(row, listHeadOf(6), func(lines []byte) { t.Errorf("another list has %q", lines) }); err != nil {
		t.Error(err)
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
	for _, prefix := range [][]byte{KeyPages(nil, bufferOrg, bufferAccount), KeyLists(nil, bufferOrg, ledger.NewList(ledger.Transaction, 2, 7)), KeyPages(nil, bufferOrg, ledger.Account{})} {
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
		for _, shard := range Shards() {
			for _, group := range []uint64{0, 1, 255, 256, math.MaxUint64} {
				for _, n := range []uint16{0, 1, math.MaxUint16} {
					k := BufferKey{Org: org, Shard: shard, Group: group, Part: n}
					key := KeyBufferRow(nil, k)
					if got, ok := ParseBufferKey(key); !ok || got != k {
						t.Errorf("%+v is read as %+v, %v", k, got, ok)
					}
					for _, prefix := range [][]byte{KeyAllBuffers(), KeyBuffer(nil, org), KeyBufferShard(nil, org, shard)} {
						if !bytes.HasPrefix(key, prefix) {
							t.Errorf("%x does not begin with %x", key, prefix)
						}
					}
					keys = append(keys, key)
				}
			}
		}
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Error("keys are not in the order of organization, shard, group and part")
	}
}

func TestMalformedPageBufferKeysAreRefused(t *testing.T) {
	key := KeyBufferRow(nil, BufferKey{Org: bufferOrg, Shard: 3, Group: 9})
	for n := range key {
		if _, ok := ParseBufferKey(key[:n]); ok {
			t.Errorf("%d bytes of a key are taken for one", n)
		}
	}
	if _, ok := ParseBufferKey(append(key, 0)); ok {
		t.Error("a key with a byte too many is taken for one")
	}
	for shard := range 256 {
		key[17] = byte(shard)
		if _, ok := ParseBufferKey(key); ok != (shard < 16 || shard == int(Unsharded)) {
			t.Errorf("shard %d: %v", shard, ok)
		}
	}
	key[17], key[0] = 3, prefixList
	if _, ok := ParseBufferKey(key); ok {
		t.Error("a list's key is taken for a page buffer's")
	}
}

func TestShardOfAHeadNeverChanges(t *testing.T) {
	shards := Shards()
	if len(shards) != shardCount+1 || !slices.Contains(shards, Unsharded) {
		t.Errorf("the shards are %v", shards)
	}
	counts := map[byte]int{}
	for n := range 1_600 {
		head := pageHeadOf(ledger.Account{Path: ledger.PartnerAvailable(int64(n)), Asset: bufferAccount.Asset})
		shard := Shard(head)
		if shard != Shard(bytes.Clone(head)) || !slices.Contains(shards, shard) || shard == Unsharded {
			t.Fatalf("shard %d", shard)
		}
		counts[shard]++
	}
	for shard, n := range counts {
		if n < 50 || n > 200 {
			t.Errorf("shard %d has %d of 1,600 pages", shard, n)
		}
	}
	// Stored rows must be found again: the shards are the same in all releases.
	if got := Shard(pageHeadOf(bufferAccount)); got != 6 {
		t.Errorf("shard %d of the account that is in shard 6", got)
	}
	if got := Shard(listHeadOf(5)); got != 0 {
		t.Errorf("shard %d of the list that is in shard 0", got)
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
		if first, last, err := Span(c.kind, c.lines); first != c.first || last != c.last || err != nil {
			t.Errorf("%s: from %d to %d (%v), want %d and %d", name, first, last, err, c.first, c.last)
		}
	}
	for _, kind := range []byte{0, prefixBlock, prefixBuffer, 0xff} {
		if _, _, err := Span(kind, pageLines(1)); err == nil {
			t.Errorf("pages of kind %q have a span", kind)
		}
	}
}

// A truncated row or chunk is detected, except when it is cut between two chunks or lines.
func TestTruncatedPageBufferRowIsRefused(t *testing.T) {
	row, want := bufferRow()
	chunksUpTo := map[int]int{0: 0} // number of whole chunks in the first bytes of the row, by the number of bytes
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
		hasSpan := map[int]bool{0: true} // by the number of bytes
		for n := 1; n <= len(lines); n++ {
			_, _, err := Span(kind, lines[:n])
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
		if err := FindChunks(row, head, func([]byte) {}); err == nil {
			t.Errorf("%s is searched", name)
		}
	}
}

// FuzzPageBufferRow checks that an invalid row causes no panic. The chunks of a valid row must be found by their
// heads, and must not take more bytes when they are written again.
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
			first, last, err := Span(head[0], lines)
			if err == nil && first == 0 && last != 0 {
				t.Errorf("lines from %d to %d", first, last)
			}
			prefix := PagePrefix(nil, bufferOrg, head)
			ParsePagePrefix(prefix)
			ParseListPrefix(prefix)
			found := false
			err = FindChunks(row, head, func(foundLines []byte) { found = found || bytes.Equal(foundLines, lines) })
			if !found && err == nil {
				t.Errorf("a chunk of %x is not found", head)
			}
			return nil
		})
		if err == nil && len(rewritten) > len(row) {
			t.Errorf("%d bytes are %d when they are written again", len(row), len(rewritten))
		}
		ParseBufferKey(row)
	})
}
