package directory

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func testID(n byte) ledger.ID { return ledger.ID{15: n} }

func wantRefusal(t *testing.T, err error) *ledger.Refusal {
	t.Helper()
	var r *ledger.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not a refusal: %v", err)
	}
	return r
}

// wantField checks that the error is about the field. If the argument field is empty, there must be no error.
func wantField(t *testing.T, label string, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("%s: %v", label, err)
		}
		return
	}
	if err == nil {
		t.Errorf("%s: accepted, want a refusal of %s", label, field)
		return
	}
	if r := wantRefusal(t, err); r.Code != ledger.Invalid || r.Field != field {
		t.Errorf("%s: refused %s for %q, want %s", label, r.Field, r.Code, field)
	}
}

func TestFieldsOfAnOrganizationAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		draft Organization
		field string
	}{
		"defaults":                   {Organization{Name: "A", Type: Merchant, Status: Active}, ""},
		"all fields":                 {Organization{Name: "A", Type: Bank, Status: Maintenance, Modules: []string{IslamicFinance}, Regions: []string{"AE", "MY"}}, ""},
		"no name":                    {Organization{Type: Merchant, Status: Active}, "name"},
		"blank name":                 {Organization{Name: " \t", Type: Merchant, Status: Active}, "name"},
		"longest name":               {Organization{Name: strings.Repeat("é", MaxText), Type: Merchant, Status: Active}, ""},
		"too long a name":            {Organization{Name: strings.Repeat("é", MaxText+1), Type: Merchant, Status: Active}, "name"},
		"control character in name":  {Organization{Name: "a\x00b", Type: Merchant, Status: Active}, "name"},
		"name not in UTF-8":          {Organization{Name: "a\xffb", Type: Merchant, Status: Active}, "name"},
		"unknown type":               {Organization{Name: "A", Type: "Bank", Status: Active}, "type"},
		"unknown status":             {Organization{Name: "A", Status: "closed", Type: Merchant}, "status"},
		"unknown module":             {Organization{Name: "A", Modules: []string{"lending"}, Type: Merchant, Status: Active}, "modules"},
		"region in lower case":       {Organization{Name: "A", Regions: []string{"ae"}, Type: Merchant, Status: Active}, "allowed_regions"},
		"as many regions as allowed": {Organization{Name: "A", Regions: manyRegions(MaxRegions), Type: Merchant, Status: Active}, ""},
		"too many regions":           {Organization{Name: "A", Regions: manyRegions(MaxRegions + 1), Type: Merchant, Status: Active}, "allowed_regions"},
	} {
		_, _, err := NewOrganization(c.draft)
		wantField(t, name, err, c.field)
	}
}

func manyRegions(n int) (regions []string) {
	for i := range n {
		regions = append(regions, string([]byte{byte('A' + i/26), byte('A' + i%26)}))
	}
	return regions
}

func TestModulesAndRegionsOfAnOrganization(t *testing.T) {
	o, event, err := NewOrganization(Organization{
		ID: testID(1), Name: "A", Type: Merchant, Status: Active,
		Modules: []string{ParticipatoryFinance, IslamicFinance, ParticipatoryFinance}, Regions: []string{"MY", "AE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Type != Merchant || !o.Active() || event.Name != "create" || event.From != "" || event.To != "active" {
		t.Errorf("%+v, %+v", o, event)
	}
	if fmt.Sprint(o.Modules, o.Regions) != "[islamic_finance participatory_finance] [AE MY]" {
		t.Errorf("%v %v", o.Modules, o.Regions)
	}
	if !o.HasModule(IslamicFinance) || o.HasModule("lending") || !o.AllowsRegion("AE") || o.AllowsRegion("SA") {
		t.Error("modules or regions are not as drafted")
	}
	if withoutRegions := (&Organization{}); !withoutRegions.AllowsRegion("SA") {
		t.Error("an organization without a list of regions must allow all")
	}
}

func TestFieldsInTheRequestForAnOrganizationAreChecked(t *testing.T) {
	newOrganization := func(draft Organization) (*Organization, error) {
		o, _, err := NewOrganization(draft)
		return o, err
	}
	for body, field := range map[string]string{
		`{"name":"A"}`:                          "",
		`{}`:                                    "name",
		`{"name":"A","type":"shop"}`:            "type",
		`{"name":"A","type":7}`:                 "type",
		`{"name":"A","type":""}`:                "", // an empty text counts as absent
		`{"name":"A","status":"closed"}`:        "status",
		`{"name":"A","status":null}`:            "",
		`{"name":"A","modules":"lending"}`:      "modules",
		`{"name":"A","modules":["lending"]}`:    "modules",
		`{"name":"A","modules":[]}`:             "",
		`{"name":"A","allowed_regions":["ae"]}`: "allowed_regions",
		`{"name":"A","allowed_regions":[null]}`: "allowed_regions",
		`{"name":"A","allowed_regions":null}`:   "",
		`{"name":"A","allowed_regions":["AE"]}`: "",
	} {
		_, err := createByRequest(t, Organizations, body, newOrganization)
		wantField(t, body, err, field)
	}
	o, err := createByRequest(t, Organizations, `{"name":"A"}`, newOrganization)
	if err != nil || o.Type != Merchant || o.Status != Active {
		t.Errorf("the defaults are %+v, %v", o, err)
	}
	for body, field := range map[string]string{`{"type":null}`: "type", `{"status":null}`: "status", `{"name":null}`: "name", `{"modules":null}`: "", `{"type":"bank"}`: ""} {
		_, _, err := o.Patch(changeOf(t, Organizations, body))
		wantField(t, body, err, field)
	}
}

func TestFieldsInTheRequestForAKeyAreChecked(t *testing.T) {
	const now = ledger.Micros(1_000_000)
	for body, c := range map[string]struct {
		field   string
		expires ledger.Micros
	}{
		`{"partner_id":7,"name":"k"}`:                                            {"", 0},
		`{"partner_id":7,"name":"k","expires_at":null}`:                          {"", 0},
		`{"partner_id":7,"name":"k","expires_at":"1970-01-01T00:00:02Z"}`:        {"", 2_000_000},
		`{"partner_id":7,"name":"k","expires_at":"1970-01-01T01:00:02.5+01:00"}`: {"", 2_500_000},
		`{"partner_id":7,"name":"k","expires_at":"1970-01-01T00:00:01Z"}`:        {"expires_at", 0},
		`{"partner_id":7,"name":"k","expires_at":"1969-01-01T00:00:01Z"}`:        {"expires_at", 0},
		`{"partner_id":7,"name":"k","expires_at":"1970-01-02"}`:                  {"expires_at", 0},
		`{"partner_id":7,"name":"k","expires_at":""}`:                            {"expires_at", 0},
		`{"partner_id":7,"name":"k","expires_at":7}`:                             {"expires_at", 0},
		`{"partner_id":7}`:            {"name", 0},
		`{"name":"k"}`:                {"partner_id", 0},
		`{"partner_id":0,"name":"k"}`: {"partner_id", 0},
	} {
		k, err := createByRequest(t, APIKeys, body, func(draft APIKey) (*APIKey, error) {
			k, _, err := NewAPIKey(draft, now)
			return k, err
		})
		wantField(t, body, err, c.field)
		if err == nil && k.ExpiresAt != c.expires {
			t.Errorf("%s expires at %d, want %d", body, k.ExpiresAt, c.expires)
		}
	}
}

func TestFieldsOfAPartnerAreChecked(t *testing.T) {
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	for name, c := range map[string]struct {
		change func(*Partner)
		field  string
	}{
		"required fields only":        {func(*Partner) {}, ""},
		"no login":                    {func(d *Partner) { d.Login = "" }, "login"},
		"login with space":            {func(d *Partner) { d.Login = "a b" }, "login"},
		"login too long":              {func(d *Partner) { d.Login = strings.Repeat("x", MaxText+1) }, "login"},
		"no name":                     {func(d *Partner) { d.Name = "" }, "name"},
		"email":                       {func(d *Partner) { d.Email = "shop@example.com" }, ""},
		"email with name":             {func(d *Partner) { d.Email = "Shop <shop@example.com>" }, "email"},
		"email without at":            {func(d *Partner) { d.Email = "shop.example.com" }, "email"},
		"known lang":                  {func(d *Partner) { d.Lang = "ur" }, ""},
		"lang of three letters":       {func(d *Partner) { d.Lang = "kaz" }, "lang"},
		"lang and region":             {func(d *Partner) { d.Lang = "es-419" }, "lang"},
		"upper case lang":             {func(d *Partner) { d.Lang = "EN" }, "lang"},
		"lang by its name":            {func(d *Partner) { d.Lang = "russian" }, "lang"},
		"language without texts":      {func(d *Partner) { d.Lang = "zh" }, "lang"},
		"valid url":                   {func(d *Partner) { d.NotifyURL = "https://example.com/hook?a=b" }, ""},
		"ftp url":                     {func(d *Partner) { d.NotifyURL = "ftp://example.com/" }, "notify_url"},
		"url with user":               {func(d *Partner) { d.NotifyURL = "https://u:p@example.com/" }, "notify_url"},
		"url without host":            {func(d *Partner) { d.NotifyURL = "https:///x" }, "notify_url"},
		"secret too long":             {func(d *Partner) { d.Secret = strings.Repeat("s", MaxSecret+1) }, "secret"},
		"as many sources as allowed":  {func(d *Partner) { d.Sources = make([]netip.Prefix, MaxSources) }, ""},
		"too many sources":            {func(d *Partner) { d.Sources = make([]netip.Prefix, MaxSources+1) }, "source_addresses"},
		"largest overdraft":           {func(d *Partner) { d.Overdraft = []Overdraft{{usd, ledger.MaxAmount}} }, ""},
		"two overdrafts in one asset": {func(d *Partner) { d.Overdraft = []Overdraft{{Asset: usd}, {Asset: usd}} }, "overdraft_limit.1"},
		"overdraft too large":         {func(d *Partner) { d.Overdraft = []Overdraft{{usd, money.Max}} }, "overdraft_limit.0.amount"},
		"overdraft without env":       {func(d *Partner) { d.Overdraft = []Overdraft{{Asset: money.Asset{Currency: "USD"}}} }, "overdraft_limit.0.env"},
		"overdraft in an unsupported currency": {func(d *Partner) {
			d.Overdraft = []Overdraft{{Asset: money.Asset{Currency: "JPY", Env: money.Prod}}}
		}, "overdraft_limit.0.currency"},
		"overdraft with a malformed network": {func(d *Partner) {
			d.Overdraft = []Overdraft{{Asset: money.Asset{Currency: "USDT", Network: "Tron!", Env: money.Prod}}}
		}, "overdraft_limit.0.network"},
		"too many overdrafts": {func(d *Partner) { d.Overdraft = make([]Overdraft, MaxOverdraft+1) }, "overdraft_limit"},
	} {
		draft := Partner{Number: 1, Name: "Shop", Login: "shop", Active: true}
		c.change(&draft)
		_, err := newPartner(draft)
		wantField(t, name, err, c.field)
	}
	wantField(t, "longest pass", CheckPassword(make([]byte, MaxPassword)), "")
	wantField(t, "too long a pass", CheckPassword(make([]byte, MaxPassword+1)), "pass")
	wantField(t, "no pass", CheckPassword(nil), "pass")
}

func newPartner(draft Partner) (*Partner, error) {
	draft.Number = 1
	p, _, err := NewPartner(draft, false)
	return p, err
}

func TestFieldsInTheRequestForAPartnerAreChecked(t *testing.T) {
	const minimal = `{"name":"Shop","login":"shop"}`
	entries := func(n int, entry string) string { return "[" + strings.Repeat(entry+",", n-1) + entry + "]" }
	for changes, field := range map[string]string{
		`{}`:                "",
		`{"login":null}`:    "login",
		`{"name":null}`:     "name",
		`{"name":7}`:        "name",
		`{"email":null}`:    "",
		`{"email":""}`:      "",
		`{"lang":null}`:     "",
		`{"lang":""}`:       "lang",
		`{"notify_url":""}`: "notify_url",
		`{"secret":null}`:   "",
		`{"secret":""}`:     "secret",
		`{"secret":"•••"}`:  "secret",
		`{"active":"yes"}`:  "active",
		`{"active":null}`:   "",
		`{"source_addresses":["10.0.0.0/8","::1","192.0.2.7"]}`:                                                      "",
		`{"source_addresses":["10.0.0.1","example.com"]}`:                                                            "source_addresses.1",
		`{"source_addresses":["fe80::1%eth0"]}`:                                                                      "source_addresses.0",
		`{"source_addresses":["fe80::%eth0/64"]}`:                                                                    "source_addresses.0",
		`{"source_addresses":["::1","::ffff:1.2.3.0/95"]}`:                                                           "source_addresses.1",
		`{"source_addresses":` + entries(MaxSources, `"::1"`) + `}`:                                                  "",
		`{"source_addresses":` + entries(MaxSources+1, `"::1"`) + `}`:                                                "source_addresses",
		`{"source_addresses":"::1"}`:                                                                                 "source_addresses",
		`{"source_addresses":[null]}`:                                                                                "source_addresses",
		`{"source_addresses":null}`:                                                                                  "",
		`{"overdraft_limit":null}`:                                                                                   "",
		`{"overdraft_limit":{}}`:                                                                                     "overdraft_limit",
		`{"overdraft_limit":[7]}`:                                                                                    "overdraft_limit",
		`{"overdraft_limit":[{"currency":"USD","amount":"0"}]}`:                                                      "",
		`{"overdraft_limit":[{"currency":"USD"}]}`:                                                                   "overdraft_limit.0.amount",
		`{"overdraft_limit":[{"currency":"USD","amount":5}]}`:                                                        "overdraft_limit.0.amount",
		`{"overdraft_limit":[{"amount":"5"}]}`:                                                                       "overdraft_limit.0.currency",
		`{"overdraft_limit":[{"currency":"usd","amount":"5"}]}`:                                                      "overdraft_limit.0.currency",
		`{"overdraft_limit":[{"currency":"USD","amount":"5","env":"live"}]}`:                                         "overdraft_limit.0.env",
		`{"overdraft_limit":[{"currency":"USD","amount":"5","env":"test"}]}`:                                         "",
		`{"overdraft_limit":[{"currency":"USDT","amount":"5"}]}`:                                                     "overdraft_limit.0.network",
		`{"overdraft_limit":[{"currency":"USDT","amount":"5","network":null}]}`:                                      "overdraft_limit.0.network",
		`{"overdraft_limit":[{"currency":"USDT","amount":"5","network":""}]}`:                                        "",
		`{"overdraft_limit":[{"currency":"USDT","amount":"5","network":"tron"}]}`:                                    "",
		`{"overdraft_limit":[{"currency":"USDT","amount":"5","network":"Tron!"}]}`:                                   "overdraft_limit.0.network",
		`{"overdraft_limit":[{"currency":"ETH","amount":"5"}]}`:                                                      "",
		`{"overdraft_limit":[{"currency":"ETH","amount":"5","network":"tron"}]}`:                                     "overdraft_limit.0.network",
		`{"overdraft_limit":[{"currency":"USD","amount":"5"},{"currency":"USD","amount":"6"}]}`:                      "overdraft_limit.1",
		`{"overdraft_limit":[{"currency":"ETH","amount":"5"},{"currency":"ETH","network":"ethereum","amount":"6"}]}`: "overdraft_limit.1",
		`{"overdraft_limit":` + entries(MaxOverdraft+1, `{"currency":"USD","amount":"5"}`) + `}`:                     "overdraft_limit",
	} {
		_, err := createByRequest(t, Partners, mergeObjects(t, minimal, changes), newPartner)
		wantField(t, firstCharacters(changes), err, field)
	}
	if p, err := createByRequest(t, Partners, minimal, newPartner); err != nil || !p.Active {
		t.Errorf("the defaults are %+v, %v", p, err)
	}
}

func TestWhatNeverChangesOfAPartner(t *testing.T) {
	stored := &Partner{ID: testID(1), Org: testID(2), Number: 7, Name: "Shop", Login: "shop", Secret: "s", Active: true}
	for body, field := range map[string]string{
		`{"id":7,"login":"shop"}`: "",
		`{"id":8}`:                "id",
		`{"login":"other"}`:       "login",
		`{"login":null}`:          "login",
		`{"created_at":"x"}`:      "created_at",
		`{"active":null}`:         "active",
		`{"name":null}`:           "name",
	} {
		_, _, err := stored.Patch(changeOf(t, Partners, body), false)
		wantField(t, body, err, field)
	}
	for body, secret := range map[string]string{`{"secret":"•••"}`: "s", `{"secret":"z"}`: "z", `{"secret":null}`: "", `{}`: "s"} {
		if next, _, err := stored.Patch(changeOf(t, Partners, body), false); err != nil || next.Secret != secret {
			t.Errorf("%s: the secret is %q, want %q (%v)", body, next.Secret, secret, err)
		}
	}
}

func TestEventOfAPartnersPatch(t *testing.T) {
	p, event, err := NewPartner(Partner{ID: testID(1), Org: testID(2), Number: 7, Name: "Shop", Login: "shop", Sources: parseSources(t, "10.1.2.3/8"), Active: true}, false)
	if err != nil || event.Name != "create" || event.To != "active" || p.Number != 7 || p.Org != testID(2) {
		t.Fatal(p, event, err)
	}
	if p.Sources[0].String() != "10.0.0.0/8" {
		t.Errorf("the stored sources are %v", p.Sources)
	}
	inactive, active, otherName := false, true, "Other"
	for _, c := range []struct {
		from  *Partner
		patch schema.Change[Partner]
		event string
	}{
		{p, func(_ *Partner, _ *schema.Faults) {}, ""},
		{p, func(r *Partner, _ *schema.Faults) { r.Active = active }, ""},
		{p, func(r *Partner, _ *schema.Faults) { r.Name = otherName }, "update"},
		{p, func(r *Partner, _ *schema.Faults) { r.Active = inactive }, "deactivate"},
		{&Partner{Number: 7, Name: "Shop", Login: "shop"}, func(r *Partner, _ *schema.Faults) { r.Active = active }, "activate"},
		{p, func(r *Partner, _ *schema.Faults) { r.Sources = nil }, "update"},
	} {
		before := *c.from
		next, event, err := c.from.Patch(c.patch, false)
		if err != nil || event.Name != c.event || (c.event == "") != (next == c.from) {
			t.Errorf("patch: event %q (%v), want %q", event.Name, err, c.event)
		}
		if fmt.Sprint(before) != fmt.Sprint(*c.from) {
			t.Error("the old record changed")
		}
	}
	next, event, err := p.Patch(func(r *Partner, _ *schema.Faults) { r.PassHash = "$argon2id$x" }, false)
	if err != nil || next.PassHash != "$argon2id$x" || event.Name != "update" || p.PassHash != "" {
		t.Error("the event of a new password is not update", err)
	}
}

func TestAddressesThatAPartnerAdmits(t *testing.T) {
	p, _, err := NewPartner(Partner{
		ID: testID(1), Org: testID(2), Number: 1, Name: "Shop", Login: "shop", Active: true,
		Sources: parseSources(t, "192.0.2.0/24", "::ffff:198.51.100.1", "::ffff:203.0.113.0/120", "2001:db8::/32"),
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Sources); got != "[192.0.2.0/24 198.51.100.1/32 203.0.113.0/24 2001:db8::/32]" {
		t.Errorf("the stored sources are %s", got)
	}
	for address, want := range map[string]bool{
		"192.0.2.1": true, "192.0.3.1": false, "::ffff:192.0.2.9": true, "198.51.100.1": true, "198.51.100.2": false,
		"203.0.113.200": true, "203.0.114.1": false, "2001:db8::1": true, "2001:db9::1": false, "2001:db8::1%eth0": true,
	} {
		if got := p.Admits(netip.MustParseAddr(address)); got != want {
			t.Errorf("Admits(%s) = %v", address, got)
		}
	}
	if p.Admits(netip.Addr{}) {
		t.Error("an unknown address is admitted despite a list of sources")
	}
	if withoutSources := (&Partner{}); !withoutSources.Admits(netip.Addr{}) {
		t.Error("a partner without a list of sources must admit all addresses")
	}
}

func TestOverdraftResolvesNetwork(t *testing.T) {
	eth := money.Asset{Currency: "ETH", Network: "ethereum", Env: money.Test}
	p, _, err := NewPartner(Partner{
		ID: testID(1), Org: testID(2), Number: 1, Name: "Shop", Login: "shop", Active: true,
		Overdraft: []Overdraft{{Asset: money.Asset{Currency: "ETH", Env: money.Test}, Amount: money.FromUint64(5)}},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.OverdraftOf(eth); got != money.FromUint64(5) {
		t.Errorf("overdraft of %v: %v", eth, got)
	}
	eth.Env = money.Prod
	if !p.OverdraftOf(eth).IsZero() {
		t.Error("an overdraft applies in another environment")
	}
}

func TestFieldsAndValidityOfKeysAndSessions(t *testing.T) {
	const now = ledger.Micros(1000)
	draft := APIKey{ID: testID(1), Org: testID(2), Partner: 3, Prefix: "mzk_abc", Hash: [32]byte{1}, Name: "k", ExpiresAt: now + 1}
	for name, c := range map[string]struct {
		change func(*APIKey)
		field  string
	}{
		"no name":           {func(k *APIKey) { k.Name = "" }, "name"},
		"expires now":       {func(k *APIKey) { k.ExpiresAt = now }, "expires_at"},
		"expires never":     {func(k *APIKey) { k.ExpiresAt = 0 }, ""},
		"no partner":        {func(k *APIKey) { k.Partner = 0 }, "partner_id"},
		"name of two lines": {func(k *APIKey) { k.Name = "a\nb" }, "name"},
	} {
		requested := draft
		c.change(&requested)
		wantField(t, name, requested.Check(now), c.field)
	}
	k, event, err := NewAPIKey(draft, now)
	if err != nil || event.Name != "create" || k.Partner != 3 || k.Org != testID(2) {
		t.Fatal(k, event, err)
	}
	if !k.IsValid(now) || k.IsValid(now+1) {
		t.Error("a key must be valid until the instant at which it expires")
	}
	revoked, event := k.Revoke(now)
	if revoked.IsValid(now) || event.Name != "revoke" || event.To != "revoked" || k.RevokedAt != 0 {
		t.Error("the key is not revoked", event)
	}
	if unchanged, event := revoked.Revoke(now + 5); unchanged != revoked || event.Name != "" {
		t.Error("a revoked key was revoked again")
	}
	s, event := NewSession(testID(4), testID(2), [32]byte{2}, Auditor)
	if event.Name != "create" || !s.IsValid(1<<60) || s.IdleTooLong(0, 1<<60) || !s.Roles.IsValid() || Role("root").IsValid() {
		t.Error(s, event)
	}
	if expired := (Session{ExpiresAt: now}); expired.IsValid(now) {
		t.Error("a session is valid after it expired")
	}
}

func TestPlatformReservesNumbersAndAcceptsTokens(t *testing.T) {
	p := NewPlatform()
	next, number := p.ReservePartnerNumber()
	if number != 1 || next.NextPartner != 2 || p.NextPartner != 1 {
		t.Error(number, next, p)
	}
	for i := range MaxAdminTokens {
		withToken, err := next.AcceptAdminToken([32]byte{byte(i + 1)})
		if err != nil || len(withToken.AdminTokens) != i+1 || len(next.AdminTokens) != i {
			t.Fatal(i, err)
		}
		next = withToken
	}
	if unchanged, err := next.AcceptAdminToken([32]byte{1}); err != nil || unchanged != next {
		t.Error("an accepted token was accepted again")
	}
	if _, err := next.AcceptAdminToken([32]byte{0xff}); err == nil || wantRefusal(t, err).Code != ledger.Conflict {
		t.Error("more than MaxAdminTokens tokens were accepted")
	}
}

func TestOpeningBalances(t *testing.T) {
	s, events, err := NewOpeningBalance(testID(1), &Partner{Org: testID(2), Number: 4})
	if err != nil || len(events) != 2 || len(s.Lines) != 2*len(money.AcceptedAssets(money.Prod)) {
		t.Fatal(len(events), err)
	}
	for i, env := range []money.Env{money.Prod, money.Test} {
		for _, p := range events[i].Entry.Postings {
			if p.Asset.Env != env || (p.Account != "A:bank" && p.Account != "L:partner:4:available") {
				t.Errorf("event %d posts %+v", i, p)
			}
		}
		if !IsLegalTransition(ledger.Settlement, events[i].Name, events[i].From, events[i].To) {
			t.Errorf("event %d: %+v", i, events[i])
		}
	}
	want := map[money.Asset]string{ // written by hand: 1,000,000 followed by as many zeros as the currency's scale
		{Currency: "USD", Env: money.Prod}:                      "100000000",
		{Currency: "IDR", Env: money.Test}:                      "100000000",
		{Currency: "USDT", Network: "bsc", Env: money.Prod}:     "1000000000000000000000000",
		{Currency: "USDT", Network: "tron", Env: money.Test}:    "1000000000000",
		{Currency: "ZOLT", Env: money.Prod}:                     "100000000000000",
		{Currency: "ETH", Network: "ethereum", Env: money.Prod}: "1000000000000000000000000",
		{Currency: "TON", Network: "ton", Env: money.Prod}:      "1000000000000000",
	}
	for _, line := range s.Lines {
		if amount, ok := want[line.Asset]; ok {
			if line.Amount.String() != amount {
				t.Errorf("%v: %v, want %s", line.Asset, line.Amount, amount)
			}
			delete(want, line.Asset)
		}
	}
	if len(want) != 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestRecordsPrintNoSecrets(t *testing.T) {
	const canary = "CANARY"
	for _, record := range []any{
		&Partner{Number: 1, PassHash: canary, Secret: canary},
		&Terminal{ProviderParams: []byte(canary), Notification: Notification{Secret: canary}},
		&APIKey{Prefix: canary, Name: canary},
		&Session{Roles: Roles{canary}}, &User{Login: canary, PassHash: canary},
	} {
		var out strings.Builder
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "record", record)
		if text := out.String() + fmt.Sprintf("%v %+v %s", record, record, record); strings.Contains(text, canary) {
			t.Error(text)
		}
	}
}
