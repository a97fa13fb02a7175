package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

// TestAdministration runs against one server, because a start takes longer than the tests. The tests change different records.
func TestAdministration(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	for name, test := range map[string]func(*testing.T, *testkit.Server){
		"PartnerIsCreatedChangedAndDeactivated": testPartnerIsCreatedChangedAndDeactivated,
		"TerminalKeepsItsSecretsAndOwnKeys":     testTerminalKeepsItsSecretsAndOwnKeys,
		"KeyIsShownOnce":                        testKeyIsShownOnce,
		"LimitIsTypedInMajorUnits":              testLimitIsTypedInMajorUnits,
		"RateIsSetInTheLanguageOfThePage":       testRateIsSetInTheLanguageOfThePage,
		"BlocklistEntryIsMadeAndEnded":          testBlocklistEntryIsMadeAndEnded,
		"UserLogsInWithTheRolesOfTheForm":       testUserLogsInWithTheRolesOfTheForm,
		"FormThatIsSentTwiceIsCarriedOutOnce":   testFormThatIsSentTwiceIsCarriedOutOnce,
		"AdministratorMayNotSetAnOverdraft":     testAdministratorMayNotSetAnOverdraft,
		"OperatorRulesOrganizationsAndSettles":  testOperatorRulesOrganizationsAndSettles,
		"ForeignAndUnknownRecordsAreNotFound":   testForeignAndUnknownRecordsAreNotFound,
		"OnlyAdministratorsOpenThePages":        testOnlyAdministratorsOpenThePages,
		"ListsArePagedAndFiltered":              testListsArePagedAndFiltered,
		"SearchLeadsToRecords":                  testSearchLeadsToRecords,
		"UsageOfALimitIsABar":                   testUsageOfALimitIsABar,
		"PartnersShowHowTheirPaymentsGo":        testPartnersShowHowTheirPaymentsGo,
		"SystemIsForTheOperator":                testSystemIsForTheOperator,
		"ChangesAreListedNewestFirst":           testChangesAreListedNewestFirst,
		"ParkedDeliveriesAreSentAgain":          testParkedDeliveriesAreSentAgain,
		"EveryPageIsInEveryLanguage":            testEveryPageIsInEveryLanguage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

const root = "/console/admin/"

// admin is the browser of the sandbox's administrator.
func admin(t *testing.T, s *testkit.Server) *consoletest.Browser {
	t.Helper()
	return consoletest.As(t, s, "admin").With("Accept-Language", "en")
}

// read returns the record at a path, as the API shows it.
func read(t *testing.T, s *testkit.Server, path string) string {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1" + path)
	testkit.WantStatus(t, answer, err, 200)
	return string(answer.Body)
}

func wantInBody(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%s is not in %s", part, body)
		}
	}
}

// newPartner makes a partner by the form, and returns the path of its page and its number.
func newPartner(t *testing.T, b *consoletest.Browser, login string) (path, number string) {
	t.Helper()
	page := b.Get(root+"partners/new").Form(root+"partners/new").Set("name", "Tea "+login).Set("login", login).Set("pass", "nine-Lions-paint").Submit("").Want(200, "Tea "+login)
	path, _, _ = strings.Cut(page.Path, "?")
	return path, strings.TrimPrefix(path, root+"partners/")
}

func testPartnerIsCreatedChangedAndDeactivated(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	form := b.Get(root+"partners/new").Form(root+"partners/new").Set("name", "Tea Shop").Set("login", "tea shop").Set("pass", "nine-Lions-paint")
	page := form.Set("branding.color", "red").Set("source_addresses", "10.0.0.0/8\nnowhere").Submit("").
		Want(422, "must not hold white space", "must be of the form #rrggbb", "Please correct these fields")
	form = page.Form(root + "partners/new")
	if form.Value("name") != "Tea Shop" || form.Value("pass") != "" || form.Value("branding.color") != "red" {
		t.Errorf("the refused form shows %q, %q and %q", form.Value("name"), form.Value("pass"), form.Value("branding.color"))
	}
	page = form.Set("login", "tea-shop").Set("pass", "nine-Lions-paint").Set("branding.color", "#12744a").Set("source_addresses", "10.0.0.0/8").Submit("").
		Want(200, "Tea Shop", "#12744a", "10.0.0.0/8", "Done.")
	path, _, _ := strings.Cut(page.Path, "?")
	number := strings.TrimPrefix(path, root+"partners/")
	wantInBody(t, read(t, s, "/partners/"+number), `"login":"tea-shop"`, `"color":"#12744a"`, `"source_addresses":["10.0.0.0/8"]`)

	edit := b.Get(path + "/edit").Form(path + "/edit")
	if _, err := s.Admin().Do("PATCH", "/api/v1/partners/"+number, `{"lang":"ru"}`); err != nil { // by somebody else meanwhile
		t.Fatal(err)
	}
	edit.Set("email", "shop@tea.example").Set("branding.support_email", "help@tea.example").Submit("").Want(200, "shop@tea.example")
	wantInBody(t, read(t, s, "/partners/"+number), `"email":"shop@tea.example"`, `"lang":"ru"`, `"color":"#12744a"`, `"support_email":"help@tea.example"`)
	b.Get(path+"/edit").Form(path+"/edit").Set("email", "").Submit("").Want(200)
	wantInBody(t, read(t, s, "/partners/"+number), `"email":null`)

	b.Get(path+"/delete").Want(200, "Deactivate Tea Shop?").Form(path+"/delete").Submit("").Want(200, "Done.")
	wantInBody(t, read(t, s, "/partners/"+number), `"active":false`)
	if slices.Contains(b.Get(path).Links(), path+"/delete") {
		t.Error("an inactive partner can be deactivated")
	}
}

func testTerminalKeepsItsSecretsAndOwnKeys(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	_, number := newPartner(t, b, "terminals")
	page := b.Get(root+"terminals/new?partner_id="+number).Form(root+"terminals/new").Set("name", "Cards").Set("provider", "simulator").Set("type", "payment").Set("env", "test").
		Set("provider_params.currencies", "", "USD", "EUR").Set("provider_params.fee_bps", "150").Set("provider_params.fee_fixed", "30").Set("provider_params.two_phase", "true").
		Set("merchant_params.secret", "whsec-one").Set("merchant_params.emails_to_notify", "a@b.example\nc@d.example").Submit("").Want(200, "Cards", "USD, EUR", "Set, not shown")
	path, _, _ := strings.Cut(page.Path, "?")
	id := strings.TrimPrefix(path, root+"terminals/")
	wantInBody(t, read(t, s, "/terminal/"+id), `"partner_id":`+number, `"currencies":["USD","EUR"]`, `"fee_bps":"150"`, `"fee_fixed":"30"`, `"two_phase":true`, `"emails_to_notify":["a@b.example","c@d.example"]`)
	answer, err := s.Admin().Do("PATCH", "/api/v1/terminal/"+id, `{"merchant_params":{"secret":"•••","emails_to_notify":["a@b.example","c@d.example"],"shop_number":7}}`)
	testkit.WantStatus(t, answer, err, 200)
	b.Get(path+"/edit").Form(path+"/edit").Set("merchant_params.hosted_attempts", "5").Set("provider_params.fee_fixed", "").Submit("").Want(200)
	wantInBody(t, read(t, s, "/terminal/"+id), `"shop_number":7`, `"hosted_attempts":5`, `"secret":"•••"`, `"fee_bps":"150"`)
	b.Get(path+"/edit").Form(path+"/edit").Set("provider_params.fee_bps", "1.5").Submit("").Want(422, "must be a string of basis points")
	b.Get(path+"/test-delivery").Form(path+"/test-delivery").Submit("").Want(422, "notify_url")
	if got := read(t, s, "/terminal/"+id); strings.Contains(got, "fee_fixed") {
		t.Errorf("the fee that was removed is in %s", got)
	}
}

func testKeyIsShownOnce(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	_, number := newPartner(t, b, "keys")
	page := b.Get(root+"keys/new?partner_id="+number).Form(root+"keys/new").Set("name", "shop server").Set("expires_at", "2026-01-02T03:04").Submit("").Want(422)
	page = page.Form(root+"keys/new").Set("expires_at", "2099-01-02T03:04").Submit("").Want(201, "mzk_", "never shown again")
	links := page.Links()
	path := links[len(links)-1]
	b.Get(path).Want(200, "shop server", "Jan 2, 2099, 03:04 UTC").WantNone("never shown again")
	b.Get(root+"keys?partner_id="+number).Want(200, "shop server")
	b.Get(path + "/delete").Form(path + "/delete").Submit("").Want(200)
	wantInBody(t, read(t, s, strings.Replace(path, root+"keys", "/api_keys", 1)), `"revoked_at":"`)
}

func testLimitIsTypedInMajorUnits(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	_, number := newPartner(t, b, "limits")
	form := b.Get(root+"limits/new?partner_id="+number).Form(root+"limits/new").Set("kind", "daily_volume").Set("currency", "USDT").Set("env", "test").Set("max_amount", "1,000.25")
	page := form.Submit("").Want(422, "Choose a currency, and its network")
	page = page.Form(root+"limits/new").Set("network", "tron").Submit("").Want(200, "USDT 1,000.25 (tron)", "Daily volume")
	path, _, _ := strings.Cut(page.Path, "?")
	wantInBody(t, read(t, s, strings.TrimPrefix(path, "/console/admin")), `"max_amount":"1000250000"`)
	b.Get(path+"/edit").Form(path+"/edit").Set("max_amount", "2,000.0000001").Submit("").Want(422, "at most 6 decimals")
	b.Get(path+"/edit").Form(path+"/edit").Set("max_amount", "2000").Submit("").Want(200, "USDT 2,000.00 (tron)")
}

func testRateIsSetInTheLanguageOfThePage(t *testing.T, s *testkit.Server) {
	b := admin(t, s).With("Accept-Language", "ru")
	page := b.Get(root+"rates/new").Want(200, "Базовая валюта", "Курс").Form(root+"rates/new").Set("from", "GBP").Set("to", "USD").Set("rate", "1,25").Submit("").Want(200, "1,25")
	path, _, _ := strings.Cut(page.Path, "?")
	wantInBody(t, read(t, s, strings.TrimPrefix(path, "/console/admin")), `"rate":"1.25"`)
	b.Get(root+"rates/new").Form(root+"rates/new").Set("from", "GBP").Set("to", "USD").Set("rate", "много").Submit("").Want(422, "Введите число, например 0,92.")
}

func testBlocklistEntryIsMadeAndEnded(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	form := b.Get(root+"blocklist/new").Form(root+"blocklist/new").Set("kind", "ip").Set("value", "not an address")
	page := form.Submit("").Want(422).Form(root+"blocklist/new").Set("value", "192.0.2.0/24").Submit("").Want(200, "192.0.2.0/24")
	path, _, _ := strings.Cut(page.Path, "?")
	b.Get(root+"blocklist?kind=ip").Want(200, "192.0.2.0/24")
	b.Get(root + "blocklist?kind=email").WantNone("192.0.2.0/24")
	b.Get(path + "/delete").Form(path + "/delete").Submit("").Want(200)
	b.Get(root + "blocklist?kind=ip").WantNone("192.0.2.0/24")
}

func testUserLogsInWithTheRolesOfTheForm(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	page := b.Get(root+"users/new").Form(root+"users/new").Set("login", "amina").Set("name", "Amina").Set("pass", "correct-horse-battery-9").Set("roles", "", "auditor").Submit("").
		Want(200, "Amina", "Auditor")
	path, _, _ := strings.Cut(page.Path, "?")
	auditor := consoletest.Open(t, s).With("Accept-Language", "en")
	auditor.LogIn("amina", "correct-horse-battery-9").Want(200)
	auditor.Get(root + "users").Want(403)
	b.Get(path+"/edit").Form(path+"/edit").Set("roles", "", "auditor", "admin").Submit("").Want(200, "Administrator")
	wantInBody(t, read(t, s, strings.TrimPrefix(path, "/console/admin")), `"roles":["admin","auditor"]`)
	b.Get(path+"/edit").Form(path+"/edit").Set("roles", "").Submit("").Want(422)
}

func testFormThatIsSentTwiceIsCarriedOutOnce(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	form := b.Get(root+"partners/new").Form(root+"partners/new").Set("name", "Twice").Set("login", "twice").Set("pass", "nine-Lions-paint")
	first, second := form.Submit("").Want(200, "Twice"), form.Submit("").Want(200, "Twice")
	if first.Path != second.Path {
		t.Errorf("the form made %s and %s", first.Path, second.Path)
	}
}

func testAdministratorMayNotSetAnOverdraft(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	path, number := newPartner(t, b, "overdraft")
	form := b.Get(path + "/edit").Form(path + "/edit")
	for _, name := range []string{"overdraft_limit.0.currency", "overdraft_limit.0.amount"} {
		form.Force(name, map[string]string{"overdraft_limit.0.currency": "USD", "overdraft_limit.0.amount": "5"}[name])
	}
	form.Submit("")
	wantInBody(t, read(t, s, "/partners/"+number), `"overdraft_limit":[]`)
	for _, link := range b.Get(path).Links() {
		if strings.HasSuffix(link, number+"/settlements") {
			t.Errorf("an administrator has the link %s", link)
		}
	}
	b.Get(path + "/settlements").Want(403)
	if page := b.Get(root + "organizations"); !strings.HasPrefix(page.Path, "/console/admin/token") {
		t.Errorf("%s is open without the administration token", page.Path)
	}
}

func testOperatorRulesOrganizationsAndSettles(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	b.Get(root+"organizations").Form("/console/admin/token").Set("token", s.Sandbox.AdminToken).Submit("").Want(200, "Sandbox bank")
	page := b.Get(root+"organizations/new").Form(root+"organizations/new").Set("name", "Third").Set("type", "merchant").Submit("").Want(200, "Third", "Merchant")
	path, _, _ := strings.Cut(page.Path, "?")
	b.Get(path+"/edit").Form(path+"/edit").Set("status", "maintenance").Submit("").Want(200, "Maintenance")
	partner, number := newPartner(t, b, "settled")
	page = b.Get(partner+"/edit").Form(partner+"/edit").Set("overdraft_limit.0.currency", "USD").Set("overdraft_limit.0.amount", "10.50").Submit("").Want(200, "$10.50")
	page.WantNone("problem")
	form := b.Get(partner + "/edit").Form(partner + "/edit")
	if form.Value("overdraft_limit.0.amount") != "10.50" {
		t.Errorf("the form shows %s", form.Value("overdraft_limit.0.amount"))
	}
	b.Get(partner+"/settlements").Form(partner+"/settlements").Set("direction", "in").Set("amount", "1,000.00").Set("currency", "USD").Set("env", "test").Set("reference", "bank-1").
		Submit("").Want(200, "$1,000.00")
	b.Get(partner+"/settlements").Form(partner+"/settlements").Set("direction", "out").Set("amount", "2000").Set("currency", "USD").Set("env", "test").Set("reference", "bank-2").Submit("").Want(422)
	b.Get(root+"settlements?env=test&partner_id="+number).Want(200, "$1,000.00", "bank-1")
	b.Get(root + "settlements").Want(200)
	wantInBody(t, read(t, s, "/partners/"+number+"/settlements?env=test"), `"amount":"100000"`)
}

func testForeignAndUnknownRecordsAreNotFound(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	answer, err := s.Admin().With("x-organization-id", s.Sandbox.Second.OrganizationID).Get("/api/v1/terminals?limit=1")
	testkit.WantStatus(t, answer, err, 200)
	var list struct{ Data []struct{ ID string } }
	if err := answer.JSON(&list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%s: %v", answer.Body, err)
	}
	foreign := list.Data[0].ID
	for _, path := range []string{
		"partners/" + fmt.Sprint(s.Sandbox.Second.PartnerID), "partners/999", "partners/x", "partners/0", "terminals/" + foreign, "terminals/0d1f2a3b-0000-4000-8000-000000000001",
		"terminals/x", "keys/x", "limits/x", "users/x", "rates/x", "blocklist/x", "deliveries/x", "nothing", "partners/1/nothing", "terminals/%2e%2e", "terminals/" + foreign + "/edit", "terminals/" + foreign + "/delete",
	} {
		b.Get(root + path).Want(404)
	}
}

func testOnlyAdministratorsOpenThePages(t *testing.T, s *testkit.Server) {
	for _, role := range []string{"auditor", "client", "partner"} {
		b := consoletest.As(t, s, role)
		for _, path := range []string{"partners", "partners/1", "partners/new", "terminals", "keys", "limits", "users", "organizations", "deliveries", "deliveries/replay", "circuits", "changes", "system", "search?q=demo"} {
			b.Get(root + path).Want(403)
		}
	}
	if page := consoletest.Open(t, s).Get(root + "partners"); !strings.HasPrefix(page.Path, "/console/login") {
		t.Errorf("a person without a session sees %s", page.Path)
	}
}

func testListsArePagedAndFiltered(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	_, number := newPartner(t, b, "paged")
	for i := range 3 {
		answer, err := s.Admin().Post("/api/v1/api_keys", fmt.Sprintf(`{"partner_id":%s,"name":"key %d"}`, number, i))
		testkit.WantStatus(t, answer, err, 201)
	}
	page := b.Get(root+"keys?limit=2&partner_id="+number).Want(200, "key 2", "key 1").WantNone("key 0")
	next := page.Links()[slices.IndexFunc(page.Links(), func(link string) bool { return strings.Contains(link, "cursor=") })]
	page = b.Get(next).Want(200, "key 0").WantNone("key 1")
	if first := root + "keys?limit=2&partner_id=" + number; !slices.Contains(page.Links(), first) {
		t.Errorf("the second page does not lead to the first one: %s", page.Links())
	}
	b.Get(root+"keys?cursor=x").Want(422, "cursor")
	b.Get(root + "keys?partner_id=x").Want(422)
	b.Get(root+"keys?unheard=1").Want(422, "unheard")
	b.Get(root+"deliveries?state=parked&from=2026-01-01T00:00").Want(200, "Nothing matches")
}

func testEveryPageIsInEveryLanguage(t *testing.T, s *testkit.Server) {
	for lang, want := range map[string]string{"en": "Partners", "ru": "Партнёры", "ar": "الشركاء"} {
		b := admin(t, s).With("Accept-Language", lang)
		b.Get(root+"partners").Want(200, want)
		if got, dir := b.Get(root + "partners/1").Lang(); got != lang || (dir == "rtl") != (lang == "ar") {
			t.Errorf("the page is in %s, %s", got, dir)
		}
		for _, path := range []string{"terminals", "terminals/new", "keys", "keys/new", "limits", "limits/new", "blocklist", "blocklist/new", "rates", "rates/new", "users", "users/new", "deliveries", "deliveries/replay", "circuits", "changes", "search?q=demo", "partners/1/edit", "partners/1/delete"} {
			b.Get(root + path).Want(200)
		}
	}
}

// pay makes a payment of the first partner in the test environment, or in another one.
func pay(t *testing.T, s *testkit.Server, txid, env, cardnumber string) (id string) {
	t.Helper()
	answer, err := s.Partner().Post("/api/v1/transactions", fmt.Sprintf(`{"params":{"type":"payment","txid":%q,"amount":"1000","currency":"USD","env":%q,"returnUrl":"https://shop.example/a",
		"failUrl":"https://shop.example/b","money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}`, txid, env, cardnumber))
	testkit.WantStatus(t, answer, err, 201)
	var payment struct{ ID string }
	if err := answer.JSON(&payment); err != nil {
		t.Fatal(err)
	}
	return payment.ID
}

func testSearchLeadsToRecords(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	path, number := newPartner(t, b, "sought-after")
	page := b.Get(root+"search?q=SOUGHT-after").Want(200, "Partner", "Tea sought-after", "Login")
	if !slices.Contains(page.Links(), path) {
		t.Errorf("no link to %s in %s", path, page.Links())
	}
	b.Get(root+"search?q="+number).Want(200, "Tea sought-after")
	payment := pay(t, s, "sought-1", "test", "4242424242424242")
	b.Get(root+"search?q=sought-1").Want(200, payment, "Payment", "Merchant's reference")
	b.Get(root+"search?q="+payment).Want(200, payment)
	b.Get(root+"search?q=no+such+thing").Want(200, "Nothing was found.")
	b.Get(root + "search").Want(200).WantNone("Nothing was found.")
	b.Get(root + "search?q=" + strings.Repeat("x", 300)).Want(422)
	if page := b.Get(root + "search?q=%3Cscript%3E").Want(200); strings.Contains(page.Body, "<script>") {
		t.Error("the page shows the text as markup")
	}
}

func testUsageOfALimitIsABar(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	answer, err := s.Admin().Post("/api/v1/limits", `{"partner_id":1,"kind":"daily_volume","type":"payment","currency":"SGD","env":"test","max_amount":"4000"}`)
	testkit.WantStatus(t, answer, err, 201)
	payment, err := s.Partner().Post("/api/v1/transactions", `{"params":{"type":"payment","txid":"usage-1","amount":"1000","currency":"SGD","env":"test","returnUrl":"https://shop.example/a","failUrl":"https://shop.example/b",
		"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}`)
	testkit.WantStatus(t, payment, err, 201)
	page := b.Get(root+"limits?partner_id=1").Want(200, "SGD 10.00 of SGD 40.00")
	if !strings.Contains(page.Body, `value="25"`) {
		t.Errorf("no bar at a quarter: %s", page.Text())
	}
}

func testPartnersShowHowTheirPaymentsGo(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	_, number := newPartner(t, b, "idle")
	for i, card := range []string{"4242424242424242", "4242424242424242", "4242424242424242", "4000000000000002"} {
		pay(t, s, fmt.Sprint("health-", i), "prod", card)
	}
	testkit.WaitUntil(t, "the turnover is counted", func() bool {
		return slices.ContainsFunc(b.Get(root+"partners").Rows(), func(row []string) bool { return row[0] == "1" && strings.HasPrefix(row[3], "75% of 4") })
	})
	for _, row := range b.Get(root + "partners").Rows() {
		if row[0] == number && row[3] != "no payments" {
			t.Errorf("an idle partner: %q", row)
		}
	}
}

func testSystemIsForTheOperator(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	page := b.Get(root + "system")
	if !strings.HasPrefix(page.Path, "/console/admin/token") {
		t.Fatalf("the figures are at %s without the token", page.Path)
	}
	page.Form("/console/admin/token").Set("token", s.Sandbox.AdminToken).Submit("").Want(200, "Store", "Writer and queue", "Backups", "Running since", "Merchants")
}

func testChangesAreListedNewestFirst(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	answer, err := s.Admin().Post("/api/v1/limits", `{"partner_id":1,"kind":"velocity","max_count":1000,"window":"minute","env":"test"}`)
	testkit.WantStatus(t, answer, err, 201)
	var limit struct{ Data struct{ ID string } }
	if err := answer.JSON(&limit); err != nil {
		t.Fatal(err)
	}
	rows := b.Get(root + "changes?source=" + limit.Data.ID).Want(200).Rows()
	if len(rows) != 1 || !slices.ContainsFunc(rows[0], func(cell string) bool {
		return strings.HasPrefix(limit.Data.ID, strings.TrimSuffix(cell, "…")) && len(cell) > 8
	}) {
		t.Errorf("the changes of the limit are %q", rows)
	}
	b.Get(root + "changes?limit=2").Want(200)
	// The list of changes names the administrator as the author of what the administrator does in the console. It has no
	// payments.
	payment, err := s.Partner().Post("/api/v1/transactions", `{"params":{"env":"test","type":"payment","amount":"5","currency":"USD","hosted":true}}`)
	testkit.WantStatus(t, payment, err, 201)
	b.Get(root+"partners/new").Form(root+"partners/new").Set("name", "Changed").Set("login", "changed").Set("pass", "nine-Lions-paint").Submit("").Want(200, "Changed")
	for lang, want := range map[string][4]string{
		"en": {"Session", "Partner", "Created", "Active"}, "ru": {"Сеанс", "Партнёр", "Создано", "Действует"}, "ar": {"جلسة", "شريك", "تم الإنشاء", "نشط"},
	} {
		rows := admin(t, s).With("Accept-Language", lang).Get(root + "changes?limit=500").Want(200).Rows() // other tests change records too
		if !slices.ContainsFunc(rows, func(row []string) bool {
			return slices.Contains(row, want[0]+" "+s.Sandbox.AdminLogin) && slices.Contains(row, want[1]) && slices.Contains(row, want[2]) && slices.Contains(row, want[3])
		}) {
			t.Errorf("%s: the changes are %q", lang, rows)
		}
	}
}

func testParkedDeliveriesAreSentAgain(t *testing.T, s *testkit.Server) {
	b := admin(t, s)
	terminals, err := s.Admin().Get("/api/v1/terminals?partner_id=1&limit=1")
	testkit.WantStatus(t, terminals, err, 200)
	var list struct{ Data []struct{ ID string } }
	if err := terminals.JSON(&list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%s: %v", terminals.Body, err)
	}
	b.Get(root+"deliveries/replay?terminal_id="+list.Data[0].ID).Form(root+"deliveries/replay").Submit("").Want(200, "Sent again")
	b.Get(root+"deliveries/replay").Form(root+"deliveries/replay").Set("terminal_id", "x").Submit("").Want(422)
	b.Get(root+"deliveries/replay").Form(root+"deliveries/replay").Set("terminal_id", "0d1f2a3b-0000-4000-8000-000000000001").Submit("").Want(404)
}
