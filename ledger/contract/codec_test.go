package contract

import (
	"bytes"
	"testing"
)

// A record that a later build has stored may have columns that this build does not know. Such columns are left
// out, and all other columns keep their values.
func TestColumnsThatABuildDoesNotKnowAreLeftOut(t *testing.T) {
	fixture := activePartnership(t)
	fixture.do(Loss, "amount", `"10"`)
	stored := AppendRecord(nil, fixture.record)
	unknown := byte(255)
	for Partnership.Columns.ByKey(unknown) != nil {
		unknown--
	}
	reread, err := ReadRecord(fixture.record.ID, append(bytes.Clone(stored), unknown, 3, 'n', 'e', 'w'))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(AppendRecord(nil, reread), stored) {
		t.Error("the record that was read back is different")
	}
}

// Bytes that are not the stored form of a record are refused with an error.
func TestMalformedRecordIsRefused(t *testing.T) {
	fixture := activePartnership(t)
	stored := AppendRecord(nil, fixture.record)
	for name, spoil := range map[string]func([]byte) []byte{
		"nothing":                          func([]byte) []byte { return nil },
		"another version":                  func(b []byte) []byte { b[0]++; return b },
		"no product":                       func(b []byte) []byte { b[1] = '?'; return b },
		"no reading":                       func(b []byte) []byte { b[2] = '?'; return b },
		"a reading that the product lacks": func(b []byte) []byte { b[1], b[2] = Deposit.Code, Religious.Code; return b },
		"no environment":                   func(b []byte) []byte { b[3] = 0; return b },
		"a state that the product lacks":   func(b []byte) []byte { b[5]++; return b },
		"cut in a state":                   func(b []byte) []byte { return b[:6] },
		"cut in a column":                  func(b []byte) []byte { return b[:len(b)-1] },
		"a key without a value":            func(b []byte) []byte { return append(b, 1) },
		"a value too long":                 func(b []byte) []byte { return append(b, 1, 200) },
	} {
		if r, err := ReadRecord(fixture.record.ID, spoil(bytes.Clone(stored))); err == nil || r != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
