package money

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseEnv(t *testing.T) {
	for in, want := range map[string]Env{
		"prod": Prod, "test": Test,
		"": 0, "Prod": 0, "TEST": 0, "production": 0, " test": 0, "invalid": 0,
	} {
		got, ok := ParseEnv(in)
		if got != want || ok != (want != 0) || got.IsValid() != ok {
			t.Errorf("ParseEnv(%q) = %v, %v", in, got, ok)
		}
		if ok && got.String() != in {
			t.Errorf("String = %q, want %q", got, in)
		}
	}
	if Env(0).String() != "invalid" || Env(3).String() != "invalid" || Env(3).IsValid() {
		t.Error("an invalid env has a name")
	}
}

func TestEnvInJSON(t *testing.T) {
	for e, want := range map[Env]string{Prod: `"prod"`, Test: `"test"`} {
		out, err := json.Marshal(e)
		if err != nil || string(out) != want {
			t.Errorf("Marshal = %s, %v, want %s", out, err, want)
		}
		var parsed Env
		if err := json.Unmarshal(out, &parsed); err != nil || parsed != e {
			t.Errorf("Unmarshal(%s) = %v, %v", out, parsed, err)
		}
	}
	if out, err := json.Marshal(Env(0)); err == nil {
		t.Errorf("a missing env was written as %s", out)
	}
	for _, in := range []string{`1`, `null`, `""`, `"PROD"`, `"invalid"`} {
		e := Test
		if err := json.Unmarshal([]byte(in), &e); err == nil || e != Test {
			t.Errorf("Unmarshal(%s) = %v, %v", in, e, err)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	for in, want := range map[string]bool{
		"tron": true, "ethereum": true, "bsc": true, "x-2_y": true, strings.Repeat("a", MaxName): true,
		"": false, "Tron": false, "tr on": false, "a/b": false, "a:b": false, "a\x00": false, "трон": false,
		strings.Repeat("a", MaxName+1): false,
	} {
		got, ok := ParseNetwork(in)
		if ok != want || (ok && string(got) != in) || (!ok && got != "") {
			t.Errorf("ParseNetwork(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestAssetString(t *testing.T) {
	for want, a := range map[string]Asset{
		"prod/USDT/tron": {"USDT", "tron", Prod},
		"prod/USD/":      {"USD", "", Prod},
		"test/ETH/":      {"ETH", "", Test},
	} {
		if a.String() != want {
			t.Errorf("String = %s, want %s", a, want)
		}
	}
}

// drawAsset draws assets whose names contain slashes and escape sequences. If String could give two assets the same string,
// such assets would probably show it.
func drawAsset() *rapid.Generator[Asset] {
	return rapid.Custom(func(t *rapid.T) Asset {
		return Asset{
			Currency: Currency(rapid.StringMatching(`[A/%2F5]{1,5}`).Draw(t, "currency")),
			Network:  Network(rapid.StringMatching(`[A/%2F5]{0,5}`).Draw(t, "network")),
			Env:      rapid.SampledFrom([]Env{Prod, Test}).Draw(t, "env"),
		}
	})
}

func TestAssetStringIsInjective(t *testing.T) {
	seen := make(map[string]Asset)
	rapid.Check(t, func(t *rapid.T) {
		a := drawAsset().Draw(t, "asset")
		if other, ok := seen[a.String()]; ok && other != a {
			t.Fatalf("%+v and %+v are both %s", a, other, a)
		}
		seen[a.String()] = a
	})
	// Without escaping, the two assets of each pair would have the same string.
	if a, b := (Asset{"A/B", "C", Prod}), (Asset{"A", "B/C", Prod}); a.String() == b.String() {
		t.Errorf("%+v and %+v are both %s", a, b, a)
	}
	if a, b := (Asset{"A/", "", Prod}), (Asset{"A%2F", "", Prod}); a.String() == b.String() {
		t.Errorf("%+v and %+v are both %s", a, b, a)
	}
}

func TestAssetBinaryForm(t *testing.T) {
	got := hex.EncodeToString(Asset{"USDT", "tron", Test}.AppendBinary(nil))
	if want := "02" + "04" + hex.EncodeToString([]byte("USDT")) + "04" + hex.EncodeToString([]byte("tron")); got != want {
		t.Errorf("AppendBinary = %s, want %s", got, want)
	}
}

func TestAssetBinaryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAsset().Draw(t, "asset")
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		form := a.AppendBinary([]byte("head"))[4:]
		parsed, gotTail, err := ReadAsset(append(bytes.Clone(form), tail...))
		if err != nil || parsed != a || !bytes.Equal(gotTail, tail) {
			t.Fatalf("ReadAsset = %+v, %x, %v", parsed, gotTail, err)
		}
		for length := range form {
			if _, _, err := ReadAsset(form[:length]); err != ErrAsset {
				t.Fatalf("ReadAsset took %d of %d bytes", length, len(form))
			}
		}
	})
}

func TestReadAssetRefusesOtherForms(t *testing.T) {
	longName := strings.Repeat("A", MaxName+1)
	for name, src := range map[string]string{
		"no env":        "\x00\x03USD\x00",
		"unknown env":   "\x03\x03USD\x00",
		"no currency":   "\x01\x00\x04tron",
		"long currency": "\x01\x21" + longName + "\x00",
		"long network":  "\x01\x03USD\x21" + longName,
	} {
		if a, tail, err := ReadAsset([]byte(src)); err != ErrAsset || a != (Asset{}) || tail != nil {
			t.Errorf("%s: %+v, %x, %v", name, a, tail, err)
		}
	}
}

func TestAssetThatCanNotBeStoredPanics(t *testing.T) {
	longName := strings.Repeat("A", MaxName+1)
	for _, a := range []Asset{
		{}, {"USD", "", 0}, {"USD", "", 3}, {"", "tron", Prod}, {Currency(longName), "", Prod}, {"USD", Network(longName), Prod},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was written", a)
				}
			}()
			a.AppendBinary(nil)
		}()
	}
}

func TestReadAssetKeepsNothingOfItsInput(t *testing.T) {
	for _, a := range []Asset{{"USDT", "tron", Prod}, {"XTS", "nowhere", Test}} {
		src := a.AppendBinary(nil)
		parsed, _, err := ReadAsset(src)
		clear(src)
		if err != nil || parsed != a {
			t.Errorf("after its input was cleared: %+v, %v", parsed, err)
		}
	}
}

func TestKnownAssetsAreReadWithoutAllocation(t *testing.T) {
	src := Asset{"USDT", "tron", Prod}.AppendBinary(nil)
	buf := make([]byte, 0, 64)
	var a Asset
	wantNoAllocation(t, "ReadAsset", func() { a, sinkBytes, sinkErr = ReadAsset(src) })
	wantNoAllocation(t, "AppendBinary", func() { sinkBytes = a.AppendBinary(buf) })
	wantNoAllocation(t, "Scale", func() { _, _ = a.Scale() })
}
