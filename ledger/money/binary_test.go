package money

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

func TestBinaryForm(t *testing.T) {
	for _, c := range []struct{ amount, want string }{
		{"0", "00"},
		{"1", "0101"},
		{"255", "01ff"},
		{"256", "020100"},
		{max64, "08ffffffffffffffff"},
		{twoTo64, "09010000000000000000"},
		{max256, "20" + strings.Repeat("ff", 32)},
	} {
		if got := hex.EncodeToString(MustParse(c.amount).AppendBinary(nil)); got != c.want {
			t.Errorf("AppendBinary(%s) = %s, want %s", c.amount, got, c.want)
		}
	}
}

func TestReadAmountRefusesOtherForms(t *testing.T) {
	for _, in := range []string{
		"",                               // no bytes
		"01", "02ff", "08ffffffffffffff", // bytes missing
		"0100", "020001", "0900ffffffffffffffff", // a leading zero byte
		"21" + strings.Repeat("ff", 33), // longer than an amount
		"ff" + strings.Repeat("ff", 255),
	} {
		src, _ := hex.DecodeString(in)
		if a, tail, err := ReadAmount(src); err != ErrEncoding || tail != nil || !a.IsZero() {
			t.Errorf("ReadAmount(%s) = %v, %x, %v", in, a, tail, err)
		}
		amount := FromUint64(7)
		if err := amount.UnmarshalBinary(src); err != ErrEncoding || amount != FromUint64(7) {
			t.Errorf("UnmarshalBinary(%s) = %v, %v", in, amount, err)
		}
	}
	if err := new(Amount).UnmarshalBinary([]byte{1, 5, 0}); err != ErrEncoding {
		t.Errorf("a byte after the amount: %v", err)
	}
}

func TestBinaryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAmount().Draw(t, "a")
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		prefix := []byte("head")
		out := a.AppendBinary(prefix)
		want := toBig(a).Bytes()
		if !bytes.Equal(out[4:], append([]byte{byte(len(want))}, want...)) {
			t.Fatalf("AppendBinary(%v) = %x", a, out[4:])
		}
		parsed, gotTail, err := ReadAmount(append(out[4:len(out):len(out)], tail...))
		if err != nil || parsed != a || !bytes.Equal(gotTail, tail) {
			t.Fatalf("ReadAmount = %v, %x, %v", parsed, gotTail, err)
		}
		for end := 4; end < len(out); end++ {
			if _, _, err := ReadAmount(out[4:end]); err != ErrEncoding {
				t.Fatalf("ReadAmount took %d of %d bytes", end-4, len(out)-4)
			}
		}
	})
}

// An amount that was read from bytes is written as the same bytes.
func TestBinaryFormIsUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		if len(src) > 0 && rapid.Bool().Draw(t, "fitting length") {
			src[0] = byte(min(len(src)-1, maxBytes))
		}
		a, tail, err := ReadAmount(src)
		if err != nil {
			return
		}
		if rewritten := append(a.AppendBinary(nil), tail...); !bytes.Equal(rewritten, src) {
			t.Fatalf("%x is read as %v, which is written %x", src, a, rewritten)
		}
	})
}

func TestBinaryDoesNotAllocate(t *testing.T) {
	small, large := MustParse(max64), Max
	smallForm, largeForm := small.AppendBinary(nil), large.AppendBinary(nil)
	buf := make([]byte, 0, 64)
	wantNoAllocation(t, "AppendBinary", func() { sinkBytes = small.AppendBinary(buf) })
	wantNoAllocation(t, "AppendBinary of a large amount", func() { sinkBytes = large.AppendBinary(buf) })
	wantNoAllocation(t, "ReadAmount", func() { sinkAmount, sinkBytes, sinkErr = ReadAmount(smallForm) })
	wantNoAllocation(t, "ReadAmount of a large amount", func() { sinkAmount, sinkBytes, sinkErr = ReadAmount(largeForm) })
}

// storedStruct has a field of every type of this package, as a record has.
type storedStruct struct {
	Amount  Amount
	List    []Amount
	ByName  map[string]Amount
	Pointer *Amount
	Share   Signed
	Rate    Rate
	NoRate  Rate
	Fee     BasisPoints
	Asset   Asset
	NoAsset Asset
}

func TestMsgpackTakesStructsByValue(t *testing.T) {
	rate, err := ParseRate("92.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range edgeAmounts {
		a := MustParse(s)
		in := storedStruct{
			Amount: a, List: []Amount{{}, a, Max}, ByName: map[string]Amount{"a": a}, Pointer: &a,
			Share: Difference(Amount{}, a), Rate: rate, Fee: 250, Asset: Asset{"USDT", "tron", Test},
		}
		out, err := msgpack.Marshal(in) // a struct by value, whose fields are not addressable
		if err != nil {
			t.Fatalf("Marshal with %s: %v", s, err)
		}
		var parsed storedStruct
		if err := msgpack.Unmarshal(out, &parsed); err != nil {
			t.Fatalf("Unmarshal with %s: %v", s, err)
		}
		if parsed.Amount != a || len(parsed.List) != 3 || parsed.List[0] != (Amount{}) || parsed.List[1] != a || parsed.List[2] != Max ||
			parsed.ByName["a"] != a || parsed.Pointer == nil || *parsed.Pointer != a {
			t.Errorf("amounts of %s came back as %+v", s, parsed)
		}
		if parsed.Share != in.Share || parsed.Rate != rate || parsed.NoRate != (Rate{}) || parsed.Fee != 250 ||
			parsed.Asset != in.Asset || parsed.NoAsset != (Asset{}) {
			t.Errorf("with %s: %+v", s, parsed)
		}
	}
}

func TestMsgpackRefusesDamagedBytes(t *testing.T) {
	out, err := msgpack.Marshal(FromUint64(300))
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(out, []byte{2, 1, 44}, []byte{2, 0, 44}, 1)
	if bytes.Equal(out, damaged) {
		t.Fatalf("the form %x doesn't hold the amount", out)
	}
	var a Amount
	if err := msgpack.Unmarshal(damaged, &a); err == nil {
		t.Errorf("a non-minimal amount was read as %v", a)
	}
}
