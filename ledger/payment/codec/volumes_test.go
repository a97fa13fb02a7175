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

// recordWithVolumes returns a record that counts towards a day, a card's month, and a window that is
// neither a day nor a month.
func recordWithVolumes() *payment.Record {
	return &payment.Record{ID: ledger.ID{1}, Volumes: []payment.Volume{
		{Limit: ledger.ID{2}, Window: "2026-11-21"},
		{Limit: ledger.ID{3}, Window: "2026-11", Subject: "f00d"},
		{Limit: ledger.ID{4}, Window: "whenever"},
	}}
}

const (
	// The beginning: a map of two pairs, of which the first is the record's id.
	volumesHead = "02de0002" + "00c410" + "01000000000000000000000000000000"

	// The heads of the volumes are 4*3*20778 and 4*(3*682+1)+1 for windows with a number, and 2 for the one that follows as a text.
	volumesForm = volumesHead + "31c444" +
		"02000000000000000000000000000000" + "f89b0f" +
		"03000000000000000000000000000000" + "fd3f" + "0466303064" +
		"04000000000000000000000000000000" + "02" + "087768656e65766572"
)

func TestVolumesAreRead(t *testing.T) {
	payload, err := hex.DecodeString(volumesForm)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := paymentcodec.Decode(payload); err != nil || !reflect.DeepEqual(got, recordWithVolumes()) {
		t.Errorf("read\n%+v (%v), want\n%+v", got, err, recordWithVolumes())
	}
}

func TestVolumesRoundTrip(t *testing.T) {
	if got := hex.EncodeToString(paymentcodec.Encode(recordWithVolumes())); got != volumesForm {
		t.Errorf("written as\n%s, want\n%s", got, volumesForm)
	}
}

// The keys of a volume's counters, which are in memory, are not stored.
func TestCounterKeysOfVolumesAreNotStored(t *testing.T) {
	withKeys := recordWithVolumes()
	for i := range withKeys.Volumes {
		withKeys.Volumes[i].Name()
	}
	if got := hex.EncodeToString(paymentcodec.Encode(withKeys)); got != volumesForm {
		t.Errorf("written as\n%s, want\n%s", got, volumesForm)
	}
}

func TestDamagedVolumesAreAnError(t *testing.T) {
	limit := strings.Repeat("02", 16)
	decode := func(volumes string) (*payment.Record, error) {
		payload, err := hex.DecodeString(volumesHead + "31c4" + hex.EncodeToString([]byte{byte(len(volumes) / 2)}) + volumes)
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
