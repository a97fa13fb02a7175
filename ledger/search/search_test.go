package search_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
)

// sample is a payment with a value in every field.
func sample() *payment.Record {
	return &payment.Record{
		ID: ledger.ID{1}, RRN: "000012345678", Reference: ledger.ID{0xab},
		Request: payment.Request{TxID: " Order-7 ", CardLast4: "4242", Customer: []byte(`{"name":"A","email":" Ami\u006ea@Shop.example"}`)},
		EndedAttempts: []payment.EndedAttempt{
			{Reference: ledger.ID{1}, Credentials: payment.Credentials{CardLast4: "1111"}},
			{Reference: ledger.ID{2}, Credentials: payment.Credentials{CardLast4: "0002"}},
		},
	}
}

func valuesOf(r *payment.Record) (values []string) {
	search.Values(r, func(f search.Field, folded string) { values = append(values, f.String()+" "+folded) })
	return values
}

// The reference of the first attempt is the id of the transaction, so it is no value of its own.
func TestEachFieldHasItsValues(t *testing.T) {
	want := []string{
		"txid order-7", "rrn 000012345678", "reference ab000000-0000-0000-0000-000000000000", "reference 02000000-0000-0000-0000-000000000000",
		"email amina@shop.example", "last4 4242", "last4 1111", "last4 0002",
	}
	if got := valuesOf(sample()); !slices.Equal(got, want) {
		t.Errorf("the values are %q, want %q", got, want)
	}
	if got := valuesOf(&payment.Record{ID: ledger.ID{1}}); len(got) != 0 {
		t.Errorf("an empty record has the values %q", got)
	}
}

func TestValuesThatCannotBeFoundAreLeftOut(t *testing.T) {
	r := &payment.Record{Request: payment.Request{TxID: strings.Repeat("ä", search.MaxText), CardLast4: "42", Customer: []byte(`{"email":"nobody"}`)}, RRN: strings.Repeat("x", search.MaxText+1)}
	if got, want := valuesOf(r), []string{"txid " + strings.Repeat("ä", search.MaxText)}; !slices.Equal(got, want) {
		t.Errorf("the values are %q", got)
	}
	for _, customer := range []string{`{}`, `{"email":7}`, `{"phone":"a@b"}`} {
		if got := valuesOf(&payment.Record{Request: payment.Request{Customer: []byte(customer)}}); len(got) != 0 {
			t.Errorf("the customer %s has the values %q", customer, got)
		}
	}
}

func TestTextIsLookedForOnlyInFieldsThatMayHaveIt(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " ": "", "7": "txid rrn", "4242": "txid rrn last4", "a@b": "txid rrn email", "AB000000-0000-0000-0000-000000000000": "txid rrn reference",
		strings.Repeat("4", search.MaxText+1): "",
	} {
		var names []string
		for f := range search.FieldsOf(search.Fold(text)) {
			names = append(names, f.String())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q is looked for in %q, want %q", text, got, want)
		}
	}
}

func TestFieldHasEachOfItsValuesAndNoOther(t *testing.T) {
	r := sample()
	for _, c := range []struct {
		field search.Field
		text  string
		want  bool
	}{
		{search.TxID, "ORDER-7", true}, {search.TxID, "order", false}, {search.RRN, "order-7", false}, {search.Last4, "0002", true}, {search.Last4, "0003", false},
		{search.Email, "amina@shop.example", true}, {search.Reference, ledger.ID{1}.String(), false}, {search.Reference, ledger.ID{2}.String(), true},
	} {
		if got := c.field.Has(r, search.Fold(c.text)); got != c.want {
			t.Errorf("%v has %q: %v", c.field, c.text, got)
		}
	}
}

// Stored rows have hashes, so HashOf must never return another hash for a value. The expected hashes were computed with
// sha256sum.
func TestHashesAreThoseOfStoredRows(t *testing.T) {
	for _, c := range []struct {
		field search.Field
		text  string
		want  search.Hash
	}{
		{search.TxID, "order-7", 0x4e86_336a_63d8}, {search.Last4, "4242", 0xb587_5c1d_2c6f}, {search.Email, "amina@shop.example", 0x55ae_7335_ac8b},
	} {
		if got := c.field.HashOf(c.text); got != c.want {
			t.Errorf("the hash of %v %q is %012x, want %012x", c.field, c.text, got, c.want)
		}
	}
	if got := search.Hash(0xffc0_0000_0001).Bucket(); got != 0x3ff {
		t.Errorf("the bucket is %x", got)
	}
}

// randomEntries returns entries of one bucket, with seqs up to last.
func randomEntries(random interface {
	IntN(int) int
	Uint64N(uint64) uint64
}, bucket search.Bucket, last uint64) (entries []search.Entry) {
	hashes := 1 + random.IntN(20)
	for range 1 + random.IntN(300) {
		hash := search.Hash(bucket)<<38 | search.Hash(random.IntN(hashes))<<random.IntN(33)
		entries = append(entries, search.Entry{Hash: hash, Seq: 1 + random.Uint64N(last)})
	}
	return entries
}

func TestRowsGiveTheirEntriesBack(t *testing.T) {
	random := testseed.Random(t)
	for range 200 {
		bucket, last := search.Bucket(random.IntN(search.Buckets)), uint64(1)<<random.IntN(64)
		entries := randomEntries(random, bucket, last)
		want := slices.Clone(entries)
		slices.SortFunc(want, search.Entry.Compare)
		want = slices.Compact(want)
		rows := search.EncodeRows(bucket, last, entries)
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		key, err := search.ParseKey(rows[0].Key.Encode())
		if err != nil || key != rows[0].Key || !search.IsRow(key.Encode()) {
			t.Fatalf("the key %+v is read as %+v: %v", rows[0].Key, key, err)
		}
		if got, err := search.Decode(key, rows[0].Value); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v is read as %v: %v", want, got, err)
		}
		for _, sought := range []search.Hash{want[random.IntN(len(want))].Hash, search.Hash(bucket)<<38 | 0x3f_ffff_ffff, search.Hash(bucket) << 38} {
			var wantSeqs []uint64
			for _, e := range want {
				if e.Hash == sought {
					wantSeqs = append(wantSeqs, e.Seq)
				}
			}
			if got, err := search.Seqs(nil, key, rows[0].Value, sought); err != nil || !slices.Equal(got, wantSeqs) {
				t.Fatalf("hash %x has the seqs %v, want %v: %v", sought, got, wantSeqs, err)
			}
		}
	}
}

// Many entries of a bucket make several rows. Read by descending key, they have the newest entries of each hash first.
func TestManyEntriesMakeSeveralRows(t *testing.T) {
	const n = 2*search.MaxRowEntries + 1
	var entries []search.Entry
	for seq := uint64(1); seq <= n; seq++ {
		entries = append(entries, search.Entry{Hash: 5, Seq: seq})
	}
	rows := search.EncodeRows(0, math.MaxUint64, entries)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	slices.SortFunc(rows, func(a, b search.Row) int { return -slices.Compare(a.Key.Encode(), b.Key.Encode()) })
	var seqs []uint64
	for i, row := range rows {
		var err error
		if seqs, err = search.Seqs(seqs, row.Key, row.Value, 5); err != nil || len(seqs) != min((i+1)*search.MaxRowEntries, n) || len(row.Value) > 32<<10 {
			t.Fatalf("row %d: %d entries so far, %d bytes, %v", i, len(seqs), len(row.Value), err)
		}
	}
	if !slices.IsSortedFunc(seqs, func(a, b uint64) int { return int(b) - int(a) }) {
		t.Error("the seqs do not descend")
	}
}

func TestMalformedRowsAreRefused(t *testing.T) {
	row := search.EncodeRows(3, 100, []search.Entry{{Hash: 3<<38 | 1, Seq: 40}, {Hash: 3<<38 | 1, Seq: 30}, {Hash: 3<<38 | 9, Seq: 100}})[0]
	for length := range len(row.Value) {
		if _, err := search.Decode(row.Key, row.Value[:length]); length != 1+5+1+2 && !errors.Is(err, search.ErrFormat) { // a row of that length is valid: it ends after the seqs of a hash
			t.Errorf("%d of %d bytes: %v", length, len(row.Value), err)
		}
	}
	for name, value := range map[string][]byte{
		"another form": {2, 0xc0, 0, 0, 0, 1, 1, 60}, "another bucket": {1, 0, 0, 0, 0, 1, 1, 60}, "no seq": {1, 0xc0, 0, 0, 0, 1, 0},
		"event 0": {1, 0xc0, 0, 0, 0, 1, 1, 100}, "the same seq twice": {1, 0xc0, 0, 0, 0, 1, 2, 60, 0}, "hashes that descend": {1, 0xc0, 0, 0, 0, 2, 1, 60, 0xc0, 0, 0, 0, 1, 1, 60},
		"the same hash twice": {1, 0xc0, 0, 0, 0, 1, 1, 60, 0xc0, 0, 0, 0, 1, 1, 60},
	} {
		if _, err := search.Decode(row.Key, value); !errors.Is(err, search.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, key := range [][]byte{nil, {'f'}, append(row.Key.Encode(), 0), search.Key{Bucket: search.Buckets, Last: 1}.Encode(), append([]byte{'g'}, row.Key.Encode()[1:]...)} {
		if _, err := search.ParseKey(key); !errors.Is(err, search.ErrFormat) {
			t.Errorf("key %x: %v", key, err)
		}
	}
}

func TestProgressRowGivesItsSeqBack(t *testing.T) {
	for _, seq := range []uint64{0, 1, 300, math.MaxUint64} {
		key, row := search.EncodePosition(seq)
		if got, err := search.DecodePosition(row); err != nil || got != seq || !search.IsRow(key) {
			t.Errorf("%d is read as %d: %v", seq, got, err)
		}
		for _, wrong := range [][]byte{nil, row[:1], append(slices.Clone(row), 1), append([]byte{9}, row[1:]...)} {
			if _, err := search.DecodePosition(wrong); !errors.Is(err, search.ErrFormat) {
				t.Errorf("%x: %v", wrong, err)
			}
		}
	}
}

func BenchmarkValues(b *testing.B) {
	r := sample()
	r.EndedAttempts = nil
	for b.Loop() {
		search.Values(r, func(f search.Field, folded string) { f.HashOf(folded) })
	}
}

// BenchmarkSeqs looks for a hash in a row of the usual size.
func BenchmarkSeqs(b *testing.B) {
	var entries []search.Entry
	for i := range uint64(64) {
		entries = append(entries, search.Entry{Hash: search.Hash(i * 0x3_1234_5678), Seq: 1_000_000 + 1000*i})
	}
	row := search.EncodeRows(0, 1_100_000, entries)[0]
	b.ReportMetric(float64(len(row.Value))/64, "B/entry")
	for b.Loop() {
		_, _ = search.Seqs(nil, row.Key, row.Value, 0x3f_ffff_ffff)
	}
}
