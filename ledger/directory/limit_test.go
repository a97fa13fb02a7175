package directory

import (
	"net/netip"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// limitTerminal is the terminal that the limits in the tests name.
var limitTerminal = &Terminal{ID: testID(3), Org: testID(2), Partner: 7, Type: PaymentTerminal, Env: money.Prod}

// volumeBody and velocityBody return the bodies of valid requests for limits. The members in changes replace those of the
// body.
func volumeBody(t *testing.T, changes string) string {
	t.Helper()
	return mergeObjects(t, `{"partner_id":7,"kind":"daily_volume","max_amount":"1000","currency":"USD"}`, changes)
}

func velocityBody(t *testing.T, changes string) string {
	t.Helper()
	return mergeObjects(t, `{"partner_id":7,"kind":"velocity","max_count":5,"window":"minute"}`, changes)
}

// newLimit creates the limit that a request with this body asks for. terminal is the terminal that the request names.
func newLimit(t *testing.T, terminal *Terminal, body string) (l *Limit, event ledger.Event, err error) {
	t.Helper()
	l, err = createByRequest(t, Limits, body, func(draft Limit) (l *Limit, err error) {
		draft.ID, draft.Org = testID(9), testID(2)
		l, event, err = NewLimit(draft, terminal)
		return l, err
	})
	return l, event, err
}

func TestBoundsOfLimitFields(t *testing.T) {
	withTerminal := func(more string) string { return `{"terminal_id":"` + limitTerminal.ID.String() + `"` + more + `}` }
	for name, c := range map[string]struct {
		body  string
		field string
	}{
		"valid volume":                           {volumeBody(t, `{}`), ""},
		"valid velocity":                         {velocityBody(t, `{}`), ""},
		"no partner":                             {volumeBody(t, `{"partner_id":null}`), "partner_id"},
		"partner below one":                      {volumeBody(t, `{"partner_id":0}`), "partner_id"},
		"no kind":                                {volumeBody(t, `{"kind":null}`), "kind"},
		"empty kind":                             {volumeBody(t, `{"kind":""}`), "kind"},
		"unknown kind":                           {volumeBody(t, `{"kind":"weekly_volume"}`), "kind"},
		"payments":                               {volumeBody(t, `{"type":"payment"}`), ""},
		"payouts":                                {volumeBody(t, `{"type":"payout"}`), ""},
		"empty type":                             {volumeBody(t, `{"type":""}`), ""},
		"volume with an empty window":            {volumeBody(t, `{"window":""}`), ""},
		"type without transactions":              {volumeBody(t, `{"type":"merchant"}`), "type"},
		"unknown scope":                          {volumeBody(t, `{"scope":"country"}`), "scope"},
		"empty scope":                            {volumeBody(t, `{"scope":""}`), ""},
		"card scope":                             {volumeBody(t, `{"scope":"card"}`), ""},
		"limit per transaction":                  {volumeBody(t, `{"kind":"per_transaction"}`), ""},
		"limit per transaction in card scope":    {volumeBody(t, `{"kind":"per_transaction","scope":"card"}`), "scope"},
		"unknown env":                            {volumeBody(t, `{"env":"live"}`), "env"},
		"test env":                               {volumeBody(t, `{"env":"test"}`), ""},
		"empty env":                              {volumeBody(t, `{"env":""}`), ""},
		"no currency":                            {volumeBody(t, `{"currency":null}`), "currency"},
		"unsupported currency":                   {volumeBody(t, `{"currency":"AED"}`), "currency"},
		"velocity of an unsupported currency":    {velocityBody(t, `{"currency":"JPY"}`), "currency"},
		"velocity of a currency":                 {velocityBody(t, `{"currency":"EUR"}`), ""},
		"network without currency":               {velocityBody(t, `{"network":"tron"}`), "network"},
		"velocity with an empty network":         {velocityBody(t, `{"network":""}`), ""},
		"several networks, none named":           {volumeBody(t, `{"currency":"USDT"}`), "network"},
		"several networks, null":                 {volumeBody(t, `{"currency":"USDT","network":null}`), "network"},
		"velocity, several networks, none named": {velocityBody(t, `{"currency":"USDT"}`), "network"},
		"one of several networks":                {volumeBody(t, `{"currency":"USDT","network":"bsc"}`), ""},
		"unresolved network":                     {volumeBody(t, `{"currency":"USDT","network":""}`), ""},
		"network of another currency":            {volumeBody(t, `{"currency":"USDT","network":"solana"}`), "network"},
		"not the currency's only network":        {volumeBody(t, `{"currency":"TRX","network":"ton"}`), "network"},
		"network of a fiat currency":             {volumeBody(t, `{"network":"tron"}`), "network"},
		"malformed network":                      {volumeBody(t, `{"currency":"USDT","network":"Tron"}`), "network"},
		"neither amount nor count":               {volumeBody(t, `{"max_amount":null}`), "max_amount"},
		"velocity without count":                 {velocityBody(t, `{"max_count":null}`), "max_count"},
		"amount of zero":                         {volumeBody(t, `{"max_amount":"0"}`), "max_amount"},
		"amount of one":                          {volumeBody(t, `{"max_amount":"1"}`), ""},
		"largest amount":                         {volumeBody(t, `{"max_amount":"`+ledger.MaxAmount.String()+`"}`), ""},
		"amount above the largest":               {volumeBody(t, `{"max_amount":"`+ledger.MaxAmount.String()[:72]+`1"}`), "max_amount"},
		"volume with a count":                    {volumeBody(t, `{"max_count":1}`), "max_count"},
		"volume with a count of zero":            {volumeBody(t, `{"max_count":0}`), "max_count"},
		"volume with a window":                   {volumeBody(t, `{"window":"hour"}`), "window"},
		"volume with an unknown window":          {volumeBody(t, `{"window":"day"}`), "window"},
		"velocity with an amount":                {velocityBody(t, `{"max_amount":"1"}`), "max_amount"},
		"velocity with an amount of zero":        {velocityBody(t, `{"max_amount":"0"}`), "max_amount"},
		"count of zero":                          {velocityBody(t, `{"max_count":0}`), "max_count"},
		"largest count":                          {velocityBody(t, `{"max_count":1000000}`), ""},
		"count above the largest":                {velocityBody(t, `{"max_count":1000001}`), "max_count"},
		"no window":                              {velocityBody(t, `{"window":null}`), "window"},
		"empty window":                           {velocityBody(t, `{"window":""}`), "window"},
		"window of an hour":                      {velocityBody(t, `{"window":"hour"}`), ""},
		"window of a day":                        {velocityBody(t, `{"window":"day"}`), "window"},
		"existing terminal":                      {volumeBody(t, withTerminal(``)), ""},
		"terminal of the type":                   {volumeBody(t, withTerminal(`,"type":"payment"`)), ""},
		"terminal of the other type":             {volumeBody(t, withTerminal(`,"type":"payout"`)), "terminal_id"},
		"terminal of the other env":              {volumeBody(t, withTerminal(`,"env":"test"`)), "terminal_id"},
	} {
		_, _, err := newLimit(t, limitTerminal, c.body)
		wantField(t, name, err, c.field)
	}
	for name, terminal := range map[string]*Terminal{
		"terminal that does not exist":    nil,
		"terminal of another partner":     {ID: testID(3), Partner: 8, Type: PaymentTerminal, Env: money.Prod},
		"terminal for notifications only": {ID: testID(3), Partner: 7, Type: MerchantTerminal, Env: money.Prod},
	} {
		_, _, err := newLimit(t, terminal, volumeBody(t, withTerminal("")))
		wantField(t, name, err, "terminal_id")
	}
}

func TestNewLimitHasTheRequestedFields(t *testing.T) {
	l, event, err := newLimit(t, limitTerminal,
		volumeBody(t, `{"kind":"monthly_volume","type":"payment","terminal_id":"`+limitTerminal.ID.String()+`","scope":"email"}`))
	want := Limit{
		ID: testID(9), Org: testID(2), Partner: 7, Terminal: testID(3), Kind: MonthlyVolume, Type: PaymentTerminal,
		Asset: money.Asset{Currency: "USD", Env: money.Prod}, MaxAmount: money.FromUint64(1000), Scope: ScopeEmail, Active: true,
	}
	if err != nil || *l != want || event.Name != "create" || event.From != "" || event.To != "active" || event.Source != (ledger.Source{Kind: ledger.Limit, ID: testID(9)}) {
		t.Errorf("%+v, %+v, %v", l, event, err)
	}
	l, event, err = newLimit(t, nil, velocityBody(t, `{"active":false}`))
	want = Limit{
		ID: testID(9), Org: testID(2), Partner: 7, Kind: Velocity, Asset: money.Asset{Env: money.Prod}, MaxCount: 5, Window: time.Minute, Scope: ScopePartner,
	}
	if err != nil || *l != want || event.To != "inactive" {
		t.Errorf("%+v, %+v, %v", l, event, err)
	}
}

// A currency on one network gets that network. For a currency on several networks, the request must name a network or
// send an empty one.
func TestTheNetworkOfALimitIsResolved(t *testing.T) {
	for changes, want := range map[string]money.Network{
		`{"currency":"ETH"}`:                      "ethereum",
		`{"currency":"ETH","network":null}`:       "ethereum",
		`{"currency":"ETH","network":""}`:         "ethereum",
		`{"currency":"ETH","network":"ethereum"}`: "ethereum",
		`{"currency":"TON"}`:                      "ton",
		`{"currency":"USD"}`:                      "",
		`{"currency":"USD","network":""}`:         "",
		`{"currency":"RUBT"}`:                     "",
		`{"currency":"USDT","network":""}`:        "",
		`{"currency":"USDT","network":"ton"}`:     "ton",
		`{"currency":"USDC","network":"solana"}`:  "solana",
	} {
		l, _, err := newLimit(t, nil, volumeBody(t, changes))
		if err != nil || l.Asset.Network != want {
			t.Errorf("%s: %+v %v, want %q", changes, l, err, want)
		}
	}
}

func TestOnlyTheBoundAndTheSwitchOfALimitChange(t *testing.T) {
	volume, _, err := newLimit(t, limitTerminal, volumeBody(t, `{"terminal_id":"`+limitTerminal.ID.String()+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	velocity, _, err := newLimit(t, nil, velocityBody(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit *Limit
		body  string
		field string
		event string
	}{
		"no change":                {volume, `{}`, "", ""},
		"another amount":           {volume, `{"max_amount":"2000"}`, "", "update"},
		"same amount":              {volume, `{"max_amount":"1000"}`, "", ""},
		"amount of zero":           {volume, `{"max_amount":"0"}`, "max_amount", ""},
		"null amount":              {volume, `{"max_amount":null}`, "max_amount", ""},
		"count of a volume limit":  {volume, `{"max_count":5}`, "max_count", ""},
		"null count":               {volume, `{"max_count":null}`, "", ""},
		"switched off":             {volume, `{"active":false}`, "", "deactivate"},
		"already active":           {volume, `{"active":true}`, "", ""},
		"null active":              {volume, `{"active":null}`, "active", ""},
		"same partner":             {volume, `{"partner_id":7}`, "", ""},
		"another partner":          {volume, `{"partner_id":8}`, "partner_id", ""},
		"same terminal":            {volume, `{"terminal_id":"` + testID(3).String() + `"}`, "", ""},
		"another terminal":         {volume, `{"terminal_id":"` + testID(4).String() + `"}`, "terminal_id", ""},
		"null terminal":            {volume, `{"terminal_id":null}`, "terminal_id", ""},
		"same kind":                {volume, `{"kind":"daily_volume"}`, "", ""},
		"another kind":             {volume, `{"kind":"monthly_volume"}`, "kind", ""},
		"another type":             {volume, `{"type":"payment"}`, "type", ""},
		"null type, as stored":     {volume, `{"type":null}`, "", ""},
		"same currency":            {volume, `{"currency":"USD"}`, "", ""},
		"another currency":         {volume, `{"currency":"EUR"}`, "currency", ""},
		"same network":             {volume, `{"network":""}`, "", ""},
		"another network":          {volume, `{"network":"tron"}`, "network", ""},
		"same env":                 {volume, `{"env":"prod"}`, "", ""},
		"another env":              {volume, `{"env":"test"}`, "env", ""},
		"window of a volume limit": {volume, `{"window":"hour"}`, "window", ""},
		"same scope":               {volume, `{"scope":"partner"}`, "", ""},
		"another scope":            {volume, `{"scope":"ip"}`, "scope", ""},
		"same window":              {velocity, `{"window":"minute"}`, "", ""},
		"more attempts":            {velocity, `{"max_count":6}`, "", "update"},
		"too many attempts":        {velocity, `{"max_count":1000001}`, "max_count", ""},
		"null count of velocity":   {velocity, `{"max_count":null}`, "max_count", ""},
		"amount of velocity":       {velocity, `{"max_amount":"1"}`, "max_amount", ""},
		"null amount of velocity":  {velocity, `{"max_amount":null}`, "", ""},
	} {
		before := *c.limit
		next, event, err := c.limit.Patch(changeOf(t, Limits, c.body))
		wantField(t, name, err, c.field)
		if err == nil && (event.Name != c.event || (next == c.limit) != (c.event == "")) {
			t.Errorf("%s: event %q, want %q", name, event.Name, c.event)
		}
		if *c.limit != before {
			t.Errorf("%s: the old record has changed", name)
		}
	}
	inactive, _, _ := volume.Patch(func(l *Limit, _ *schema.Faults) { l.Active, l.MaxAmount = false, money.FromUint64(5) })
	reactivated, event, err := inactive.Patch(func(l *Limit, _ *schema.Faults) { l.Active = true })
	if err != nil || event.Name != "activate" || event.From != "inactive" || event.To != "active" || !reactivated.Active || reactivated.MaxAmount != money.FromUint64(5) {
		t.Errorf("%+v %+v %v", reactivated, event, err)
	}
}

func TestAStoredLimitOfANetworkThatIsGoneCanBeSwitchedOff(t *testing.T) {
	stored := &Limit{
		Partner: 7, Kind: DailyVolume, Asset: money.Asset{Currency: "USDT", Network: "gone", Env: money.Prod}, MaxAmount: money.FromUint64(5),
		Scope: ScopePartner, Active: true,
	}
	payload, err := Limits.AppendStored(nil, stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := readRecord(Limits, stored.Org, stored.ID, payload, nil)
	if err != nil || *read != *stored {
		t.Fatalf("%+v, %v", read, err)
	}
	if inactive, event, err := read.Patch(changeOf(t, Limits, `{"active":false,"network":"gone"}`)); err != nil || inactive.Active || event.Name != "deactivate" {
		t.Errorf("%+v, %v", inactive, err)
	}
}

func TestWhichAttemptsALimitAppliesTo(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	payment := Attempt{Type: PaymentTerminal, Asset: usd, Terminal: testID(3), Payer: Payer{Email: "a@b.c"}}
	for name, c := range map[string]struct {
		limit   Limit
		attempt Attempt
		want    bool
	}{
		"everything fits":                        {Limit{Active: true, Asset: usd, Scope: ScopePartner}, payment, true},
		"switched off":                           {Limit{Asset: usd, Scope: ScopePartner}, payment, false},
		"the other env":                          {Limit{Active: true, Asset: money.Asset{Currency: "USD", Env: money.Test}, Scope: ScopePartner}, payment, false},
		"payments":                               {Limit{Active: true, Asset: usd, Type: PaymentTerminal, Scope: ScopePartner}, payment, true},
		"payouts":                                {Limit{Active: true, Asset: usd, Type: PayoutTerminal, Scope: ScopePartner}, payment, false},
		"the terminal":                           {Limit{Active: true, Asset: usd, Terminal: testID(3), Scope: ScopePartner}, payment, true},
		"another terminal":                       {Limit{Active: true, Asset: usd, Terminal: testID(4), Scope: ScopePartner}, payment, false},
		"another currency":                       {Limit{Active: true, Asset: money.Asset{Currency: "EUR", Env: money.Prod}, Scope: ScopePartner}, payment, false},
		"every currency":                         {Limit{Active: true, Asset: money.Asset{Env: money.Prod}, Scope: ScopePartner}, payment, true},
		"an e-mail":                              {Limit{Active: true, Asset: usd, Scope: ScopeEmail}, payment, true},
		"an unknown card":                        {Limit{Active: true, Asset: usd, Scope: ScopeCard}, payment, false},
		"an unknown address":                     {Limit{Active: true, Asset: usd, Scope: ScopeIP}, payment, false},
		"no scope":                               {Limit{Active: true, Asset: usd}, payment, false},
		"a network":                              {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}}, true},
		"another network":                        {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}}, false},
		"unresolved network":                     {Limit{Active: true, Asset: money.Asset{Currency: "USDT", Env: money.Prod}, Scope: ScopePartner}, Attempt{Asset: money.Asset{Currency: "USDT", Env: money.Prod}}, true},
		"limit of a terminal, no terminal found": {Limit{Active: true, Asset: usd, Terminal: testID(3), Scope: ScopePartner}, Attempt{Asset: usd}, false},
		"limit of all terminals, no terminal found": {Limit{Active: true, Asset: usd, Scope: ScopePartner}, Attempt{Asset: usd}, true},
	} {
		if _, got := c.limit.AppliesTo(&c.attempt); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestSubjectsAreDistinctAndHashed(t *testing.T) {
	p := Payer{Card: "0123456789abcdef0123456789abcdef", Email: "a@example.com", IP: netip.MustParseAddr("192.0.2.1")}
	for scope, want := range map[Scope]string{
		ScopePartner: "",
		ScopeCard:    p.Card,
		// Computed with: echo -n a@example.com | sha256sum | cut -c1-32. The IP address is hashed in the same way.
		ScopeEmail: "08168cd80dfd534ab0f10af10f1303fe",
		ScopeIP:    "37fcff24bf62035b2b08020afc08b4fe",
	} {
		got, known := p.Subject(scope)
		if !known || got != want {
			t.Errorf("%s: %q %v, want %q", scope, got, known, want)
		}
		if _, known := new(Payer).Subject(scope); known != (scope == ScopePartner) {
			t.Errorf("%s: a payer without data has a subject: %v", scope, known)
		}
	}
}

func TestRemainingLimit(t *testing.T) {
	volume := &Limit{Kind: DailyVolume, MaxAmount: money.FromUint64(1000)}
	velocity := &Limit{Kind: Velocity, MaxCount: 5}
	amount := money.FromUint64
	for name, c := range map[string]struct {
		limit *Limit
		usage Usage
		want  uint64
	}{
		"nothing used":                      {volume, Usage{}, 1000},
		"partly used":                       {volume, Usage{SettledAmount: amount(300), ReservedAmount: amount(200)}, 500},
		"used up":                           {volume, Usage{SettledAmount: amount(999), ReservedAmount: amount(1)}, 0},
		"used and reserved above the limit": {volume, Usage{SettledAmount: amount(999), ReservedAmount: amount(2)}, 0},
		"used above a lowered limit":        {volume, Usage{SettledAmount: amount(1001)}, 0},
		"the largest amounts":               {volume, Usage{SettledAmount: money.Max, ReservedAmount: money.Max}, 0},
		"some attempts":                     {velocity, Usage{Count: 2}, 3},
		"no attempt left":                   {velocity, Usage{Count: 5}, 0},
		"more attempts than allowed":        {velocity, Usage{Count: 7}, 0},
	} {
		if got := c.usage.Remaining(c.limit); got != amount(c.want) {
			t.Errorf("%s: %v remain, want %d", name, got, c.want)
		}
	}
}
