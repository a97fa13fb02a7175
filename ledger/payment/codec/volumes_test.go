package codec_test

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

// recordWithVolumes returns a record that counts towards three volumes: of a day, of a card's month, and of a window
// that is neither a day nor a month.
func recordWithVolumes() *payment.Record {
	return &payment.Record{ID: ledger.ID{1}, Volumes: []payment.Volume{
		{Limit: ledger.ID{2}, Window: "2026-11-21"},
		{Limit: ledger.ID{3}, Window: "2026-11", Subject: "f00d"},
		{Limit: ledger.ID{4}, Window: "whenever"},
	}}
}

const (
	// The payload begins with the head of a map of two pairs, and the first pair: the record's id.
	payloadBeginning = "02de0002" + "00c410" + "01000000000000000000000000000000"

	// Each volume has a head after its limit's id (coder.volumes): 4*3*20778 for the day, 4*(3*682+1)+1 for the card's month,
	// and 2 for the window that follows as a text.
	volumesPayload = payloadBeginning + "31c444" +
		"02000000000000000000000000000000" + "f89b0f" +
		"03000000000000000000000000000000" + "fd3f" + "0466303064" +
		"04000000000000000000000000000000" + "02" + "087768656e65766572"
)

func TestVolumesAreRead(t *testing.T) {
	payload, err := hex.DecodeString(volumesPayload)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := paymentcodec.Decode(payload); err != nil || !reflect.DeepEqual(got, recordWithVolumes()) {
		t.Errorf("read\n%+v (%v), want\n%+v", got, err, recordWithVolumes())
	}
}

func TestVolumesAreWritten(t *testing.T) {
	if got := hex.EncodeToString(paymentcodec.Encode(recordWithVolumes())); got != volumesPayload {
		t.Errorf("written as\n%s, want\n%s", got, volumesPayload)
	}
}

// Volume.BuildKeys computes the keys of the volume's counters. They are only in memory.
func TestCounterKeysOfVolumesAreNotStored(t *testing.T) {
	withKeys := recordWithVolumes()
	for i := range withKeys.Volumes {
		withKeys.Volumes[i].BuildKeys()
	}
	if got := hex.EncodeToString(paymentcodec.Encode(withKeys)); got != volumesPayload {
		t.Errorf("written as\n%s, want\n%s", got, volumesPayload)
	}
}

func TestDamagedVolumesAreAnError(t *testing.T) {
	limit := strings.Repeat("02", 16)
	decode := func(volumes string) (*payment.Record, error) {
		payload, err := hex.DecodeString(payloadBeginning + "31c4" + hex.EncodeToString([]byte{byte(len(volumes) / 2)}) + volumes)
		if err != nil {
			t.Fatal(err)
		}
		return paymentcodec.Decode(payload)
	}
	if _, err := decode(limit + "f89b0f"); err != nil {
		t.Fatalf("a volume without damage: %v", err)
	}
	for name, volumes := range map[string]string{
		"half an id":                  limit[:16],
		"no head":                     limit,
		"half a head":                 limit + "f89b",
		"a head of eleven bytes":      limit + "ffffffffffffffffffff01",
		"a day after the year 9999":   limit + "8c8fe410",
		"a month after the year 9999": limit + "e4c946",
		"a year after the year 9999":  limit + "f0f005",
		"no subject":                  limit + "f99b0f",
		"half a subject":              limit + "f99b0f" + "0466",
		"no window":                   limit + "02",
		"half a window":               limit + "02" + "0432",
		"a byte after the volume":     limit + "f89b0f" + "00",
	} {
		if r, err := decode(volumes); err == nil {
			t.Errorf("%s: read as %+v", name, r.Volumes)
		}
	}
}
