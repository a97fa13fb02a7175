package directory

import (
	"net/netip"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

var (
	limitOwner    = &Partner{ID: testID(1), Org: testID(2), Number: 7}
	limitTerminal = &Terminal{ID: testID(3), Org: testID(2), Partner: 7, Type: PaymentTerminal, Env: money.Prod}
)

func ref[T any](value T) *T { return &value }

func amountOf(digits string) *money.Amount { return ref(money.MustParse(digits)) }

// aVolume and aVelocity are valid drafts.
func aVolume(change func(*Limit)) Limit {
	d := Limit{Partner: 7, Kind: DailyVolume, MaxAmount: *amountOf("1000"), Asset: money.Asset{Currency: "USD", Env: money.Prod}, Scope: ScopePartner, Active: true}
	if change != nil {
		change(&d)
	}
	return d
}

func aVelocity(change func(*Limit)) Limit {
	d := Limit{Partner: 7, Kind: Velocity, MaxCount: int64(5), Window: time.Minute, Asset: money.Asset{Env: money.Prod}, Scope: ScopePartner, Active: true}
	if change != nil {
		change(&d)
	}
	return d
}

func TestEachFieldOfALimitIsHeldAgainstItsBound(t *testing.T) {
	for name, c := range map[string]struct {
		draft Limit
		field string
	}{
		"volume":                     {aVolume(nil), ""},
		"velocity":                   {aVelocity(nil), ""},
		"no kind":                    {aVolume(func(d *Limit) { d.Kind = "" }), "kind"},
		"kind":                       {aVolume(func(d *Limit) { d.Kind = "weekly_volume" }), "kind"},
		"payments":                   {aVolume(func(d *Limit) { d.Type = PaymentTerminal }), ""},
		"payouts":                    {aVolume(func(d *Limit) { d.Type = PayoutTerminal }), ""},
		"type":                       {aVolume(func(d *Limit) { d.Type = MerchantTerminal }), "type"},
		"scope":                      {aVolume(func(d *Limit) { d.Scope = "country" }), "scope"},
		"card":                       {aVolume(func(d *Limit) { d.Scope = ScopeCard }), ""},
		"per transaction":            {aVolume(func(d *Limit) { d.Kind = PerTransaction }), ""},
		"per transaction of a card":  {aVolume(func(d *Limit) { d.Kind, d.Scope = PerTransaction, ScopeCard }), "scope"},
		"env":                        {aVolume(func(d *Limit) { d.Env = "live" }), "env"},
		"test":                       {aVolume(func(d *Limit) { d.Env = "test" }), ""},
		"no currency":                {aVolume(func(d *Limit) { d.Currency = "" }), "currency"},
		"currency":                   {aVolume(func(d *Limit) { d.Currency = "AED" }), "currency"},
		"velocity's currency":        {aVelocity(func(d *Limit) { d.Currency = "JPY" }), "currency"},
		"velocity of a currency":     {aVelocity(func(d *Limit) { d.Currency = "EUR" }), ""},
		"network without currency":   {aVelocity(func(d *Limit) { d.Network = ref("tron") }), "network"},
		"no network of several":      {aVolume(func(d *Limit) { d.Currency = "USDT" }), "network"},
		"velocity without network":   {aVelocity(func(d *Limit) { d.Currency = "USDT" }), "network"},
		"one of several":             {aVolume(func(d *Limit) { d.Currency, d.Network = "USDT", ref("bsc") }), ""},
		"the unresolved one":         {aVolume(func(d *Limit) { d.Currency, d.Network = "USDT", ref("") }), ""},
		"network of another":         {aVolume(func(d *Limit) { d.Currency, d.Network = "USDT", ref("solana") }), "network"},
		"another than the only one":  {aVolume(func(d *Limit) { d.Currency, d.Network = "TRX", ref("ton") }), "network"},
		"network of money":           {aVolume(func(d *Limit) { d.Network = ref("tron") }), "network"},
		"no name of a network":       {aVolume(func(d *Limit) { d.Currency, d.Network = "USDT", ref("Tron") }), "network"},
		"neither amount nor count":   {aVolume(func(d *Limit) { d.MaxAmount = nil }), "max_amount"},
		"velocity without count":     {aVelocity(func(d *Limit) { d.MaxCount = nil }), "max_count"},
		"zero":                       {aVolume(func(d *Limit) { d.MaxAmount = amountOf("0") }), "max_amount"},
		"one":                        {aVolume(func(d *Limit) { d.MaxAmount = amountOf("1") }), ""},
		"10^72":                      {aVolume(func(d *Limit) { d.MaxAmount = &ledger.MaxAmount }), ""},
		"above 10^72":                {aVolume(func(d *Limit) { d.MaxAmount = amountOf(ledger.MaxAmount.String()[:72] + "1") }), "max_amount"},
		"volume with a count":        {aVolume(func(d *Limit) { d.MaxCount = ref(int64(1)) }), "max_count"},
		"volume with a window":       {aVolume(func(d *Limit) { d.Window = "hour" }), "window"},
		"velocity with an amount":    {aVelocity(func(d *Limit) { d.MaxAmount = amountOf("1") }), "max_amount"},
		"no attempt":                 {aVelocity(func(d *Limit) { d.MaxCount = ref(int64(0)) }), "max_count"},
		"most attempts":              {aVelocity(func(d *Limit) { d.MaxCount = ref(int64(1_000_000)) }), ""},
		"an attempt too many":        {aVelocity(func(d *Limit) { d.MaxCount = ref(int64(1_000_001)) }), "max_count"},
		"no window":                  {aVelocity(func(d *Limit) { d.Window = "" }), "window"},
		"an hour":                    {aVelocity(func(d *Limit) { d.Window = "hour" }), ""},
		"a day":                      {aVelocity(func(d *Limit) { d.Window = "day" }), "window"},
		"terminal":                   {aVolume(func(d *Limit) { d.Terminal = &limitTerminal.ID }), ""},
		"terminal of the type":       {aVolume(func(d *Limit) { d.Terminal, d.Type = &limitTerminal.ID, PaymentTerminal }), ""},
		"terminal of the other type": {aVolume(func(d *Limit) { d.Terminal, d.Type = &limitTerminal.ID, PayoutTerminal }), "terminal_id"},
		"terminal of the other env":  {aVolume(func(d *Limit) { d.Terminal, d.Env = &limitTerminal.ID, "test" }), "terminal_id"},
	} {
		_, _, err := NewLimit(testID(9), limitOwner, limitTerminal, c.draft)
		wantField(t, name, err, c.field)
	}
	for name, terminal := range map[string]*Terminal{
		"no terminal":        nil,
		"another partner's":  {ID: testID(3), Partner: 8, Type: PaymentTerminal, Env: money.Prod},
		"notifications only": {ID: testID(3), Partner: 7, Type: MerchantTerminal, Env: money.Prod},
	} {
		_, _, err := NewLimit(testID(9), limitOwner, terminal, aVolume(func(d *Limit) { d.Terminal = ref(testID(3)) }))
		wantField(t, name, err, "terminal_id")
	}
}

func TestALimitIsWhatWasAskedFor(t *testing.T) {
	l, event, err := NewLimit(testID(9), limitOwner, limitTerminal, aVolume(func(d *Limit) {
		d.Kind, d.Type, d.Terminal, d.Scope = MonthlyVolume, PaymentTerminal, &limitTerminal.ID, ScopeEmail
	}))
	want := Limit{
		ID: testID(9), Org: testID(2), Partner: 7, Terminal: testID(3), Kind: MonthlyVolume, Type: PaymentTerminal,
		Asset: money.Asset{Currency: "USD", Env: money.Prod}, MaxAmount: money.FromUint64(1000), Scope: ScopeEmail, Active: true,
	}
	if err != nil || *l != want || event.Name != "create" || event.From != "" || event.To != "active" || event.Source != (ledger.Source{Kind: ledger.Limit, ID: testID(9)}) {
		t.Errorf("%+v, %+v, %v", l, event, err)
	}
	l, event, err = NewLimit(testID(9), limitOwner, nil, aVelocity(func(d *Limit) { d.Inactive = true }))
	want = Limit{
		ID: testID(9), Org: testID(2), Partner: 7, Kind: Velocity, Asset: money.Asset{Env: money.Prod}, MaxCount: 5, Window: time.Minute, Scope: ScopePartner,
	}
	if err != nil || *l != want || event.To != "inactive" {
		t.Errorf("%+v, %+v, %v", l, event, err)
	}
}

// A currency on one network gets that network. A currency on several networks has none only if
// the request says so.
func TestTheNetworkOfALimitIsResolved(t *testing.T) {
	for _, c := range []struct {
		currency string
		network  *string
		want     money.Network
	}{
		{"ETH", nil, "ethereum"}, {"ETH", ref(""), "ethereum"}, {"ETH", ref("ethereum"), "ethereum"}, {"TON", nil, "ton"},
		{"USD", nil, ""}, {"USD", ref(""), ""}, {"RUBT", nil, ""}, {"USDT", ref(""), ""}, {"USDT", ref("ton"), "ton"}, {"USDC", ref("solana"), "solana"},
	} {
		l, _, err := NewLimit(testID(9), limitOwner, nil, aVolume(func(d *Limit) { d.Currency, d.Network = c.currency, c.network }))
		if err != nil || l.Asset.Network != c.want {
			t.Errorf("%s on %v: %+v %v, want %q", c.currency, c.network, l, err, c.want)
		}
	}
}

func TestOnlyTheBoundAndTheSwitchOfALimitChange(t *testing.T) {
	volume, _, err := NewLimit(testID(9), limitOwner, limitTerminal, aVolume(func(d *Limit) { d.Terminal = &limitTerminal.ID }))
	if err != nil {
		t.Fatal(err)
	}
	velocity, _, err := NewLimit(testID(9), limitOwner, nil, aVelocity(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit *Limit
		patch schema.Change[Limit]
		field string
		event string
	}{
		"nothing":       {volume, func(_ *Limit, _ *schema.Faults) {}, "", ""},
		"amount":        {volume, func(r *Limit, _ *schema.Faults) { r.MaxAmount = *amountOf("2000") }, "", "update"},
		"same amount":   {volume, func(r *Limit, _ *schema.Faults) { r.MaxAmount = *amountOf("1000") }, "", ""},
		"no amount":     {volume, func(r *Limit, _ *schema.Faults) { r.MaxAmount = *amountOf("0") }, "max_amount", ""},
		"count":         {volume, func(r *Limit, _ *schema.Faults) { r.MaxCount = int64(5) }, "max_count", ""},
		"off":           {volume, func(r *Limit, _ *schema.Faults) { r.Active = false }, "", "deactivate"},
		"on":            {volume, func(r *Limit, _ *schema.Faults) { r.Active = true }, "", ""},
		"its partner":   {volume, func(r *Limit, _ *schema.Faults) { r.Partner = int64(7) }, "", ""},
		"partner":       {volume, func(r *Limit, _ *schema.Faults) { r.Partner = int64(8) }, "partner_id", ""},
		"its terminal":  {volume, func(r *Limit, _ *schema.Faults) { r.Terminal = testID(3) }, "", ""},
		"terminal":      {volume, func(r *Limit, _ *schema.Faults) { r.Terminal = testID(4) }, "terminal_id", ""},
		"its kind":      {volume, func(r *Limit, _ *schema.Faults) { r.Kind = DailyVolume }, "", ""},
		"kind":          {volume, func(r *Limit, _ *schema.Faults) { r.Kind = MonthlyVolume }, "kind", ""},
		"type":          {volume, func(r *Limit, _ *schema.Faults) { r.Type = PaymentTerminal }, "type", ""},
		"its currency":  {volume, func(r *Limit, _ *schema.Faults) { r.Currency = "USD" }, "", ""},
		"currency":      {volume, func(r *Limit, _ *schema.Faults) { r.Currency = "EUR" }, "currency", ""},
		"its network":   {volume, func(r *Limit, _ *schema.Faults) { r.Network = "" }, "", ""},
		"network":       {volume, func(r *Limit, _ *schema.Faults) { r.Network = "tron" }, "network", ""},
		"its env":       {volume, func(r *Limit, _ *schema.Faults) { r.Env = "prod" }, "", ""},
		"env":           {volume, func(r *Limit, _ *schema.Faults) { r.Env = "test" }, "env", ""},
		"window":        {volume, func(r *Limit, _ *schema.Faults) { r.Window = "hour" }, "window", ""},
		"its scope":     {volume, func(r *Limit, _ *schema.Faults) { r.Scope = ScopePartner }, "", ""},
		"scope":         {volume, func(r *Limit, _ *schema.Faults) { r.Scope = ScopeIP }, "scope", ""},
		"its window":    {velocity, func(r *Limit, _ *schema.Faults) { r.Window = "minute" }, "", ""},
		"more attempts": {velocity, func(r *Limit, _ *schema.Faults) { r.MaxCount = int64(6) }, "", "update"},
		"too many":      {velocity, func(r *Limit, _ *schema.Faults) { r.MaxCount = int64(1_000_001) }, "max_count", ""},
		"an amount":     {velocity, func(r *Limit, _ *schema.Faults) { r.MaxAmount = *amountOf("1") }, "max_amount", ""},
	} {
		before := *c.limit
		next, event, err := c.limit.Patch(c.patch)
		wantField(t, name, err, c.field)
		if err == nil && (event.Name != c.event || (next == c.limit) != (c.event == "")) {
			t.Errorf("%s: event %q, want %q", name, event.Name, c.event)
		}
		if *c.limit != before {
			t.Errorf("%s: the old record has changed", name)
		}
	}
	off, _, _ := volume.Patch(func(r *Limit, _ *schema.Faults) { r.Active = false; r.MaxAmount = *amountOf("5") })
	on, event, err := off.Patch(func(r *Limit, _ *schema.Faults) { r.Active = true })
	if err != nil || event.Name != "activate" || event.From != "inactive" || event.To != "active" || !on.Active || on.MaxAmount != money.FromUint64(5) {
		t.Errorf("%+v %+v %v", on, event, err)
	}
}

func TestWhatALimitBounds(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	payment := Attempt{Type: PaymentTerminal, Asset: usd, Terminal: testID(3), Payer: Payer{Email: "a@b.c"}}
	for name, c := range map[string]struct {
		limit   Limit
		attempt Attempt
		want    bool
	}{
		"all of it":           {Limit{Active: true, Asset: usd, Scope: ScopePartner}, payment, true},
		"switched off":        {Limit{Asset: usd, Scope: ScopePartner}, payment, false},
		"the other env":       {Limit{Active: true, Asset: money.Asset{Currency: "USD", Env: money.Test}, Scope: ScopePartner}, payment, false},
		"payments":            {Limit{Active: true, Asset: usd, Type: PaymentTerminal, Scope: ScopePartner}, payment, true},
		"payouts":             {Limit{Active: true, Asset: usd, Type: PayoutTerminal, Scope: ScopePartner}, payment, false},
		"the terminal":        {Limit{Active: true, Asset: usd, Terminal: testID(3), Scope: ScopePartner}, payment, true},
		"another terminal":    {Limit{Active: true, Asset: usd, Terminal: testID(4), Scope: ScopePartner}, payment, false},
		"another currency":    {Limit{Active: true, Asset: money.Asset{Currency: "EUR", Env: money.Prod}, Scope: ScopePartner}, payment, false},
		"every currency":      {Limit{Active: true, Asset: money.Asset{Env: money.Prod}, Scope: ScopePartner}, payment, true},
		"an e-mail":           {Limit{Active: true, Asset: usd, Scope: ScopeEmail}, payment, true},
		"an unknown card":     {Limit{Active: true, Asset: usd, Scope: ScopeCard}, payment, false},
		"an unknown address":  {Limit{Active: true, Asset: usd, Scope: ScopeIP}, payment, false},
		"no scope":            {Limit{Active: true, Asset: usd}, payment, false},
		"a network":           {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}}, true},
		"another network":     {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}}, false},
		"an unresolved one":   {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Env: money.Prod}}, true},
		"none was found":      {Limit{Active: true, Asset: usd, Terminal: testID(3), Scope: ScopePartner}, Attempt{Asset: usd}, false},
		"of the whole, found": {Limit{Active: true, Asset: usd, Scope: ScopePartner}, Attempt{Asset: usd}, true},
	} {
		if _, got := c.limit.Bounds(&c.attempt); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestSubjectsAreToldApartAndShowNobody(t *testing.T) {
	p := Payer{Card: "0123456789abcdef0123456789abcdef", Email: "a@example.com", IP: netip.MustParseAddr("192.0.2.1")}
	for scope, want := range map[Scope]string{
		ScopePartner: "",
		ScopeCard:    p.Card,
		// echo -n a@example.com | sha256sum | cut -c1-32; the address likewise.
		ScopeEmail: "08168cd80dfd534ab0f10af10f1303fe",
		ScopeIP:    "37fcff24bf62035b2b08020afc08b4fe",
	} {
		got, known := p.Subject(scope)
		if !known || got != want {
			t.Errorf("%s: %q %v, want %q", scope, got, known, want)
		}
		if _, known := new(Payer).Subject(scope); known != (scope == ScopePartner) {
			t.Errorf("%s: nobody is known %v", scope, known)
		}
	}
}

func TestWhatRemainsOfALimit(t *testing.T) {
	volume := &Limit{Kind: DailyVolume, MaxAmount: money.FromUint64(1000)}
	velocity := &Limit{Kind: Velocity, MaxCount: 5}
	n := money.FromUint64
	for name, c := range map[string]struct {
		limit *Limit
		usage Usage
		want  uint64
	}{
		"all":              {volume, Usage{}, 1000},
		"some":             {volume, Usage{Used: n(300), Reserved: n(200)}, 500},
		"none":             {volume, Usage{Used: n(999), Reserved: n(1)}, 0},
		"less than none":   {volume, Usage{Used: n(999), Reserved: n(2)}, 0},
		"a limit that was": {volume, Usage{Used: n(1001)}, 0},
		"the largest":      {volume, Usage{Used: money.Max, Reserved: money.Max}, 0},
		"attempts":         {velocity, Usage{Count: 2}, 3},
		"no attempt":       {velocity, Usage{Count: 5}, 0},
		"too many":         {velocity, Usage{Count: 7}, 0},
	} {
		if got := c.usage.Remaining(c.limit); got != n(c.want) {
			t.Errorf("%s: %v remain, want %d", name, got, c.want)
		}
	}
}
