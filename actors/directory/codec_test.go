package directory

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

var aRate = must(money.ParseRate("92.5"))

var keyless = &Service{sealer: NoKeys}

// stored returns a payload of each kind and the function that reads it.
func stored() map[string]struct {
	payload []byte
	read    func([]byte) error
} {
	id := ledger.ID{1}
	type row = struct {
		payload []byte
		read    func([]byte) error
	}
	return map[string]row{
		"organization": {
			encodeOrganization(&directory.Organization{Name: "A", Type: directory.Bank, Status: directory.Active, Regions: []string{"AE"}}),
			func(b []byte) error { _, err := decodeOrganization(id, b); return err },
		},
		"partner": {
			encode(partnerRowOf(&directory.Partner{Number: 1, Name: "A", Login: "a", Overdraft: []directory.Overdraft{
				{Asset: money.Asset{Currency: "USD", Env: money.Prod}, Amount: money.FromUint64(300)},
			}})),
			func(b []byte) error { _, err := keyless.openPartner(id, id, b); return err },
		},
		"terminal": {
			encode(terminalRowOf(&directory.Terminal{Partner: 1, Name: "T", Provider: "simulator", Type: directory.PaymentTerminal, Env: money.Test, ProviderParams: []byte(`{"priority":1}`)})),
			func(b []byte) error { _, err := keyless.openTerminal(id, id, b); return err },
		},
		"key":     {encodeKey(&directory.APIKey{Partner: 1, Name: "k"}), func(b []byte) error { _, err := decodeKey(id, id, b); return err }},
		"session": {encodeSession(&directory.Session{Roles: directory.Roles{directory.Admin, directory.PartnerRole}, Partner: 1, User: id, Epoch: 1, Expires: 5, Idle: time.Minute, Used: 3, Revoked: 4}), func(b []byte) error { _, err := decodeSession(id, id, b); return err }},
		"user": {
			encodeUser(&directory.User{Login: "u", PassHash: "h", Name: "U", Roles: directory.Roles{directory.Auditor}, Active: true, Epoch: 1}),
			func(b []byte) error { _, err := decodeUser(id, id, b); return err },
		},
		"settlement": {
			encodeSettlement(&directory.Settlement{Partner: 1, Terminal: id, Reference: "r", Fee: money.FromUint64(7), Lines: []directory.SettlementLine{
				{Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Test}, Amount: ledger.MaxAmount},
			}}),
			func(b []byte) error { _, err := decodeSettlement(id, id, b); return err },
		},
		"rate": {
			encodeRate(&directory.Rate{From: "USD", To: "RUB", Value: aRate}),
			func(b []byte) error { _, err := decodeRate(id, directory.RateID(id, "USD", "RUB"), b); return err },
		},
		"limit": {
			encodeLimit(&directory.Limit{
				Partner: 1, Terminal: id, Kind: directory.DailyVolume, Type: directory.PayoutTerminal, Scope: directory.ScopeCard, Active: true,
				Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Test}, MaxAmount: ledger.MaxAmount,
			}),
			func(b []byte) error { _, err := decodeLimit(id, id, b); return err },
		},
		"velocity": {
			encodeLimit(&directory.Limit{Partner: 1, Kind: directory.Velocity, Scope: directory.ScopePartner, Asset: money.Asset{Env: money.Prod}, MaxCount: 5, Window: time.Hour}),
			func(b []byte) error { _, err := decodeLimit(id, id, b); return err },
		},
		"block": {
			encodeBlock(&directory.Block{Kind: directory.BlockIP, Value: "192.0.2.0/24", Active: true}),
			func(b []byte) error {
				_, err := decodeBlock(id, directory.BlockID(id, directory.BlockIP, "192.0.2.0/24"), b)
				return err
			},
		},
		"sealed answer": {encodeSealed([]byte("sealed")), func(b []byte) error { _, err := decodeSealed(b); return err }},
		"answer":        {encodeAnswer(&Answer{Status: 201, Body: []byte("{}")}), func(b []byte) error { _, err := decodeAnswer(b); return err }},
		"platform":      {encodePlatform(&directory.Platform{NextPartner: 3, AdminTokens: [][32]byte{{1}}, Sandbox: []directory.Demo{{Org: id, Partner: 1}}}), func(b []byte) error { _, err := decodePlatform(b); return err }},
	}
}

func TestDamagedPayloadsAreErrors(t *testing.T) {
	for kind, row := range stored() {
		if err := row.read(row.payload); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for n := range row.payload {
			if row.read(row.payload[:n]) == nil {
				t.Errorf("%s: the first %d of %d bytes were taken", kind, n, len(row.payload))
			}
			for bit := range 8 {
				flipped := append([]byte{}, row.payload...)
				flipped[n] ^= 1 << bit
				_ = row.read(flipped) // the store's checksum detects damage; decoding must only not panic
			}
		}
		if row.read(append(row.payload[:len(row.payload):len(row.payload)], 0)) == nil {
			t.Errorf("%s: bytes after the record were taken", kind)
		}
		later := append([]byte{codecVersion + 1}, row.payload[1:]...)
		if err := row.read(later); !errors.Is(err, errVersion) {
			t.Errorf("%s: a later version: %v", kind, err)
		}
	}
}

func TestValuesThatCantBeAreErrors(t *testing.T) {
	rows := stored()
	for name, c := range map[string]struct {
		kind string
		row  any
	}{
		"type":             {"organization", organizationRow{Name: "A", Type: "shop", Status: "active"}},
		"status":           {"organization", organizationRow{Name: "A", Type: "bank", Status: "open"}},
		"number":           {"partner", partnerRow{Login: "a"}},
		"source":           {"partner", partnerRow{Number: 1, Login: "a", Sources: []string{"x"}}},
		"asset":            {"partner", partnerRow{Number: 1, Login: "a", Overdraft: []moneyRow{{Asset: []byte{9}}}}},
		"amount":           {"partner", partnerRow{Number: 1, Login: "a", Overdraft: []moneyRow{{Asset: []byte{1, 0, 0}, Amount: []byte{1, 0}}}}},
		"env":              {"terminal", terminalRow{Partner: 1, Type: "payment", Env: "live"}},
		"settings":         {"terminal", terminalRow{Partner: 1, Type: "payment", Env: "prod", ProviderParams: []byte(`{"priority":"x"}`)}},
		"short hash":       {"key", keyRow{Partner: 1, Hash: make([]byte, 31)}},
		"long hash":        {"key", keyRow{Partner: 1, Hash: make([]byte, 33)}},
		"role":             {"session", sessionRow{Hash: make([]byte, 32), Role: "root"}},
		"from":             {"rate", rateRow{From: "JPY", To: "RUB", Rate: "92.5"}},
		"to":               {"rate", rateRow{From: "USD", To: "rub", Rate: "92.5"}},
		"value":            {"rate", rateRow{From: "USD", To: "RUB", Rate: "0"}},
		"another form":     {"rate", rateRow{From: "USD", To: "RUB", Rate: "92.50"}},
		"another pair":     {"rate", rateRow{From: "RUB", To: "USD", Rate: "92.5"}},
		"limit's partner":  {"limit", limitRow{Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"limit's kind":     {"limit", limitRow{Partner: 1, Kind: "weekly", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"limit's type":     {"limit", limitRow{Partner: 1, Kind: "daily_volume", Type: "merchant", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"limit's env":      {"limit", limitRow{Partner: 1, Kind: "daily_volume", Currency: "USD", Env: "live", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"limit's scope":    {"limit", limitRow{Partner: 1, Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}}},
		"limit's currency": {"limit", limitRow{Partner: 1, Kind: "daily_volume", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"limit's amount":   {"limit", limitRow{Partner: 1, Kind: "daily_volume", Currency: "USD", Env: "prod", Scope: "partner"}},
		"limit of nothing": {"limit", limitRow{Partner: 1, Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{0}, Scope: "partner"}},
		"limit's count":    {"limit", limitRow{Partner: 1, Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, MaxCount: 1, Scope: "partner"}},
		"limit's terminal": {"limit", limitRow{Partner: 1, Terminal: []byte{1}, Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"two terminals":    {"limit", limitRow{Partner: 1, Terminal: make([]byte, 32), Kind: "daily_volume", Currency: "USD", Env: "prod", MaxAmount: []byte{1, 1}, Scope: "partner"}},
		"no attempts":      {"velocity", limitRow{Partner: 1, Kind: "velocity", Env: "prod", Window: 60_000_000, Scope: "partner"}},
		"window":           {"velocity", limitRow{Partner: 1, Kind: "velocity", Env: "prod", MaxCount: 5, Window: 61_000_000, Scope: "partner"}},
		"block's kind":     {"block", blockRow{Kind: "name", Value: "192.0.2.0/24"}},
		"another value":    {"block", blockRow{Kind: "ip", Value: "192.0.3.0/24"}},
		"next partner":     {"platform", platformRow{}},
		"token":            {"platform", platformRow{NextPartner: 1, AdminTokens: [][]byte{{1}}}},
		"sandbox":          {"platform", platformRow{NextPartner: 1, Sandbox: []demoRow{{Org: []byte{1}, Partner: 1}}}},
	} {
		if rows[c.kind].read(encode(c.row)) == nil {
			t.Errorf("%s of a %s was taken", name, c.kind)
		}
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	body, err := msgpack.Marshal(map[string]any{
		"name": "A", "type": "bank", "status": "active", "of_a_later_release": map[string]any{"deep": []int{1, 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := decodeOrganization(ledger.ID{1}, append([]byte{codecVersion}, body...))
	if err != nil || o.Name != "A" || o.Type != directory.Bank {
		t.Error(o, err)
	}
}

func TestStartNamesTheRecordThatCantBeRead(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	id := ledger.ID{7}
	source := ledger.Source{Kind: ledger.Partner, ID: id}
	err := h.commit(&posting.Change{Steps: []posting.Step{{
		Org: o.ID, Source: source, Record: []byte{codecVersion, 0xc1}, Events: []ledger.Event{{Source: source, Name: "create", To: "active"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	h.close()
	if err = h.start(); err == nil || !strings.Contains(err.Error(), "p/"+id.String()) {
		t.Errorf("started with a damaged partner: %v", err)
	}
}

// The walker agrees with the library on every form that the library writes.
func TestWellFormed(t *testing.T) {
	var form bytes.Buffer
	long := strings.Repeat("x", 70000)
	values := []any{
		nil, true, false, 1, -1, -33, 200, -200, 70000, -70000, 1 << 40, -1 << 40, uint64(1 << 63), float32(1), 2.5,
		"", "short", long[:40], long[:300], long, []byte(long[:40]), []byte(long[:300]), []byte(long),
		make([]int, 3), make([]int, 20), make([]bool, 70000), map[string]any{"a": []any{map[string]int{"b": 1}}}, manyKeys(20), manyKeys(70000), time.Unix(1, 1),
	}
	encoder := msgpack.NewEncoder(&form)
	for i, value := range values {
		form.Reset()
		if err := encoder.Encode(map[string]any{"x": value}); err != nil {
			t.Fatal(err)
		}
		b := form.Bytes()
		if !packed.WellFormed(b) {
			t.Errorf("value %d (%T) is refused", i, value)
		}
		if packed.WellFormed(b[:len(b)-1]) || packed.WellFormed(append(b[:len(b):len(b)], 0)) {
			t.Errorf("value %d (%T): a byte less or more is taken", i, value)
		}
	}
	for name, b := range map[string]string{
		"nothing":            "",
		"no map":             "\x93\x01\x02\x03",
		"a list of billions": "\x81\xa1x\xdd\xff\xff\xff\xff",
		"a map of billions":  "\xdf\xff\xff\xff\xff",
		"text of billions":   "\x81\xa1x\xdb\xff\xff\xff\xff",
		"the unused code":    "\x81\xa1x\xc1",
		"a cut length":       "\x81\xa1x\xdd\xff",
	} {
		if packed.WellFormed([]byte(b)) {
			t.Errorf("%s is taken", name)
		}
	}
}

func manyKeys(n int) map[string]int {
	keys := make(map[string]int, n)
	for i := range n {
		keys[fmt.Sprint(i)] = i
	}
	return keys
}

func FuzzDecode(f *testing.F) {
	rows := stored()
	for _, row := range rows {
		f.Add(row.payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, row := range rows {
			_ = row.read(payload)
		}
	})
}
