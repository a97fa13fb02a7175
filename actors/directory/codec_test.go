package directory

import (
	"errors"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

var testRate = must(money.ParseRate("92.5"))

var keylessService = &Service{sealer: NoKeys}

// storedRow is a payload and the function that reads it.
type storedRow struct {
	payload []byte
	decode  func([]byte) error
}

// storedRowOf returns the stored row of a record, without sealed secrets.
func storedRowOf[R any](k recordKind[R], r *R) storedRow {
	id := ledger.ID{1}
	return storedRow{must(k.columns.AppendStored(nil, r, nil)), func(b []byte) error { _, err := readAt(keylessService, k, id, id, b); return err }}
}

// storedRows returns examples of stored payloads: records that are read through their kind (records.go), and an
// answer and an organization, which are read directly.
func storedRows() map[string]storedRow {
	return map[string]storedRow{
		"terminal": storedRowOf(terminals, &directory.Terminal{
			Partner: 1, Name: "T", Provider: "simulator", Type: directory.PaymentTerminal, Env: money.Test, ProviderParams: []byte(`{"priority":1}`),
		}),
		"partner": storedRowOf(partners, &directory.Partner{Number: 1, Name: "A", Login: "a"}),
		"key":     storedRowOf(keys, &directory.APIKey{Partner: 1, Name: "k", Prefix: "mzk_", Hash: [32]byte{1}}),
		"answer": {must(replyType.AppendStored(nil, &CachedReply{Status: 201, Body: []byte("{}")}, nil)), func(b []byte) error {
			return replyType.ReadStored(b, new(CachedReply), nil)
		}},
		"organization": {
			must(directory.Organizations.AppendStored(nil, &directory.Organization{Name: "A", Type: directory.Bank, Status: directory.Active}, nil)),
			func(b []byte) error { return directory.Organizations.ReadStored(b, new(directory.Organization), nil) },
		},
	}
}

func TestDamagedPayloadsAreErrors(t *testing.T) {
	for kind, row := range storedRows() {
		if err := row.decode(row.payload); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		later := append([]byte{row.payload[0] + 1}, row.payload[1:]...)
		if err := row.decode(later); !errors.Is(err, schema.ErrStored) {
			t.Errorf("%s: a later version: %v", kind, err)
		}
		if row.decode(append(row.payload[:len(row.payload):len(row.payload)], 0)) == nil {
			t.Errorf("%s: bytes after the record were accepted", kind)
		}
	}
}

func TestInvalidStoredValuesAreErrors(t *testing.T) {
	invalid := storedRowOf(terminals, &directory.Terminal{
		Partner: 1, Name: "T", Type: directory.PaymentTerminal, Env: money.Prod, ProviderParams: []byte(`{"priority":"x"}`),
	})
	if err := invalid.decode(invalid.payload); err == nil {
		t.Error("malformed settings were accepted")
	}
	for _, status := range []int{1, 199, 300, 409} { // only replies to successful writes are stored
		payload := must(replyType.AppendStored(nil, &CachedReply{Status: status}, nil))
		if err := replyType.ReadStored(payload, new(CachedReply), nil); !errors.Is(err, schema.ErrStored) {
			t.Errorf("an answer of status %d was accepted", status)
		}
	}
}

func TestStartNamesTheRecordThatCantBeRead(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	id := ledger.ID{7}
	source := ledger.Source{Kind: ledger.Partner, ID: id}
	err := f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: o.ID, Source: source, Record: []byte{2, 0xc1}, Events: []ledger.Event{{Source: source, Name: "create", To: "active"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err = f.start(); err == nil || !strings.Contains(err.Error(), "p/"+id.String()) {
		t.Errorf("started with a damaged partner: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	rows := storedRows()
	for _, row := range rows {
		f.Add(row.payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, row := range rows {
			_ = row.decode(payload)
		}
	})
}
