package directory

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// invertingSealer is a fake schema.Sealer that encrypts a text by inverting all its bits. A locked vault cannot decrypt.
type invertingSealer struct{ locked bool }

func (vault invertingSealer) Seal(_ *schema.Column, plaintext []byte) ([]byte, error) {
	return invert(plaintext), nil
}

func (vault invertingSealer) Open(_ *schema.Column, sealed []byte) ([]byte, bool) {
	return invert(sealed), !vault.locked
}

func invert(text []byte) []byte {
	out := make([]byte, len(text))
	for i := range text {
		out[i] = ^text[i]
	}
	return out
}

// storedRecord is a record of some type, and its stored form.
type storedRecord struct {
	requiredColumns []string // the stored form is refused if one of these columns is missing
	wantJSON        string   // the expected JSON in responses
	gotJSON         string   // the actual JSON in responses
	stored          []byte
	readBack        func() error // reads the stored form and compares the record with the original
	read            func(stored []byte) error
}

// storeRecord makes the stored form of a record. clearEnvelope clears the fields that the stored form does not have, because
// the store keeps them beside the record.
func storeRecord[R any](t *testing.T, columns *schema.Type[R], org, id ledger.ID, r R, clearEnvelope func(*R), wantJSON string, requiredColumns ...string) storedRecord {
	t.Helper()
	stored, err := columns.AppendStored(nil, &r, invertingSealer{})
	if err != nil {
		t.Fatal(err)
	}
	gotJSON := string(columns.AppendFields([]byte("{"), &r, schema.Style{})) + "}"
	clearEnvelope(&r)
	return storedRecord{
		requiredColumns: requiredColumns, wantJSON: wantJSON, gotJSON: gotJSON, stored: stored,
		readBack: func() error {
			read, err := readRecord(columns, org, id, stored, invertingSealer{})
			if err == nil && !reflect.DeepEqual(*read, r) {
				return errors.New("it is another one")
			}
			return err
		},
		read: func(stored []byte) error {
			_, err := readRecord(columns, org, id, stored, invertingSealer{})
			return err
		},
	}
}

// eachRecord returns records of all types, at least one of each. The keys are names for the records.
func eachRecord(t *testing.T) map[string]storedRecord {
	t.Helper()
	org, id, other := testID(2), testID(1), testID(9)
	const created, updated = 5, 7 // microseconds
	const createdAt, updatedAt = `"1970-01-01T00:00:00.000005+00:00"`, `"1970-01-01T00:00:00.000007+00:00"`
	const idText, otherText = `"00000000-0000-0000-0000-000000000001"`, `"00000000-0000-0000-0000-000000000009"`
	tether := money.Asset{Currency: "USDT", Network: "tron", Env: money.Test}
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	rate, address := RateID(org, "USD", "RUB"), BlockID(org, BlockIP, "192.0.2.0/24")
	card := strings.Repeat("0a", CardFingerprintLength/2)
	return map[string]storedRecord{
		"partner": storeRecord(t, Partners, org, id, Partner{
			ID: id, Org: org, Number: 7, Name: "Shop", Login: "shop", PassHash: "$argon2id$x", Email: "a@shop.example", Lang: "ru",
			NotifyURL: "https://shop.example/", Secret: "s", Active: true, CreatedAt: created, Epoch: 3,
			Sources:   []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")},
			Overdraft: []Overdraft{{tether, ledger.MaxAmount}, {usd, money.Amount{}}},
			Branding:  Branding{DisplayName: "The shop", Logo: "https://pay.example/images/a.png", Color: "#0a6b3d", SupportEmail: "h@shop.example", TermsURL: "https://shop.example/t"},
		}, func(p *Partner) { p.CreatedAt = 0 },
			`{"id":7,"name":"Shop","login":"shop","created_at":`+createdAt+`,"active":true,"email":"a@shop.example","lang":"ru",`+
				`"notify_url":"https://shop.example/","secret":"•••","source_addresses":["10.0.0.0/8","2001:db8::/32"],`+
				`"overdraft_limit":[{"currency":"USDT","network":"tron","env":"test","amount":"1`+strings.Repeat("0", 72)+`"},`+
				`{"currency":"USD","network":"","env":"prod","amount":"0"}],"branding":{"display_name":"The shop",`+
				`"logo":"https://pay.example/images/a.png","color":"#0a6b3d","support_email":"h@shop.example","terms_url":"https://shop.example/t"}}`,
			"id", "name", "login"),
		"partner with required fields only": storeRecord(t, Partners, org, id, Partner{ID: id, Org: org, Number: 1, Name: "S", Login: "l"}, func(*Partner) {},
			`{"id":1,"name":"S","login":"l","created_at":null,"active":false,"email":null,"lang":null,"notify_url":null,"secret":null,`+
				`"source_addresses":[],"overdraft_limit":[],"branding":null}`,
			"id", "name", "login"),
		"organization": storeRecord(t, Organizations, org, id, Organization{
			ID: id, Name: "Bank", Type: Bank, Status: Maintenance, Modules: []string{IslamicFinance}, Regions: []string{"AE", "MY"}, CreatedAt: created,
		}, func(o *Organization) { o.CreatedAt = 0 },
			`{"id":`+idText+`,"name":"Bank","type":"bank","status":"maintenance","modules":["islamic_finance"],"allowed_regions":["AE","MY"],"created_at":`+createdAt+`}`,
			"name", "type", "status"),
		"terminal": storeRecord(t, Terminals, org, id, Terminal{
			ID: id, Org: org, Partner: 7, Name: "T", Provider: Simulator, Type: PayoutTerminal, Active: true, Env: money.Test, MerchantAdapter: "a",
			ProviderParams: []byte(`{"priority":4,"api_key":"k"}`), MerchantParams: []byte(`{"secret":"s","other":[1, 2]}`), CreatedAt: created,
		}, func(t *Terminal) { t.CreatedAt = 0 },
			`{"id":`+idText+`,"name":"T","partner_id":7,"provider":"simulator","type":"payout","is_active":true,"env":"test",`+
				`"provider_params":{"priority":4,"api_key":"•••"},"merchant_adapter":"a","merchant_params":{"secret":"•••","other":[1, 2]},"created_at":`+createdAt+`}`,
			"name", "partner_id", "type", "env"),
		"terminal with required fields only": storeRecord(t, Terminals, org, id, Terminal{ID: id, Org: org, Partner: 7, Name: "T", Type: MerchantTerminal, Env: money.Prod}, func(*Terminal) {},
			`{"id":`+idText+`,"name":"T","partner_id":7,"provider":"","type":"merchant","is_active":false,"env":"prod",`+
				`"provider_params":{},"merchant_adapter":"","merchant_params":{},"created_at":null}`,
			"name", "partner_id", "type", "env"),
		"user": storeRecord(t, Users, org, id, User{
			ID: id, Org: org, Login: "anna", PassHash: "h", Email: "a@bank.example", Name: "Anna", Roles: Roles{Client, PartnerRole}, Partner: 7,
			Active: true, CreatedAt: created, Epoch: 4, Lang: "ar",
		}, func(u *User) { u.CreatedAt = 0 },
			`{"id":`+idText+`,"login":"anna","name":"Anna","email":"a@bank.example","roles":["client","partner"],"partner_id":7,"active":true,"lang":"ar","created_at":`+createdAt+`}`,
			"login", "name", "roles", "pass_hash", "epoch", "partner_id"),
		"limit": storeRecord(t, Limits, org, id, Limit{
			ID: id, Org: org, Partner: 7, Terminal: other, Kind: DailyVolume, Type: PayoutTerminal, Asset: tether, MaxAmount: money.FromUint64(5),
			Scope: ScopeCard, Active: true, CreatedAt: created,
		}, func(l *Limit) { l.CreatedAt = 0 },
			`{"id":`+idText+`,"partner_id":7,"terminal_id":`+otherText+`,"kind":"daily_volume","type":"payout","currency":"USDT","network":"tron","env":"test",`+
				`"max_amount":"5","max_count":null,"window":null,"scope":"card","active":true,"created_at":`+createdAt+`}`,
			"partner_id", "kind", "currency", "env", "max_amount", "scope"),
		"velocity": storeRecord(t, Limits, org, id, Limit{
			ID: id, Org: org, Partner: 7, Kind: Velocity, Asset: money.Asset{Env: money.Prod}, MaxCount: 5, Window: time.Hour, Scope: ScopePartner,
		}, func(*Limit) {},
			`{"id":`+idText+`,"partner_id":7,"terminal_id":null,"kind":"velocity","type":null,"currency":null,"network":"","env":"prod",`+
				`"max_amount":null,"max_count":5,"window":"hour","scope":"partner","active":false,"created_at":null}`,
			"partner_id", "kind", "env", "max_count", "window", "scope"),
		"key": storeRecord(t, APIKeys, org, id, APIKey{
			ID: id, Org: org, Partner: 7, Name: "k", Prefix: "mzk_12345678", Hash: [32]byte{31: 1}, Value: "mzk_123456789", CreatedAt: created, ExpiresAt: 6, RevokedAt: 7, LastUsedAt: 5,
		}, func(k *APIKey) { k.CreatedAt, k.Value = 0, "" },
			`{"id":`+idText+`,"key":"mzk_123456789","prefix":"mzk_12345678","name":"k","partner_id":7,"created_at":`+createdAt+`,"last_used_at":`+createdAt+`,`+
				`"expires_at":"1970-01-01T00:00:00.000006+00:00","revoked_at":`+updatedAt+`}`,
			"prefix", "name", "partner_id", "hash"),
		"rate": storeRecord(t, Rates, org, rate, Rate{ID: rate, Org: org, From: "USD", To: "RUB", Value: parseRate(t, "92.5"), CreatedAt: created, UpdatedAt: updated},
			func(r *Rate) { r.CreatedAt, r.UpdatedAt = 0, 0 },
			`{"id":"`+rate.String()+`","from":"USD","to":"RUB","rate":"92.5","created_at":`+createdAt+`,"updated_at":`+updatedAt+`}`,
			"from", "to", "rate"),
		"block": storeRecord(t, Blocks, org, address, Block{ID: address, Org: org, Kind: BlockIP, Value: "192.0.2.0/24", Active: true, CreatedAt: created, UpdatedAt: updated},
			func(b *Block) { b.CreatedAt, b.UpdatedAt = 0, 0 },
			`{"id":"`+address.String()+`","kind":"ip","value":"192.0.2.0/24","active":true,"created_at":`+createdAt+`,"updated_at":`+updatedAt+`}`,
			"kind", "compared"),
		"card": storeRecord(t, Blocks, org, BlockID(org, BlockCard, card), Block{ID: BlockID(org, BlockCard, card), Org: org, Kind: BlockCard, Value: card, Masked: "424242******4242"},
			func(*Block) {},
			`{"id":"`+BlockID(org, BlockCard, card).String()+`","kind":"card","value":"424242******4242","active":false,"created_at":null,"updated_at":null}`,
			"kind", "compared"),
		"session": storeRecord(t, Sessions, org, id, Session{
			ID: id, Org: org, Hash: [32]byte{1}, Roles: Roles{Admin, PartnerRole}, User: other, Partner: 7, Epoch: 2, CreatedAt: created, ExpiresAt: 9,
			MaxIdle: time.Minute, RevokedAt: 8, LastUsedAt: 6,
		}, func(s *Session) { s.CreatedAt = 0 }, `{}`, "hash", "roles", "partner"),
		"platform": storeRecord(t, Platforms, PlatformOrg, PlatformID, Platform{
			NextPartner: 3, AdminTokens: [][32]byte{{1}, {31: 2}}, RetiredTokens: [][32]byte{{3}}, Sandbox: []SandboxOrg{{org, 1}, {other, 2}},
		}, func(*Platform) {}, `{}`, "next_partner"),
		"settlement": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Reference: "wire", Outgoing: true, Lines: []SettlementLine{{tether, ledger.MaxAmount}}, CreatedAt: created, Seq: 12,
		}, func(s *Settlement) { s.CreatedAt, s.Seq = 0, 0 },
			`{"id":`+idText+`,"partner_id":7,"direction":"out","amount":"1`+strings.Repeat("0", 72)+`","currency":"USDT","network":"tron","env":"test",`+
				`"reference":"wire","created_at":`+createdAt+`,"seq":12}`,
			"partner_id", "reference", "stored_lines"),
		"incoming settlement": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Reference: "wire", Lines: []SettlementLine{{usd, money.FromUint64(5)}},
		}, func(*Settlement) {},
			`{"id":`+idText+`,"partner_id":7,"direction":"in","amount":"5","currency":"USD","network":"","env":"prod",`+
				`"reference":"wire","created_at":null,"seq":0}`,
			"partner_id", "reference", "stored_lines"),
		"settlement without a fee": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Terminal: other, Reference: "week", Lines: []SettlementLine{{usd, money.FromUint64(100)}},
		}, func(*Settlement) {},
			`{"id":`+idText+`,"partner_id":7,"terminal_id":`+otherText+`,"gross":"100","fee":"0","net":"100","currency":"USD","network":"","env":"prod",`+
				`"reference":"week","created_at":null,"seq":0}`,
			"partner_id", "reference", "stored_lines"),
		"settlement with a fee of the whole amount": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Terminal: other, Reference: "week", Lines: []SettlementLine{{usd, ledger.MaxAmount}}, Fee: ledger.MaxAmount,
		}, func(*Settlement) {},
			`{"id":`+idText+`,"partner_id":7,"terminal_id":`+otherText+`,"gross":"1`+strings.Repeat("0", 72)+`","fee":"1`+strings.Repeat("0", 72)+`","net":"0",`+
				`"currency":"USD","network":"","env":"prod","reference":"week","created_at":null,"seq":0}`,
			"partner_id", "reference", "stored_lines", "terminal_id"),
		"settlement with a provider": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Terminal: other, Reference: "week", Lines: []SettlementLine{{usd, money.FromUint64(100)}}, Fee: money.FromUint64(7),
		}, func(*Settlement) {},
			`{"id":`+idText+`,"partner_id":7,"terminal_id":`+otherText+`,"gross":"100","fee":"7","net":"93","currency":"USD","network":"","env":"prod",`+
				`"reference":"week","created_at":null,"seq":0}`,
			"partner_id", "reference", "stored_lines", "terminal_id"),
		"opening": storeRecord(t, Settlements, org, id, Settlement{
			ID: id, Org: org, Partner: 7, Reference: "opening", Lines: []SettlementLine{{usd, money.FromUint64(1)}, {tether, money.FromUint64(2)}},
		}, func(*Settlement) {},
			`{"id":`+idText+`,"partner_id":7,"direction":"in","lines":[{"amount":"1","currency":"USD","network":"","env":"prod"},`+
				`{"amount":"2","currency":"USDT","network":"tron","env":"test"}],"reference":"opening","created_at":null,"seq":0}`,
			"partner_id", "reference", "stored_lines"),
	}
}

// columnsOf has, for each key of eachRecord, the columns of that record.
var columnsOf = map[string]*schema.Table{
	"partner": Partners.Table, "partner with required fields only": Partners.Table, "organization": Organizations.Table, "terminal": Terminals.Table,
	"terminal with required fields only": Terminals.Table, "user": Users.Table, "limit": Limits.Table, "velocity": Limits.Table, "key": APIKeys.Table,
	"rate": Rates.Table, "block": Blocks.Table, "card": Blocks.Table, "session": Sessions.Table, "platform": Platforms.Table,
	"settlement": Settlements.Table, "settlement with a provider": Settlements.Table,
	"incoming settlement": Settlements.Table, "settlement without a fee": Settlements.Table, "settlement with a fee of the whole amount": Settlements.Table, "opening": Settlements.Table,
}

// storedColumn is a column's value as it is stored.
type storedColumn struct {
	key   uint8
	value []byte
}

// columnsIn returns the columns of a stored form.
func columnsIn(t *testing.T, stored []byte) (columns []storedColumn) {
	t.Helper()
	for rest := stored[1:]; len(rest) > 0; {
		value, tail, ok := schema.CutBytes(rest[1:])
		if !ok {
			t.Fatalf("%x is truncated", rest)
		}
		columns = append(columns, storedColumn{rest[0], value})
		rest = tail
	}
	return columns
}

// withColumn returns a copy of a stored form in which a column has another value. If the value is nil, the copy lacks the
// column.
func withColumn(t *testing.T, stored []byte, key uint8, value []byte) []byte {
	t.Helper()
	out := stored[:1:1]
	for _, c := range columnsIn(t, stored) {
		if c.key != key {
			out = schema.AppendBytes(append(out, c.key), c.value)
		}
	}
	if value != nil {
		out = schema.AppendBytes(append(out, key), value)
	}
	return out
}

func TestAStoredRecordIsReadUnchanged(t *testing.T) {
	for name, r := range eachRecord(t) {
		if err := r.readBack(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONOfRecords(t *testing.T) {
	for name, r := range eachRecord(t) {
		if r.gotJSON != r.wantJSON {
			t.Errorf("%s is shown as\n%s, want\n%s", name, r.gotJSON, r.wantJSON)
		}
	}
}

// The response to a key's creation does not show when the key was used or revoked.
func TestANewKeyIsShownWithoutUseAndRevocation(t *testing.T) {
	k := &APIKey{ID: testID(1), Partner: 7, Name: "k", Prefix: "mzk_1", Value: "mzk_12", CreatedAt: 5}
	const want = `{"id":"00000000-0000-0000-0000-000000000001","key":"mzk_12","prefix":"mzk_1","name":"k","partner_id":7,` +
		`"created_at":"1970-01-01T00:00:00.000005+00:00","expires_at":null`
	if got := string(APIKeys.AppendFields([]byte("{"), k, schema.Style{JustCreated: true})); got != want {
		t.Errorf("the response shows %s, want %s", got, want)
	}
}

func TestMalformedStoredBytesAreRefused(t *testing.T) {
	for name, r := range eachRecord(t) {
		columnEnds := map[int]bool{1: true} // lengths at which the stored form can be cut between two columns
		offset := 1
		for _, c := range columnsIn(t, r.stored) {
			offset += len(schema.AppendBytes([]byte{c.key}, c.value))
			columnEnds[offset] = true
		}
		for n := range r.stored {
			if err := r.read(r.stored[:n]); !columnEnds[n] && !errors.Is(err, schema.ErrStored) {
				t.Errorf("%s: the first %d of %d bytes are read: %v", name, n, len(r.stored), err)
			}
			for bit := range 8 {
				flipped := bytes.Clone(r.stored)
				flipped[n] ^= 1 << bit
				_ = r.read(flipped) // the store's checksum detects the damage; reading must only not panic
			}
		}
		for _, version := range []byte{0, 1, 3} {
			if err := r.read(append([]byte{version}, r.stored[1:]...)); !errors.Is(err, schema.ErrStored) {
				t.Errorf("%s of version %d: %v", name, version, err)
			}
		}
		if err := r.read(append(bytes.Clone(r.stored), 1)); !errors.Is(err, schema.ErrStored) {
			t.Errorf("%s with one more byte: %v", name, err)
		}
		if err := r.read(schema.AppendBytes(append(bytes.Clone(r.stored), 0xff), "of a later release")); err != nil {
			t.Errorf("%s with an unknown column: %v", name, err)
		}
		for _, c := range columnsIn(t, r.stored) {
			column := columnsOf[name].ByKey(c.key).Name
			err := r.read(withColumn(t, r.stored, c.key, nil))
			if needed := slices.Contains(r.requiredColumns, column); needed != errors.Is(err, schema.ErrStored) || !needed && err != nil {
				t.Errorf("%s without %s: %v", name, column, err)
			}
		}
	}
}

func TestInvalidStoredValuesAreRefused(t *testing.T) {
	records := eachRecord(t)
	number := func(n int64) []byte { // zigzag encoding of a small number, as package schema stores integers
		return []byte{byte(n<<1 ^ n>>63)}
	}
	amount := func(n uint64) []byte { return money.FromUint64(n).AppendBinary(nil) }
	list := func(entries ...string) (stored []byte) {
		for _, entry := range entries {
			stored = schema.AppendBytes(stored, entry)
		}
		return stored
	}
	lines := func(amounts ...uint64) []byte {
		var lines []SettlementLine
		for _, n := range amounts {
			lines = append(lines, SettlementLine{money.Asset{Currency: "USD", Env: money.Prod}, money.FromUint64(n)})
		}
		stored, err := Settlements.AppendStored(nil, &Settlement{Partner: 1, Reference: "r", Lines: lines}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columnsIn(t, stored) {
			if Settlements.ByKey(c.key).Name == "stored_lines" {
				return c.value
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		record, column string
		value          []byte
	}{
		"organization's type":               {"organization", "type", []byte("shop")},
		"organization's status":             {"organization", "status", []byte("open")},
		"partner number of zero":            {"partner", "id", number(0)},
		"partner number below zero":         {"partner", "id", number(-1)},
		"malformed source":                  {"partner", "source_addresses", list("x")},
		"malformed overdraft":               {"partner", "overdraft_limit", list("x")},
		"overdraft of nothing":              {"partner", "overdraft_limit", list("\x02")},
		"terminal's partner":                {"terminal", "partner_id", number(-1)},
		"terminal's type":                   {"terminal", "type", []byte("refund")},
		"terminal's env":                    {"terminal", "env", []byte("live")},
		"short hash":                        {"key", "hash", make([]byte, 31)},
		"long hash":                         {"key", "hash", bytes.Repeat([]byte{1}, 33)},
		"key's partner":                     {"key", "partner_id", number(-1)},
		"key's expiry":                      {"key", "expires_at", number(-1)},
		"session's role":                    {"session", "roles", list("root")},
		"roles in another order":            {"session", "roles", list("partner", "admin")},
		"no roles":                          {"session", "roles", []byte{}},
		"session's user, too short":         {"session", "user", []byte{1}},
		"session's partner":                 {"session", "partner", number(-1)},
		"idle time below zero":              {"session", "idle", number(-1)},
		"user's role":                       {"user", "roles", list("root")},
		"user's partner":                    {"user", "partner_id", number(-1)},
		"role without a partner":            {"user", "partner_id", number(0)},
		"partner without a role":            {"user", "roles", list("client")},
		"rate's first currency":             {"rate", "from", []byte("JPY")},
		"rate's second currency":            {"rate", "to", []byte("rub")},
		"rate of zero":                      {"rate", "rate", []byte("0")},
		"rate in another form":              {"rate", "rate", []byte("92.50")},
		"another pair than the rate's id":   {"rate", "to", []byte("EUR")},
		"limit's partner":                   {"limit", "partner_id", number(-1)},
		"limit's kind":                      {"limit", "kind", []byte("weekly")},
		"limit's other kind":                {"limit", "kind", []byte("velocity")},
		"limit's type":                      {"limit", "type", []byte("merchant")},
		"limit's env":                       {"limit", "env", []byte("live")},
		"limit's scope":                     {"limit", "scope", []byte("country")},
		"limit of nothing":                  {"limit", "max_amount", amount(0)},
		"limit's count":                     {"limit", "max_count", number(1)},
		"limit's window":                    {"limit", "window", []byte("hour")},
		"limit's terminal":                  {"limit", "terminal_id", []byte{1}},
		"two terminals":                     {"limit", "terminal_id", make([]byte, 32)},
		"no attempts":                       {"velocity", "max_count", number(0)},
		"velocity's window":                 {"velocity", "window", []byte("day")},
		"velocity's amount":                 {"velocity", "max_amount", amount(1)},
		"block's kind":                      {"block", "kind", []byte("name")},
		"another kind than the block's id":  {"block", "kind", []byte("email")},
		"another value than the block's id": {"block", "compared", []byte("192.0.3.0/24")},
		"next partner":                      {"platform", "next_partner", number(-1)},
		"cut hash of a token":               {"platform", "admin_tokens", make([]byte, 33)},
		"malformed sandbox organization":    {"platform", "sandbox", list("\x02")},
		"settlement's partner":              {"settlement", "partner_id", number(-1)},
		"no lines":                          {"settlement", "stored_lines", []byte{}},
		"a line that is cut short":          {"settlement", "stored_lines", lines(5)[:5]},
		"a line of nothing":                 {"settlement", "stored_lines", lines(0)},
		"a fee without a terminal":          {"settlement", "stored_fee", amount(1)},
		"a short terminal":                  {"settlement with a provider", "terminal_id", make([]byte, 15)},
		"a terminal and two lines":          {"settlement with a provider", "stored_lines", lines(100, 100)},
		"a terminal and a way out":          {"settlement with a provider", "out", []byte{1}},
		"a fee above its line":              {"settlement with a provider", "stored_fee", amount(101)},
		"a fee with a byte after it":        {"settlement with a provider", "stored_fee", append(amount(1), 0)},
	} {
		column := columnsOf[c.record].ByName(c.column)
		if err := records[c.record].read(withColumn(t, records[c.record].stored, column.Key, c.value)); !errors.Is(err, schema.ErrStored) {
			t.Errorf("%s is read: %v", name, err)
		}
	}
}

// Only secrets are sealed, so that a reader without the vault's keys can read everything else.
func TestSecretsAreSealed(t *testing.T) {
	const providerJSON, merchantJSON = `{"priority":4,"api_key":"canary-1"}`, `{"notify_url":"https://shop.example/","secret":"canary-2","secret_previous":"canary-3"}`
	p := Partner{Number: 1, Name: "S", Login: "l", Secret: "canary-4"}
	stored, err := Partners.AppendStored(nil, &p, invertingSealer{})
	if err != nil || bytes.Contains(stored, []byte("canary")) {
		t.Fatalf("the stored form is %q, %v", stored, err)
	}
	if read, err := readRecord(Partners, p.Org, p.ID, stored, invertingSealer{locked: true}); err != nil || read.Secret != "" || read.Name != "S" {
		t.Errorf("without keys the record is %+v, %v", read, err)
	}
	for _, provider := range []string{Simulator, remoteProvider} {
		terminal := Terminal{
			Partner: 1, Name: "T", Provider: provider, Type: PaymentTerminal, Env: money.Prod, ProviderParams: []byte(providerJSON), MerchantParams: []byte(merchantJSON),
		}
		stored, err := Terminals.AppendStored(nil, &terminal, invertingSealer{})
		if err != nil || bytes.Contains(stored, []byte("canary")) || !bytes.Contains(stored, []byte("https://shop.example/")) {
			t.Fatalf("the stored form is %q, %v", stored, err)
		}
		opened, err := readRecord(Terminals, terminal.Org, terminal.ID, stored, invertingSealer{})
		if err != nil || string(opened.ProviderParams) != providerJSON || string(opened.MerchantParams) != merchantJSON {
			t.Fatalf("with keys the parameters are %s and %s, %v", opened.ProviderParams, opened.MerchantParams, err)
		}
		if err := opened.Reparse(); err != nil || opened.Notification.Secret != "canary-2" || opened.Notification.SecretPrevious != "canary-3" {
			t.Errorf("with keys the signing secret is %q, %v", opened.Notification.Secret, err)
		}
		for what, read := range map[string]func() (*Terminal, error){
			"without keys": func() (*Terminal, error) {
				return readRecord(Terminals, terminal.Org, terminal.ID, stored, invertingSealer{locked: true})
			},
			"without the sealed columns": func() (*Terminal, error) {
				open := withColumn(t, stored, Terminals.ByName(SealedProviderParams).Key, nil)
				open = withColumn(t, open, Terminals.ByName(SealedMerchantParams).Key, nil)
				return readRecord(Terminals, terminal.Org, terminal.ID, open, invertingSealer{})
			},
		} {
			masked, err := read()
			if err != nil || string(masked.ProviderParams) != `{"priority":4,"api_key":"•••"}` ||
				string(masked.MerchantParams) != `{"notify_url":"https://shop.example/","secret":"•••","secret_previous":"•••"}` {
				t.Fatalf("%s the parameters are %s and %s, %v", what, masked.ProviderParams, masked.MerchantParams, err)
			}
			if err := masked.Reparse(); err != nil || masked.Settings.Priority != 4 || masked.Notification.NotifyURL != "https://shop.example/" {
				t.Errorf("%s the settings are %+v, %v", what, masked.Settings, err)
			}
			if n := masked.Notification; n.Secret != "" || n.SecretPrevious != "" {
				t.Errorf("%s a mask is the signing secret", what)
			}
			if p, remote := masked.Parameters.(*remoteParams); remote != (provider == remoteProvider) || remote && p.APIKey != "" {
				t.Errorf("%s a mask is the API key", what)
			}
			rename := func(r *Terminal, _ *schema.Faults) { r.Name = "renamed" }
			if next, _, err := masked.Patch(rename, false); err != nil || !bytes.Equal(next.MerchantParams, masked.MerchantParams) {
				t.Errorf("%s the terminal cannot be renamed: %v", what, err)
			}
			sent := bytes.Clone(masked.MerchantParams)
			_, _, err = masked.Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = sent }, false)
			if err == nil || err.(Refusals)[0].Field != "merchant_params.secret" {
				t.Errorf("%s a mask is accepted as a secret: %v", what, err)
			}
		}
	}
}

// Parameters without secrets are not sealed (encrypted), unless their provider has columns for secrets.
func TestParametersWithoutSecretsAreNotSealed(t *testing.T) {
	for provider, want := range map[string]bool{Simulator: false, remoteProvider: true} {
		terminal := Terminal{Partner: 1, Name: "T", Provider: provider, Type: PaymentTerminal, Env: money.Prod, ProviderParams: []byte(`{"priority":4}`)}
		stored, err := Terminals.AppendStored(nil, &terminal, invertingSealer{})
		if err != nil || !bytes.Contains(stored, []byte(`{"priority":4}`)) {
			t.Fatalf("the stored form is %q, %v", stored, err)
		}
		sealed := slices.ContainsFunc(columnsIn(t, stored), func(c storedColumn) bool { return Terminals.ByKey(c.key).Name == SealedProviderParams })
		if sealed != want {
			t.Errorf("%s: parameters are sealed %v", provider, sealed)
		}
	}
}
