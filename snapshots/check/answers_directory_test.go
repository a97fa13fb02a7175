package check_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// shownAdminRecord is a record of the directory, and the request whose response shows it.
type shownAdminRecord struct {
	source       ledger.Source
	record       any
	method, path string
	status       int
}

// line returns a line of an answers file with a request about the record and its response, which shows data.
func (a *shownAdminRecord) line(org ledger.ID, data string) string {
	return fixture.RecordLine(a.method, a.path, org, a.status, data)
}

// createShownRecords creates in the first organization records of every kind that responses show, with values in all
// columns. The map's keys are names for use in tests.
func createShownRecords(t *testing.T, w *fixture.Store) (records map[string]*shownAdminRecord) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	ctx, org := t.Context(), w.FirstDemo.Org
	records = make(map[string]*shownAdminRecord)
	add := func(name string, kind ledger.Kind, id ledger.ID, path string, record any, err error) {
		t.Helper()
		fixture.Must(t, err)
		records[name] = &shownAdminRecord{ledger.Source{Kind: kind, ID: id}, record, "POST", "/api/v1/" + path, 201}
	}
	o, err := server.Directory.CreateOrganization(ctx, directory.Organization{
		Name: "Bank", Type: directory.Bank, Status: directory.Active, Modules: []string{directory.IslamicFinance}, Regions: []string{"AE"},
	})
	fixture.Must(t, err)
	add("organization", ledger.Organization, o.ID, "organizations", o, nil)

	partner, err := server.Directory.CreatePartner(ctx, org, directory.Partner{
		Name: "Shop", Login: "shop", Email: "a@shop.example", Lang: "ru", NotifyURL: "https://shop.example/hook", Secret: "s", Active: true,
		Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Overdraft: []directory.Overdraft{{Asset: fixture.USD, Amount: money.FromUint64(5)}},
	}, []byte(goodPass))
	fixture.Must(t, err)
	add("partner", ledger.Partner, partner.ID, "partners", partner, nil)

	terminal, err := server.Directory.CreateTerminal(ctx, org, directory.Terminal{
		Partner: partner.Number, Name: "till", Provider: directory.Simulator, Type: directory.PaymentTerminal, Env: money.Prod, Active: true, MerchantAdapter: "own",
		ProviderParams: []byte(`{"priority":3,"api_key":"hidden"}`), MerchantParams: []byte(`{"emails_to_notify":["a@shop.example"],"secret":"hidden"}`),
	})
	fixture.Must(t, err)
	add("terminal", ledger.Terminal, terminal.ID, "terminal", terminal, nil)

	key, err := server.Directory.CreateAPIKey(ctx, org, directory.APIKey{
		Partner: partner.Number, Name: "till", ExpiresAt: ledger.MicrosOf(fixture.StartTime.AddDate(1, 0, 0)),
	})
	fixture.Must(t, err)
	add("key", ledger.APIKey, key.ID, "api_keys", key, nil)

	user, err := server.Directory.CreateUser(ctx, org, directory.User{
		Login: "teller", Name: "C", Email: "c@shop.example", Roles: directory.Roles{directory.PartnerRole}, Partner: partner.Number, Active: true,
	}, []byte(goodPass))
	fixture.Must(t, err)
	add("user", ledger.User, user.ID, "users", user, nil)

	volumeLimit, err := server.Directory.CreateLimit(ctx, org, directory.Limit{
		Partner: partner.Number, Terminal: terminal.ID, Kind: directory.DailyVolume, Type: directory.PaymentTerminal, Scope: directory.ScopeCard,
		Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, MaxAmount: money.FromUint64(7), Active: true,
	})
	fixture.Must(t, err)
	add("sum", ledger.Limit, volumeLimit.ID, "limits", volumeLimit, nil)
	velocityLimit, err := server.Directory.CreateLimit(ctx, org, directory.Limit{
		Partner: partner.Number, Kind: directory.Velocity, Scope: directory.ScopeIP, Asset: money.Asset{Env: money.Prod}, MaxCount: 5, Window: time.Hour, Active: true,
	})
	fixture.Must(t, err)
	add("velocity", ledger.Limit, velocityLimit.ID, "limits", velocityLimit, nil)

	blockedCard, err := server.Directory.CreateBlock(ctx, org, directory.BlockDraft{Kind: directory.BlockCard, Value: strings.Repeat("a", directory.CardFingerprintLength), Masked: "424242******4242"})
	fixture.Must(t, err)
	add("card", ledger.Block, blockedCard.ID, "blocklist", blockedCard, nil)

	outgoing := directory.SettlementDraft{Currency: "USD", Env: money.Prod, Amount: money.FromUint64(500), Reference: "out"}
	withBank, _, err := server.Directory.SettlePartner(ctx, org, w.FirstDemo.Partner, true, outgoing)
	fixture.Must(t, err)
	add("settlement with a bank", ledger.Settlement, withBank.ID, fmt.Sprintf("partners/%d/settlements", w.FirstDemo.Partner), withBank, nil)
	network := money.Network("tron")
	weekly := directory.SettlementDraft{Currency: "USDT", Network: &network, Env: money.Prod, Amount: money.FromUint64(900), Reference: "week"}
	withProvider, _, err := server.Directory.SettleProvider(ctx, org, w.ChargedPayment.Terminal, money.FromUint64(7), weekly)
	fixture.Must(t, err)
	add("settlement with a provider", ledger.Settlement, withProvider.ID, "terminal/"+w.ChargedPayment.Terminal.String()+"/settlements", withProvider, nil)
	opening := openingBalance(t, server, org)
	records["opening balance"] = &shownAdminRecord{ledger.Source{Kind: ledger.Settlement, ID: opening.ID}, opening, "GET", "/api/v1/settlements/" + opening.ID.String(), 200}

	rate, err := server.Directory.PutRate(ctx, org, directory.Rate{From: "USD", To: "RUB", Value: parseRate(t, "90")})
	fixture.Must(t, err)
	records["rate"] = &shownAdminRecord{ledger.Source{Kind: ledger.Rate, ID: rate.ID}, rate, "PUT", "/api/v1/rates", 200}
	return records
}

// openingBalance returns the settlement that is the sandbox partner's opening balance, in several assets.
func openingBalance(t *testing.T, server *fixture.Server, org ledger.ID) (opening *directory.Settlement) {
	t.Helper()
	v := server.Journal.View()
	defer v.Close()
	fixture.Must(t, v.Rows(org, posting.Records, func(key, _ []byte) (bool, error) {
		_, source, _ := store.ParseRecordKey(key)
		if source.Kind != ledger.Settlement {
			return true, nil
		}
		n, _, err := server.Directory.Settlement(org, source.ID)
		if err == nil && n.Reference == directory.OpeningBalanceReference {
			opening = n
		}
		return true, err
	}))
	if opening == nil {
		t.Fatal("there is no opening balance")
	}
	return opening
}

// differentValue returns a JSON value of the column's type that differs from value.
func differentValue(t *testing.T, column *schema.Column, value json.RawMessage) string {
	t.Helper()
	switch {
	case column.Kind == schema.KindBool:
		return map[string]string{"true": "false", "false": "true"}[string(value)]
	case column.Kind == schema.KindInteger || column.Kind == schema.KindSeq:
		return "99999"
	case column.Kind == schema.KindInstant:
		return `"2001-01-01T00:00:00.000000+00:00"`
	case column.Kind == schema.KindID:
		return fmt.Sprintf("%q", uuid.New())
	case column.Shape() == schema.TextList:
		return `["99999"]`
	case column.Shape() == schema.Document:
		return `{"a":99999}`
	}
	return `"99999"`
}

// alteredLines returns, for each column, a line of an answers file in which the column has a wrong value. It leaves out secrets,
// because responses show them as a mask, and columns that the response to a creation does not show.
func (a *shownAdminRecord) alteredLines(t *testing.T, org ledger.ID) (columns []*schema.Column, lines []string) {
	t.Helper()
	var members map[string]json.RawMessage
	fixture.Must(t, json.Unmarshal([]byte(fixture.ShowRecord(a.source.Kind, a.record)), &members))
	for _, c := range directory.Types[a.source.Kind].ShownColumns() {
		if _, shown := members[c.Name]; !shown || c.Secret || c.AbsentWhenNew {
			continue
		}
		altered := maps.Clone(members)
		altered[c.Name] = json.RawMessage(differentValue(t, c, members[c.Name]))
		data, err := json.Marshal(altered)
		fixture.Must(t, err)
		columns, lines = append(columns, c), append(lines, a.line(org, string(data)))
	}
	return columns, lines
}

// isReported tells whether rule 1 (responses agree with the store) reports the line of the answers file with this index, in a
// detail that ends with wantText.
func isReported(report *findings.Report, lineIndex int, wantText string) bool {
	return slices.ContainsFunc(report.Rules[findings.RuleAnswers-1].Details, func(detail string) bool {
		return strings.HasPrefix(detail, fmt.Sprintf("line %d: ", lineIndex+1)) && strings.HasSuffix(detail, wantText)
	})
}

// Every column that responses show is compared with the store. If a response has a wrong value in a column, rule 1 (responses
// agree with the store) is broken.
func TestEveryShownColumnIsComparedWithTheResponses(t *testing.T) {
	w := fixture.Copy(t)
	records, org := createShownRecords(t, w), w.FirstDemo.Org
	var soundLines []string
	for _, shown := range records {
		soundLines = append(soundLines, shown.line(org, fixture.ShowRecord(shown.source.Kind, shown.record)))
	}
	comparedColumns := make(map[*schema.Column]bool)
	w.RunChecks(t, func(run func(check.Inputs) *findings.Report) {
		report := run(check.Inputs{Answers: fixture.WriteLines(t, soundLines...)})
		fixture.WantBroken(t, report)
		if got := report.Rules[findings.RuleAnswers-1].Count; got != uint64(len(soundLines)) {
			t.Errorf("%d answers were compared, want %d", got, len(soundLines))
		}
		for name, shown := range records {
			t.Run(name, func(t *testing.T) {
				columns, lines := shown.alteredLines(t, org)
				report := run(check.Inputs{Answers: fixture.WriteLines(t, lines...)})
				fixture.WantBroken(t, report, findings.RuleAnswers)
				for i, c := range columns {
					comparedColumns[c] = true
					wantText := "is stored with another " + c.Name
					if c.Name == "id" || shown.source.Kind == ledger.Rate { // with a wrong id the response is about another record; a rate is compared with its events
						wantText = ""
					}
					if !isReported(report, i, wantText) {
						t.Errorf("another %s is not found", c.Name)
					}
				}
			})
		}
	})
	for kind, records := range directory.Types {
		for _, c := range records.ShownColumns() {
			if !comparedColumns[c] && !c.Secret && !c.AbsentWhenNew {
				t.Errorf("no answer of kind %c shows %s", kind, c.Name)
			}
		}
	}
}

// If a record was changed after its creation, the response to the creation is compared only in the columns that never
// change.
func TestOnlyFixedColumnsOfALaterChangedRecordAreCompared(t *testing.T) {
	w := fixture.Copy(t)
	records, org := createShownRecords(t, w), w.FirstDemo.Org
	changedNames := changeRecords(t, w, records)
	w.RunChecks(t, func(run func(check.Inputs) *findings.Report) {
		for _, name := range changedNames {
			t.Run(name, func(t *testing.T) {
				columns, lines := records[name].alteredLines(t, org)
				report := run(check.Inputs{Answers: fixture.WriteLines(t, lines...)})
				fixture.WantBroken(t, report, findings.RuleAnswers)
				for i, c := range columns {
					if isReported(report, i, "") != c.Fixed {
						t.Errorf("column %s: it never changes: %v, another one is found: %v", c.Name, c.Fixed, !c.Fixed)
					}
				}
			})
		}
	})
}

// changeRecords changes a record of every kind that can be changed, and returns the names of the changed records.
func changeRecords(t *testing.T, w *fixture.Store, records map[string]*shownAdminRecord) (names []string) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	ctx, org := t.Context(), w.FirstDemo.Org
	for name, change := range map[string]func(id ledger.ID) error{
		"organization": func(id ledger.ID) error {
			_, err := server.Directory.PatchOrganization(ctx, id, func(o *directory.Organization, _ *schema.Faults) { o.Name = "Changed" })
			return err
		},
		"partner": func(ledger.ID) error {
			number := records["partner"].record.(*directory.Partner).Number
			_, err := server.Directory.PatchPartner(ctx, org, number, func(p *directory.Partner, _ *schema.Faults) { p.Name = "Changed" })
			return err
		},
		"terminal": func(id ledger.ID) error {
			_, err := server.Directory.PatchTerminal(ctx, org, id, func(n *directory.Terminal, _ *schema.Faults) { n.Name = "Changed" })
			return err
		},
		"key": func(id ledger.ID) error {
			_, err := server.Directory.RevokeAPIKey(ctx, org, id)
			return err
		},
		"user": func(id ledger.ID) error {
			_, err := server.Directory.PatchUser(ctx, org, id, func(u *directory.User, _ *schema.Faults) { u.Name = "Changed" }, nil)
			return err
		},
		"sum": func(id ledger.ID) error {
			_, err := server.Directory.PatchLimit(ctx, org, id, func(l *directory.Limit, _ *schema.Faults) { l.Active = false })
			return err
		},
		"card": func(id ledger.ID) error {
			_, err := server.Directory.DeleteBlock(ctx, org, id)
			return err
		},
	} {
		fixture.Must(t, change(records[name].source.ID))
		names = append(names, name)
	}
	return names
}

// If a column of a stored record is corrupted, rule 1 (responses agree with the store) reports the response that showed the
// column.
func TestCorruptedColumnContradictsItsResponse(t *testing.T) {
	for _, f := range []struct {
		name, recordName, column string
		value                    any
		brokenRules              []int
		wantText                 string
	}{
		{"a limit's window", "velocity", "window", "minute", []int{1}, "another window"},
		{"a limit's network", "sum", "network", "ethereum", []int{1}, "another network"},
		{"a limit's terminal", "sum", "terminal_id", nil, []int{1}, "another terminal_id"},
		{"a terminal's parameters", "terminal", "provider_params", []byte(`{"priority":4,"api_key":"` + directory.Mask + `"}`), []int{1}, "another provider_params"},
		{"a terminal without a secret", "terminal", "provider_params", []byte(`{"priority":3}`), []int{1}, "another provider_params"},
		{"a terminal's e-mail addresses", "terminal", "merchant_params", []byte(`{"emails_to_notify":["b@shop.example"],"secret":"` + directory.Mask + `"}`), []int{1}, "another merchant_params"},
		{"a partner's overdraft", "partner", "overdraft_limit", []directory.Overdraft{{Asset: fixture.USD, Amount: money.FromUint64(50)}}, []int{1}, "another overdraft_limit"},
		{"a partner's source addresses", "partner", "source_addresses", []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, []int{1}, "another source_addresses"},
		{"a key that never ends", "key", "expires_at", nil, []int{1}, "another expires_at"},
		{"a provider's fee", "settlement with a provider", "stored_fee", money.FromUint64(8), []int{1, 3}, "another fee, net"},
		{"a settlement's direction", "settlement with a bank", "out", false, []int{1, 3}, "another direction"},
	} {
		t.Run(f.name, func(t *testing.T) {
			wantReported(t, f.recordName, f.brokenRules, f.wantText, func(p *fixture.Corrupter, w *fixture.Store, s ledger.Source) {
				p.ChangeColumn(w.FirstDemo.Org, s, f.column, f.value)
			})
		})
	}
	for _, f := range []struct {
		name, recordName, wantText string
		change                     func(*store.RecordHeader)
	}{
		{"a limit's time of creation", "sum", "another created_at", func(e *store.RecordHeader) { e.StartedAt-- }},
		{"a blocked card's time of change", "card", "another updated_at", func(e *store.RecordHeader) { e.UpdatedAt++ }},
		{"a settlement's entry", "settlement with a bank", "another seq", func(e *store.RecordHeader) { e.SettledSeq++ }},
	} {
		t.Run(f.name, func(t *testing.T) {
			wantReported(t, f.recordName, []int{1, 3}, f.wantText, func(p *fixture.Corrupter, w *fixture.Store, s ledger.Source) {
				p.ChangeRecord(w.FirstDemo.Org, s, func(e *store.RecordHeader, payload []byte) []byte {
					f.change(e)
					return payload
				})
			})
		})
	}
}

// wantReported corrupts a stored record that a response has shown. It checks which rules are broken, and that every detail of
// rule 1 (responses agree with the store) ends with wantText.
func wantReported(t *testing.T, recordName string, brokenRules []int, wantText string, change func(*fixture.Corrupter, *fixture.Store, ledger.Source)) {
	t.Helper()
	w := fixture.Copy(t)
	a := createShownRecords(t, w)[recordName]
	w.Corrupt(t, func(p *fixture.Corrupter) { change(p, w, a.source) })
	report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, a.line(w.FirstDemo.Org, fixture.ShowRecord(a.source.Kind, a.record)))})
	fixture.WantBroken(t, report, brokenRules...)
	for _, detail := range report.Rules[findings.RuleAnswers-1].Details {
		if !strings.HasSuffix(detail, wantText) {
			t.Errorf("rule 1 says %q, want %q", detail, wantText)
		}
	}
}
