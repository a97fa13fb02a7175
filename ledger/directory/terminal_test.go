package directory

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

var testPartner = &Partner{Org: testID(2), Number: 3}

func TestFieldsOfANewTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Terminal)
		field  string
	}{
		"required fields only":                   {func(*Terminal) {}, ""},
		"no name":                                {func(d *Terminal) { d.Name = "" }, "name"},
		"no type":                                {func(d *Terminal) { d.Type = "" }, "type"},
		"unknown type":                           {func(d *Terminal) { d.Type = "refund" }, "type"},
		"no provider":                            {func(d *Terminal) { d.Provider = "" }, "provider"},
		"unknown provider":                       {func(d *Terminal) { d.Provider = "Simulator" }, "provider"},
		"type merchant without provider":         {func(d *Terminal) { d.Type, d.Provider = MerchantTerminal, "" }, ""},
		"type merchant with an unknown provider": {func(d *Terminal) { d.Type, d.Provider = MerchantTerminal, "nobody" }, "provider"},
		"no env":                                 {func(d *Terminal) { d.Env = 0 }, "env"},
		"adapter with a control character":       {func(d *Terminal) { d.MerchantAdapter = "\x01" }, "merchant_adapter"},
		"null params":                            {func(d *Terminal) { d.ProviderParams, d.MerchantParams = []byte("null"), []byte(" ") }, ""},
		"params a list":                          {func(d *Terminal) { d.ProviderParams = []byte("[]") }, "provider_params"},
		"params a string":                        {func(d *Terminal) { d.MerchantParams = []byte(`"x"`) }, "merchant_params"},
		"params of the largest size":             {func(d *Terminal) { d.ProviderParams = objectOfSize(MaxParams) }, ""},
		"provider_params too large":              {func(d *Terminal) { d.ProviderParams = objectOfSize(MaxParams + 1) }, "provider_params"},
		"merchant_params too large":              {func(d *Terminal) { d.MerchantParams = objectOfSize(MaxParams + 1) }, "merchant_params"},
	} {
		draft := Terminal{ID: testID(1), Org: testPartner.Org, Partner: testPartner.Number, Name: "T", Provider: Simulator, Type: PaymentTerminal, Env: money.Test, Active: true}
		c.change(&draft)
		_, _, err := NewTerminal(draft, false)
		wantField(t, name, err, c.field)
	}
}

func TestFieldsInTheRequestForATerminalAreChecked(t *testing.T) {
	const minimal = `{"partner_id":3,"name":"T","provider":"simulator","type":"payment"}`
	for changes, field := range map[string]string{
		`{}`:                            "",
		`{"env":"test"}`:                "",
		`{"env":"live"}`:                "env",
		`{"env":7}`:                     "env",
		`{"env":""}`:                    "", // an empty text counts as absent
		`{"type":"refund"}`:             "type",
		`{"type":null}`:                 "type",
		`{"name":null}`:                 "name",
		`{"partner_id":null}`:           "partner_id",
		`{"partner_id":0}`:              "partner_id",
		`{"partner_id":"3"}`:            "partner_id",
		`{"is_active":"yes"}`:           "is_active",
		`{"provider_params":[]}`:        "provider_params",
		`{"provider_params":null}`:      "",
		`{"merchant_params":"x"}`:       "merchant_params",
		`{"merchant_params":{}}`:        "",
		`{"merchant_adapter":5}`:        "merchant_adapter",
		`{"merchant_adapter":"\u0001"}`: "merchant_adapter",
		`{"merchant_adapter":null}`:     "",
	} {
		_, err := createByRequest(t, Terminals, mergeObjects(t, minimal, changes), newTerminal)
		wantField(t, changes, err, field)
	}
	got, err := createByRequest(t, Terminals, minimal, newTerminal)
	if err != nil || got.Env != money.Prod || !got.Active || got.Partner != 3 || got.Provider != Simulator || got.Type != PaymentTerminal {
		t.Errorf("the defaults are %+v, %v", got, err)
	}
	allMembers := mergeObjects(t, minimal,
		`{"env":"test","is_active":false,"provider_params":{"priority":4},"merchant_params":{"secret":"s"},"merchant_adapter":"a"}`)
	got, err = createByRequest(t, Terminals, allMembers, newTerminal)
	if err != nil || got.Env != money.Test || got.Active || got.Settings.Priority != 4 || got.Notification.Secret != "s" || got.MerchantAdapter != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

func newTerminal(draft Terminal) (*Terminal, error) {
	terminal, _, err := NewTerminal(draft, false)
	return terminal, err
}

func TestWhatNeverChangesOfATerminal(t *testing.T) {
	stored := testTerminal(t, 1, PaymentTerminal, `{"priority":3}`)
	for body, field := range map[string]string{
		`{"partner_id":3,"provider":"simulator","type":"payment","env":"prod"}`: "",
		`{"partner_id":4}`:       "partner_id",
		`{"provider":"utp"}`:     "provider",
		`{"type":"payout"}`:      "type",
		`{"env":"test"}`:         "env",
		`{"env":null}`:           "env",
		`{"id":"x"}`:             "id",
		`{"created_at":"x"}`:     "created_at",
		`{"is_active":null}`:     "is_active",
		`{"name":null}`:          "name",
		`{"provider_params":[]}`: "provider_params",
	} {
		_, _, err := stored.Patch(changeOf(t, Terminals, body), false)
		wantField(t, body, err, field)
	}
	next, _, err := stored.Patch(changeOf(t, Terminals, `{"provider_params":null}`), false)
	if err != nil || next.ProviderParams != nil || next.Settings.Priority != 0 {
		t.Errorf("without parameters the terminal is %+v, %v", next, err)
	}
}

// objectOfSize returns an object of n bytes.
func objectOfSize(n int) []byte {
	return []byte(`{"x":"` + strings.Repeat("y", n-len(`{"x":""}`)) + `"}`)
}

func TestParseSettingsChecksEachField(t *testing.T) {
	for text, field := range map[string]string{
		``:     "",
		`{}`:   "",
		`null`: "",
		`{"unknown":{"deep":[1,2,{}]},"PRIORITY":"not ours"}`: "",
		`[1]`:                                                    "provider_params",
		`{"priority":-1000000}`:                                  "",
		`{"priority":1000001}`:                                   "provider_params.priority",
		`{"priority":"1"}`:                                       "provider_params.priority",
		`{"priority":1.0}`:                                       "provider_params.priority",
		`{"priority":1e3}`:                                       "provider_params.priority",
		`{"two_phase":true}`:                                     "",
		`{"two_phase":1}`:                                        "provider_params.two_phase",
		`{"hold_ttl_seconds":0}`:                                 "provider_params.hold_ttl_seconds",
		`{"hold_ttl_seconds":""}`:                                "provider_params.hold_ttl_seconds",
		`{"hold_ttl_seconds":1}`:                                 "",
		`{"hold_ttl_seconds":31622400}`:                          "",
		`{"hold_ttl_seconds":31622401}`:                          "provider_params.hold_ttl_seconds",
		`{"currencies":["USD","USDT"]}`:                          "",
		`{"currencies":["usd"]}`:                                 "provider_params.currencies",
		`{"currencies":"USD"}`:                                   "provider_params.currencies",
		`{"currencies":["JPY"]}`:                                 "provider_params.currencies",
		`{"networks":["tron"]}`:                                  "",
		`{"networks":["Tron"]}`:                                  "provider_params.networks",
		`{"networks":[null]}`:                                    "provider_params.networks",
		`{"methods":["bank_card"]}`:                              "",
		`{"methods":["Bank Card"]}`:                              "provider_params.methods",
		`{"methods":[""]}`:                                       "provider_params.methods",
		`{"min_amount":"5","max_amount":"5"}`:                    "",
		`{"min_amount":"6","max_amount":"5"}`:                    "provider_params.max_amount",
		`{"min_amount":5}`:                                       "provider_params.min_amount",
		`{"max_amount":"-5"}`:                                    "provider_params.max_amount",
		`{"fee_bps":"250"}`:                                      "",
		`{"fee_bps":250}`:                                        "provider_params.fee_bps",
		`{"fee_bps":"2.5"}`:                                      "provider_params.fee_bps",
		`{"fee_bps":"1000000"}`:                                  "",
		`{"fee_bps":"1000001"}`:                                  "provider_params.fee_bps",
		`{"fee_fixed":"30"}`:                                     "",
		`{"fee_fixed":"1` + strings.Repeat("0", 72) + `"}`:       "",
		`{"fee_fixed":"1` + strings.Repeat("0", 73) + `"}`:       "provider_params.fee_fixed",
		`{"fee_mode":"on_top"}`:                                  "",
		`{"fee_mode":"deduct"}`:                                  "",
		`{"fee_mode":"other"}`:                                   "provider_params.fee_mode",
		`{"fee_refundable":"yes"}`:                               "provider_params.fee_refundable",
		`{"settlement_currency":"EUR"}`:                          "",
		`{"settlement_currency":"XTS"}`:                          "provider_params.settlement_currency",
		`{"settlement_currency":"AED"}`:                          "provider_params.settlement_currency",
		`{"settlement_currency":"USDT"}`:                         "", // no error here, because checkSettlement refuses the missing network
		`{"settlement_network":{"of":"a provider"}}`:             "provider_params.settlement_network",
		`{"settlement_network":"No where"}`:                      "provider_params.settlement_network",
		`{"currencies":[5]}`:                                     "provider_params.currencies",
		`{"currencies":{}}`:                                      "provider_params.currencies",
		`{"methods":["` + strings.Repeat("a", MaxText+1) + `"]}`: "provider_params.methods",
		`{"priority":-1000001}`:                                  "provider_params.priority",
		`{"priority":""}`:                                        "provider_params.priority",
		`{"description":7}`:                                      "provider_params.description",
		`{"methods":[` + strings.Repeat(`"a",`, MaxListed-1) + `"a"]}`:    "",
		`{"methods":[` + strings.Repeat(`"a",`, MaxListed) + `"a"]}`:      "provider_params.methods",
		`{"description":"` + strings.Repeat("é", MaxDescription) + `"}`:   "",
		`{"description":"` + strings.Repeat("é", MaxDescription+1) + `"}`: "provider_params.description",
	} {
		_, err := ParseSettings([]byte(text))
		wantField(t, firstCharacters(text), err, field)
	}
}

func firstCharacters(s string) string { return s[:min(len(s), 60)] }

func TestParseSettingsReturnsTheValues(t *testing.T) {
	s, err := ParseSettings([]byte(`{"priority":-2,"two_phase":true,"hold_ttl_seconds":60,"currencies":["USD"],"networks":["tron"],
		"methods":["sbp"],"min_amount":"1","max_amount":"9","fee_bps":"250","fee_fixed":"30","fee_mode":"on_top","fee_refundable":true,
		"settlement_currency":"USDC","settlement_network":"solana","description":"Shown"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "-2 true 1m0s [USD] [tron] [sbp] 1 9 250 30 true true USDC solana Shown"
	got := fmt.Sprint(s.Priority, s.TwoPhase, s.HoldTTL, s.Currencies, s.Networks, s.Methods, *s.MinAmount, *s.MaxAmount,
		" ", s.FeeBps, s.FeeFixed, s.FeeOnTop, s.FeeRefundable, " ", s.SettlementCurrency, " ", s.SettlementNetwork, " ", s.Description)
	if strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	defaults, err := ParseSettings(nil)
	if err != nil || defaults.HoldTTL != 7*24*time.Hour || defaults.MinAmount != nil || !defaults.FeeFixed.IsZero() || defaults.FeeOnTop {
		t.Errorf("defaults: %+v, %v", defaults, err)
	}
}

func TestParseNotificationReadsAndChecksEachField(t *testing.T) {
	n, err := ParseNotification([]byte(`{"notify_url":"http://127.0.0.1:9/h","secret":"s","secret_previous":"p","tg_ids_to_notify":[-100123,"@ops"],
		"emails_to_notify":["ops@example.com"],"large_transaction_threshold":"1000","other":1}`))
	if err != nil || n.NotifyURL != "http://127.0.0.1:9/h" || n.Secret != "s" || n.SecretPrevious != "p" ||
		fmt.Sprintf("%v %v %v", n.Telegram, n.Emails, n.LargeAmount) != "[-100123 @ops] [ops@example.com] 1000" {
		t.Errorf("%v %v", n, err)
	}
	for text, field := range map[string]string{
		`{"notify_url":"gopher://x"}`:                                           "merchant_params.notify_url",
		`{"notify_url":5}`:                                                      "merchant_params.notify_url",
		`{"secret":5}`:                                                          "merchant_params.secret",
		`{"tg_ids_to_notify":[1.5]}`:                                            "merchant_params.tg_ids_to_notify",
		`{"tg_ids_to_notify":7}`:                                                "merchant_params.tg_ids_to_notify",
		`{"emails_to_notify":["nobody"]}`:                                       "merchant_params.emails_to_notify",
		`{"emails_to_notify":[""]}`:                                             "merchant_params.emails_to_notify",
		`{"large_transaction_threshold":5}`:                                     "merchant_params.large_transaction_threshold",
		`{"large_transaction_threshold":"5"}`:                                   "",
		`{"notify_statuses":"some"}`:                                            "merchant_params.notify_statuses",
		`{"notify_statuses":[null]}`:                                            "merchant_params.notify_statuses",
		`{"tg_ids_to_notify":[""]}`:                                             "merchant_params.tg_ids_to_notify",
		`{"notify_statuses":[1]}`:                                               "merchant_params.notify_statuses",
		`{"notify_statuses":{}}`:                                                "merchant_params.notify_statuses",
		`{"notify_statuses":[]}`:                                                "",
		`{"secret":"` + strings.Repeat("s", MaxSecret) + `"}`:                   "",
		`{"secret":"` + strings.Repeat("s", MaxSecret+1) + `"}`:                 "merchant_params.secret",
		`{"secret_previous":"` + strings.Repeat("s", MaxSecret+1) + `"}`:        "merchant_params.secret_previous",
		`{"notify_url":"http://a.example/` + strings.Repeat("s", MaxURL) + `"}`: "merchant_params.notify_url",
		`[]`: "merchant_params",
	} {
		_, err := ParseNotification([]byte(text))
		wantField(t, text, err, field)
	}
	for text, want := range map[string]string{
		`{}`: "[] true false", `{"notify_statuses":"all"}`: "[] true true", `{"notify_statuses":[]}`: "[] false false",
		`{"notify_statuses":["charged"]}`: "[charged] false false",
	} {
		n, err := ParseNotification([]byte(text))
		if got := fmt.Sprint(n.Statuses, n.Statuses == nil, n.AllStatuses); err != nil || got != want {
			t.Errorf("%s: got %s, want %s: %v", text, got, want, err)
		}
	}
}

// A chat in a request must be a number or a name. Stored chats are read without this check.
func TestInvalidChatsAreRefused(t *testing.T) {
	const field = "merchant_params.tg_ids_to_notify"
	for list, want := range map[string]string{
		`[7,-100123,"-100123456789012","12","@ops","@Ops_of_the_shop2"]`: "",
		`["abc"]`: field, `["@"]`: field, `["@a b"]`: field, `[0]`: field, `["0"]`: field, `["-"]`: field, `["+5"]`: field, `["007"]`: field,
		`["1.0"]`: field, `[" 1"]`: field, `["@1st"]`: field, `["@ops\n"]`: field, `["ops@bank.example"]`: field, `[1,"abc"]`: field,
		`[1234567890123456789]`: field, `["@` + strings.Repeat("a", 33) + `"]`: field,
	} {
		params := []byte(`{"tg_ids_to_notify":` + list + `}`)
		_, _, err := NewTerminal(Terminal{
			ID: testID(1), Org: testPartner.Org, Partner: testPartner.Number, Name: "T", Provider: Simulator, Type: PaymentTerminal,
			MerchantParams: params, Env: money.Prod, Active: true,
		}, false)
		wantField(t, list, err, want)
		_, _, err = testTerminal(t, 1, PaymentTerminal, "").Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = params }, false)
		wantField(t, list, err, want)
	}
	stored := &Terminal{Name: "T", Provider: Simulator, Type: PaymentTerminal, Env: money.Prod, MerchantParams: []byte(`{"tg_ids_to_notify":["abc"]}`)}
	if err := stored.Reparse(); err != nil || len(stored.Notification.Telegram) != 1 {
		t.Errorf("the stored chats are read as %v, %v", stored.Notification.Telegram, err)
	}
	for list, want := range map[string]string{`["abc"]`: "", `["abc",7]`: "", `["abc","abd"]`: field} {
		params := []byte(`{"tg_ids_to_notify":` + list + `}`)
		_, _, err := stored.Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = params }, false)
		wantField(t, "sent back: "+list, err, want)
	}
}

func TestRecipientListedTwiceIsNotifiedOnce(t *testing.T) {
	n, err := ParseNotification([]byte(`{"tg_ids_to_notify":[1,"1","@Ops","@ops",-1],"emails_to_notify":["Ops@bank.example","ops@Bank.example","risk@bank.example"]}`))
	if err != nil || fmt.Sprintf("%v %v", n.Telegram, n.Emails) != "[1 @Ops -1] [Ops@bank.example risk@bank.example]" {
		t.Errorf("the recipients are %v and %v, %v", n.Telegram, n.Emails, err)
	}
}

func TestPatchOfATerminal(t *testing.T) {
	terminal, event, err := NewTerminal(Terminal{
		ID: testID(1), Org: testPartner.Org, Partner: testPartner.Number, Name: "T", Provider: Simulator, Type: PaymentTerminal,
		ProviderParams: []byte(` {"priority":3,"own":"kept"} `), Env: money.Prod, Active: true,
	}, false)
	if err != nil || event.To != "active" || terminal.Env != money.Prod || terminal.Settings.Priority != 3 || string(terminal.ProviderParams) != `{"priority":3,"own":"kept"}` {
		t.Fatal(terminal, event, err)
	}
	isActive, providerParams, malformedParams, merchantParams := false, []byte(`{"priority":4}`), []byte(`{"priority":"4"}`), []byte(`{"secret":"z"}`)
	next, event, err := terminal.Patch(func(r *Terminal, _ *schema.Faults) {
		r.Active = isActive
		r.ProviderParams = providerParams
		r.MerchantParams = merchantParams
	}, false)
	if err != nil || event.Name != "deactivate" || next.Settings.Priority != 4 || next.Notification.Secret != "z" || next.Active {
		t.Error(next, event, err)
	}
	if !terminal.Active || terminal.Settings.Priority != 3 {
		t.Error("the old record changed")
	}
	if unchanged, event, err := next.Patch(func(r *Terminal, _ *schema.Faults) { r.Active = isActive }, false); err != nil || unchanged != next || event.Name != "" {
		t.Error("a patch that changes nothing has an event or a new record", event, err)
	}
	_, _, err = terminal.Patch(func(r *Terminal, _ *schema.Faults) { r.ProviderParams = malformedParams }, false)
	wantField(t, "bad patch", err, "provider_params.priority")
}

func testTerminal(t *testing.T, id byte, kind TerminalType, params string) *Terminal {
	t.Helper()
	terminal, _, err := NewTerminal(Terminal{
		ID: testID(id), Org: testPartner.Org, Partner: testPartner.Number, Name: "T", Provider: Simulator, Type: kind,
		ProviderParams: []byte(params), Env: money.Prod, Active: true,
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return terminal
}

func TestTransactionsThatATerminalServes(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	five := money.FromUint64(5)
	anyTerminal := testTerminal(t, 1, PaymentTerminal, ``)
	narrowTerminal := testTerminal(t, 2, PaymentTerminal, `{"currencies":["USD","USDT"],"networks":["tron"],"methods":["bank_card"],"min_amount":"5","max_amount":"7"}`)
	solanaTerminal := testTerminal(t, 5, PaymentTerminal, `{"networks":["solana"]}`)
	inactiveTerminal := testTerminal(t, 3, PaymentTerminal, ``)
	inactiveTerminal.Active = false
	for name, c := range map[string]struct {
		terminal *Terminal
		kind     TerminalType
		asset    money.Asset
		method   string
		amount   uint64
		want     bool
	}{
		"terminal without restrictions":        {anyTerminal, PaymentTerminal, usd, "bank_card", 1, true},
		"another type":                         {anyTerminal, PayoutTerminal, usd, "bank_card", 1, false},
		"another env":                          {anyTerminal, PaymentTerminal, money.Asset{Currency: "USD", Env: money.Test}, "bank_card", 1, false},
		"switched off":                         {inactiveTerminal, PaymentTerminal, usd, "bank_card", 1, false},
		"notification only":                    {testTerminal(t, 4, MerchantTerminal, ``), MerchantTerminal, usd, "bank_card", 1, false},
		"within all restrictions":              {narrowTerminal, PaymentTerminal, tron, "bank_card", 6, true},
		"at the minimum":                       {narrowTerminal, PaymentTerminal, tron, "bank_card", 5, true},
		"below the minimum":                    {narrowTerminal, PaymentTerminal, tron, "bank_card", 4, false},
		"at the maximum":                       {narrowTerminal, PaymentTerminal, tron, "bank_card", 7, true},
		"above the maximum":                    {narrowTerminal, PaymentTerminal, tron, "bank_card", 8, false},
		"another currency":                     {narrowTerminal, PaymentTerminal, money.Asset{Currency: "EUR", Env: money.Prod}, "bank_card", 6, false},
		"another network":                      {narrowTerminal, PaymentTerminal, money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}, "bank_card", 6, false},
		"a currency without networks":          {narrowTerminal, PaymentTerminal, usd, "bank_card", 6, true},
		"unresolved network, one is accepted":  {narrowTerminal, PaymentTerminal, money.Asset{Currency: "USDT", Env: money.Prod}, "bank_card", 6, true},
		"unresolved network, none is accepted": {solanaTerminal, PaymentTerminal, money.Asset{Currency: "USDT", Env: money.Prod}, "bank_card", 6, false},
		"a currency of one network":            {solanaTerminal, PaymentTerminal, money.Asset{Currency: "ETH", Env: money.Prod}, "bank_card", 6, false},
		"fiat at a terminal for a network":     {solanaTerminal, PaymentTerminal, usd, "bank_card", 6, true},
		"another method":                       {narrowTerminal, PaymentTerminal, usd, "sbp", 6, false},
		"method not known yet":                 {narrowTerminal, PaymentTerminal, usd, "", 6, true},
	} {
		if got := c.terminal.Serves(c.kind, c.asset, c.method, money.FromUint64(c.amount)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if len(Candidates(nil, PaymentTerminal, usd, "", five)) != 0 {
		t.Error("without terminals there are candidates")
	}
}

func TestCandidatesByPriorityThenID(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	terminals := []*Terminal{
		testTerminal(t, 4, PaymentTerminal, `{"priority":1}`),
		testTerminal(t, 3, PaymentTerminal, ``),
		testTerminal(t, 2, PayoutTerminal, ``),
		testTerminal(t, 1, PaymentTerminal, ``),
		testTerminal(t, 5, PaymentTerminal, `{"priority":-1}`),
	}
	before := fmt.Sprint(terminals[0].ID, terminals[4].ID)
	var order bytes.Buffer
	for _, c := range Candidates(terminals, PaymentTerminal, usd, "bank_card", money.FromUint64(1)) {
		fmt.Fprintf(&order, "%d ", c.ID[15])
	}
	if order.String() != "5 1 3 4 " {
		t.Errorf("tried in the order %s", order.String())
	}
	if fmt.Sprint(terminals[0].ID, terminals[4].ID) != before {
		t.Error("the caller's list was reordered")
	}
}

func TestTerminalResolvesTheNetwork(t *testing.T) {
	anyTerminal := testTerminal(t, 1, PaymentTerminal, ``)
	tronOrSolana := testTerminal(t, 2, PaymentTerminal, `{"networks":["tron","solana"]}`)
	tronOrBSC := testTerminal(t, 3, PaymentTerminal, `{"networks":["tron","bsc"]}`)
	for _, c := range []struct {
		terminal      *Terminal
		currency      money.Currency
		network, want money.Network
	}{
		{anyTerminal, "ETH", "", "ethereum"},
		{anyTerminal, "USD", "", ""},
		{anyTerminal, "USDT", "", ""},
		{anyTerminal, "USDT", "nowhere", "nowhere"},
		{tronOrSolana, "USDT", "", "tron"},
		{tronOrSolana, "USDT", "bsc", "bsc"},
		{tronOrSolana, "USD", "", ""},
		{tronOrBSC, "USDT", "", ""},
	} {
		asset := money.Asset{Currency: c.currency, Network: c.network, Env: money.Prod}
		if got := c.terminal.Resolve(asset).Network; got != c.want {
			t.Errorf("%v: %q, want %q", asset, got, c.want)
		}
	}
}

func TestSettlementNamesOneAsset(t *testing.T) {
	draft := func(params string) Terminal {
		return Terminal{
			ID: testID(1), Org: testPartner.Org, Partner: testPartner.Number, Name: "T", Provider: Simulator, Type: PaymentTerminal,
			ProviderParams: []byte(params), Env: money.Prod, Active: true,
		}
	}
	stored, _, err := NewTerminal(draft(`{"priority":1}`), false)
	if err != nil {
		t.Fatal(err)
	}
	const currency, network = "provider_params.settlement_currency", "provider_params.settlement_network"
	for text, field := range map[string]string{
		`{"settlement_currency":"EUR"}`:                                 "",
		`{"settlement_currency":"EUR","settlement_network":""}`:         "",
		`{"settlement_currency":"EUR","settlement_network":null}`:       "",
		`{"settlement_currency":"","settlement_network":""}`:            "",
		`{"settlement_currency":"ETH"}`:                                 "",
		`{"settlement_currency":"ETH","settlement_network":"ethereum"}`: "",
		`{"settlement_currency":"USDT","settlement_network":"tron"}`:    "",
		`{"settlement_currency":"USDT"}`:                                network,
		`{"settlement_currency":"USDT","settlement_network":"solana"}`:  network,
		`{"settlement_currency":"EUR","settlement_network":"tron"}`:     network,
		`{"settlement_currency":"ETH","settlement_network":"bsc"}`:      network,
		`{"settlement_currency":"USDT","settlement_network":"Tron"}`:    network,
		`{"settlement_currency":"USDT","settlement_network":5}`:         network,
		`{"settlement_currency":"EUR","settlement_network":["tron"]}`:   network,
		`{"settlement_network":"tron"}`:                                 network,
		`{"settlement_currency":"eur"}`:                                 currency,
		`{"settlement_currency":5}`:                                     currency,
	} {
		_, _, err := NewTerminal(draft(text), false)
		wantField(t, "new with "+text, err, field)
		params := []byte(text)
		_, _, err = stored.Patch(func(r *Terminal, _ *schema.Faults) { r.ProviderParams = params }, false)
		wantField(t, "patch with "+text, err, field)
	}
}

func TestAssetInWhichATerminalSettles(t *testing.T) {
	for _, c := range []struct {
		params   string
		source   money.Asset
		want     money.Asset
		converts bool
	}{
		{``, money.Asset{Currency: "USD", Env: money.Prod}, money.Asset{Currency: "USD", Env: money.Prod}, false},
		{`{"settlement_currency":"USD"}`, money.Asset{Currency: "USD", Env: money.Test}, money.Asset{Currency: "USD", Env: money.Test}, false},
		{`{"settlement_currency":"EUR"}`, money.Asset{Currency: "USD", Env: money.Test}, money.Asset{Currency: "EUR", Env: money.Test}, true},
		{`{"settlement_currency":"EUR"}`, money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}, money.Asset{Currency: "EUR", Env: money.Prod}, true},
		{`{"settlement_currency":"TON"}`, money.Asset{Currency: "USD", Env: money.Prod}, money.Asset{Currency: "TON", Network: "ton", Env: money.Prod}, true},
		{`{"settlement_currency":"USDT","settlement_network":"bsc"}`, money.Asset{Currency: "RUB", Env: money.Prod}, money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}, true},
		{
			`{"settlement_currency":"USDT","settlement_network":"bsc"}`, money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod},
			money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, false,
		},
	} {
		got, converts := testTerminal(t, 1, PaymentTerminal, c.params).SettlementAsset(c.source)
		if got != c.want || converts != c.converts {
			t.Errorf("%s for %v: %v %v, want %v %v", c.params, c.source, got, converts, c.want, c.converts)
		}
	}
}
