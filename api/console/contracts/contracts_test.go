package contracts_test

import (
	"net/url"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const root = "/console/contracts/"

// start runs a server whose organization is a bank. The bank has both modules of contracts, and the given modules.
func start(t *testing.T, modules ...string) *testkit.Server {
	t.Helper()
	s := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	setModules(t, s, append(modules, "participatory_finance", "islamic_finance"))
	return s
}

func setModules(t *testing.T, s *testkit.Server, modules []string) {
	t.Helper()
	answer, err := s.Admin().Do("PATCH", "/api/v1/organizations/"+s.Sandbox.OrganizationID, map[string]any{"type": "bank", "modules": modules})
	testkit.WantStatus(t, answer, err, 200)
}

// client is the browser of the bank's product staff.
func client(t *testing.T, s *testkit.Server) *consoletest.Browser {
	t.Helper()
	return consoletest.As(t, s, "client").With("Accept-Language", "en")
}

// TestContracts runs against one server, because a start takes longer than the tests.
func TestContracts(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, test := range map[string]func(*testing.T, *testkit.Server){
		"EveryProductLivesByForms":         testEveryProductLivesByForms,
		"BadInputIsShownBesideItsField":    testBadInputIsShownBesideItsField,
		"HistoryNamesTheAuthors":           testHistoryNamesTheAuthors,
		"HistoryNamesTheEvents":            testHistoryNamesTheEvents,
		"ImpossibleActionHasNoForm":        testImpossibleActionHasNoForm,
		"ListsAreFilteredAndPaged":         testListsAreFilteredAndPaged,
		"ScreeningIsMadeAndShown":          testScreeningIsMadeAndShown,
		"CharityShowsPenalties":            testCharityShowsPenalties,
		"UnknownAndForeignAreNotFound":     testUnknownAndForeignAreNotFound,
		"OnlyClientsAndAdminsOpenThePages": testOnlyClientsAndAdminsOpenThePages,
		"ReadingsHaveTheirOwnNames":        testReadingsHaveTheirOwnNames,
		"FormThatIsSentTwiceActsOnce":      testFormThatIsSentTwiceActsOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) }) // the tests run one after the other, because some move the clock
	}
}

// create submits the form for a new contract and returns the path of the contract's page.
func create(t *testing.T, s *testkit.Server, b *consoletest.Browser, name string, changes ...string) string {
	t.Helper()
	pairs := append([]string(nil), lifecycles[name].fields...)
	for i := 0; i < len(changes); i += 2 {
		for k := 0; k < len(pairs); k += 2 {
			if pairs[k] == changes[i] {
				pairs[k+1] = changes[i+1]
			}
		}
	}
	page := fill(b.Get(root+name+"/new").Form(root+name+"/new"), s, append(pairs, changes...)).Submit("").Want(200, "What may be done now")
	path, _, _ := strings.Cut(page.Path, "?")
	return path
}

// act takes an action by its form.
func act(s *testkit.Server, b *consoletest.Browser, path, action string, pairs ...string) *consoletest.Page {
	return fill(b.Get(path+"/"+action).Want(200).Form(path+"/"+action), s, pairs).Submit("")
}

func testBadInputIsShownBesideItsField(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	form := fill(b.Get(root+"pfp/leases/new").Form(root+"pfp/leases/new"), s, lifecycles["pfp/leases"].fields)
	for _, c := range []struct{ field, value, text string }{
		{"asset_cost", "12.345", "decimal"}, {"asset_cost", "a lot", "Amount"}, {"customer_id", "anna", "UUID"}, {"lease_term_months", "900", "240"},
		{"asset_description", "short", "10"}, {"residual_value", "500000", "above asset_cost"},
	} {
		copied := fill(b.Get(root+"pfp/leases/new").Form(root+"pfp/leases/new"), s, lifecycles["pfp/leases"].fields)
		page := copied.Set(c.field, c.value).Submit("")
		page.Want(422)
		if got := page.Problem(c.field); got == "" {
			t.Errorf("%s %q has no problem beside it: %.1500s", c.field, c.value, page.Text())
		}
		if page.Form(root+"pfp/leases/new").Value(c.field) != c.value {
			t.Errorf("%s: what was typed is lost", c.field)
		}
	}
	form.Submit("").Want(200)

	path := create(t, s, b, "pfp/safekeeping-deposits")
	act(s, b, path, "activate").Want(200)
	b.Get(path+"/withdraw").Want(200, "At most AED 1,000.00.")
	page := act(s, b, path, "withdraw", "amount", "1000.01").Want(422)
	if page.Problem("amount") == "" {
		t.Errorf("too much has no problem beside it: %.1500s", page.Text())
	}
	b.Get(path).Want(200, "AED 1,000.00")
}

// The history names the person whose session took an action and, for an author without a name, the kind of author.
func testHistoryNamesTheAuthors(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	wantAuthor := func(path, want string) {
		t.Helper()
		for _, row := range b.Get(path).Want(200).Rows() {
			if row[len(row)-1] == want {
				return
			}
		}
		t.Errorf("%s: no event is by %s", path, want)
	}
	login, _ := s.Sandbox.ConsoleLogin("client")
	wantAuthor(create(t, s, b, "islamic-banking/ijara"), login)
	answer, err := s.Session().Post("/api/v1/pfp/safekeeping-deposits",
		map[string]any{"customer_id": person, "region": "AE", "custody_type": "trust", "initial_amount": "5"})
	testkit.WantStatus(t, answer, err, 201)
	var created struct{ Data struct{ ID string } }
	if err := answer.JSON(&created); err != nil {
		t.Fatal(err)
	}
	wantAuthor(root+"pfp/safekeeping-deposits/"+created.Data.ID, "Session") // the sandbox's token began without a login
}

// The history says what happened, such as Approved, and not what a button does, such as Approve.
func testHistoryNamesTheEvents(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	path := create(t, s, b, "islamic-banking/ijara")
	act(s, b, path, "approve", "approved_by", "Dr. Amin", "fatwa_reference", "F-7").Want(200)
	for lang, want := range map[string][2]string{"en": {"Approved", "Created"}, "ru": {"Одобрено", "Создано"}, "ar": {"تم الاعتماد", "تم الإنشاء"}} {
		rows := b.With("Accept-Language", lang).Get(path + "/events").Want(200).Rows()
		if len(rows) != 2 || rows[0][1] != want[0] || rows[1][1] != want[1] {
			t.Errorf("%s: the history is %q, want the events %q", lang, rows, want)
		}
	}
}

func testImpossibleActionHasNoForm(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	path := create(t, s, b, "islamic-banking/ijara")
	b.Get(path).Want(200, "Not possible in the status “Draft”. First: Approve.", "Asks for: Approved by, Fatwa.")
	page := b.Get(path+"/activate").Want(200, "Not possible in the status “Draft”. First: Approve → Acquire the asset.")
	if page.HasForm(path + "/activate") {
		t.Error("the page of an impossible action has its form")
	}
	form := b.Get(path+"/approve").Form(path+"/approve").Set("approved_by", "Dr. Amin").Set("fatwa_reference", "F-7")
	act(s, b, path, "reject", "reason", "not permitted").Want(200, "Status Rejected", "not permitted", "The contract has ended.")
	form.Submit("").Want(409, "Not possible in the status “Rejected”.") // the form was opened before the contract was rejected
}

func testListsAreFilteredAndPaged(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	for range 3 {
		create(t, s, b, "islamic-banking/wadiah", "env", "test")
	}
	create(t, s, b, "pfp/partnerships", "env", "test")
	list := root + "islamic-banking/wadiah"
	if page := b.Get(list+"?env=test&per_page=2").Want(200, "Total: 3"); len(page.Rows()) != 2 {
		t.Errorf("%d rows", len(page.Rows()))
	} else if next := page.Link("Next page"); len(b.Get(next).Want(200).Rows()) != 1 {
		t.Errorf("%s has another number of rows", next)
	}
	b.Get(list+"?page=2&env=test&per_page=2").Want(200, "Previous page", "First page")
	b.Get(root+"pfp/partnerships?status=draft&env=test").Want(200, "Draft")
	b.Get(root+"pfp/partnerships?status=dissolved").Want(200, "Nothing matches")
	b.Get(root + "pfp/leases?ending_in_days=-1").Want(422)
	b.Get(root + "pfp/leases?arrears=true").Want(200)
	b.Get(root + "pfp/leases?cursor=nonsense").Want(422)
}

func testScreeningIsMadeAndShown(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	screening := root + "islamic-banking/screening"
	page := b.Get(screening).Form(screening).Set("subject", "asset").Set("region", "AE").Set("asset_type", "tobacco").Submit("")
	page.Want(200, "Failed", "Sector", "tobacco", "New contract on this basis")
	id, _, _ := strings.Cut(page.Path[strings.LastIndexByte(page.Path, '/')+1:], "?")
	b.Get(root + "islamic-banking/mudaraba/new?screening_id=" + id).Want(200)
	if got := b.Get(root + "islamic-banking/mudaraba/new?screening_id=" + id).Form(root + "islamic-banking/mudaraba/new").Value("screening_id"); got != id {
		t.Errorf("the new contract's screening is %q, want %s", got, id)
	}
	path := create(t, s, b, "islamic-banking/mudaraba", "screening_id", id)
	if link := b.Get(path).Link(id); link != screening+"/"+id {
		t.Errorf("the contract links to %q", link)
	}
	b.Get(root+"islamic-banking/review").Want(200, "Mudaraba")
	if p := b.Get(screening).Form(screening).Set("subject", "").Submit("").Want(422); p.Problem("subject") == "" {
		t.Errorf("a screening of nothing: %.1000s", p.Text())
	}
	b.Get(screening).Form(screening).Set("subject", "transaction").Set("region", "AE").Set("amount", "12.50").Set("currency", "AED").Set("activity", "trade").Submit("").
		Want(200, "Passed", "AED 12.50")
}

func testCharityShowsPenalties(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	path := create(t, s, b, "islamic-banking/sukuk", "early_redemption_allowed", "true", "early_redemption_penalty", "5")
	act(s, b, path, "approve", "approved_by", "Dr. Amin", "fatwa_reference", "F-7").Want(200)
	act(s, b, path, "start_offering", "subscription_start", "$today", "subscription_end", "$today").Want(200)
	act(s, b, path, "subscribe", "investor_id", person, "certificates", "10").Want(200, "Holders", person)
	act(s, b, path, "activate").Want(200)
	act(s, b, path, "redeem_early", "redemption_date", "$today").Want(200, "Status Redeemed")
	b.Get(root+"islamic-banking/charity").Want(200, "AED 5.00", "SUK-20", "Redeemed early", "Q:holders:")
	b.Get(root + "islamic-banking/charity?from=yesterday").Want(422)
	b.Get(root+"islamic-banking/charity?env=test").Want(200, "Nothing went to charity")
	b.Get(path+"/subscriptions").Want(200, person)
	b.Get(path+"/holders").Want(200, person)
}

func testUnknownAndForeignAreNotFound(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	path := create(t, s, b, "islamic-banking/mudaraba")
	id := path[strings.LastIndexByte(path, '/')+1:]
	for _, unknown := range []string{
		"pfp/managed-investments/" + id, "islamic-banking/ijara/" + id, "islamic-banking/mudaraba/" + person, "islamic-banking/mudaraba/nonsense",
		"pfp/salam", "pfp/salam/new", "salam/leases", "pfp/mudaraba", "pfp/review", "islamic-banking/investment-deposits", "islamic-banking/mudaraba/" + id + "/fly",
		"islamic-banking/mudaraba/" + id + "/pay_off", "islamic-banking/mudaraba/" + id + "/holders", "islamic-banking/mudaraba/" + id + "/schedule.csv",
		"islamic-banking/screening/" + person, "islamic-banking/screening/nonsense",
	} {
		b.Get(root + unknown).Want(404)
	}
	second := s.Sandbox.Second
	answer, err := s.Admin().Do("PATCH", "/api/v1/organizations/"+second.OrganizationID, map[string]any{"type": "bank", "modules": []string{"participatory_finance"}})
	testkit.WantStatus(t, answer, err, 200)
	answer, err = s.Anyone().With("authorization", "Bearer "+second.SessionToken, "x-organization-id", second.OrganizationID).Post("/api/v1/pfp/safekeeping-deposits",
		map[string]any{"customer_id": person, "region": "AE", "custody_type": "trust", "initial_amount": "5"})
	testkit.WantStatus(t, answer, err, 201)
	var foreign struct{ Data struct{ ID string } }
	if err := answer.JSON(&foreign); err != nil {
		t.Fatal(err)
	}
	for _, below := range []string{"", "/activate", "/entries", "/events"} {
		b.Get(root + "pfp/safekeeping-deposits/" + foreign.Data.ID + below).Want(404)
	}
	form := b.Get(root + "pfp/safekeeping-deposits/new").Form(root + "pfp/safekeeping-deposits/new")
	b.Post(root+"pfp/safekeeping-deposits/"+foreign.Data.ID+"/activate", url.Values{"csrf": {form.Value("csrf")}}).Want(404)
}

func testOnlyClientsAndAdminsOpenThePages(t *testing.T, s *testkit.Server) {
	path := create(t, s, client(t, s), "islamic-banking/mudaraba")
	for role, status := range map[string]int{"admin": 200, "client": 200, "auditor": 403, "partner": 403} {
		b := consoletest.As(t, s, role).With("Accept-Language", "en")
		for _, page := range []string{"/console/contracts", root + "pfp", root + "islamic-banking", root + "pfp/leases", root + "pfp/leases/new", path, path + "/approve",
			root + "islamic-banking/review", root + "islamic-banking/screening", root + "islamic-banking/charity", path + "/entries"} {
			b.Get(page).Want(status)
		}
	}
	consoletest.Open(t, s).Get("/console/contracts").Want(200, "Sign in")
}

func testReadingsHaveTheirOwnNames(t *testing.T, s *testkit.Server) {
	path := create(t, s, client(t, s), "islamic-banking/mudaraba")
	secular := create(t, s, client(t, s), "pfp/managed-investments")
	for lang, texts := range map[string][2][]string{
		"en": {{"Mudaraba", "Manager (mudarib)", "Capital (ra's al-mal)", "Approve", "Distribute profit"}, {"Managed investments", "Manager", "Capital", "Report profit"}},
		"ru": {{"Мудараба", "Управляющий (мудариб)", "Капитал (рас аль-маль)", "Одобрить", "Черновик"}, {"Управляемые инвестиции", "Управляющий", "Учесть прибыль"}},
		"ar": {{"عقود المضاربة", "المضارب", "رأس مال المضاربة", "اعتماد", "مسودة"}, {"الاستثمارات المُدارة", "المدير", "تسجيل ربح"}},
	} {
		b := client(t, s).With("Accept-Language", lang)
		b.Get(path).Want(200, texts[0]...)
		b.Get(secular).Want(200, texts[1]...).WantNone("mudarib", "мудариб", "المضارب")
	}
}

func testFormThatIsSentTwiceActsOnce(t *testing.T, s *testkit.Server) {
	b := client(t, s)
	path := create(t, s, b, "pfp/safekeeping-deposits")
	act(s, b, path, "activate").Want(200)
	form := b.Get(path+"/deposit").Form(path+"/deposit").Set("amount", "5")
	form.Submit("").Want(200, "AED 1,005.00")
	form.Submit("").Want(200, "AED 1,005.00")
}

// TestDualControl checks that the pages tell the creator of a contract why another user must approve it, and tell other users who
// has requested the approval.
func TestDualControl(t *testing.T) {
	t.Parallel()
	s := start(t, "dual_control")
	b, admin := client(t, s), consoletest.As(t, s, "admin").With("Accept-Language", "en")
	path := create(t, s, b, "islamic-banking/mudaraba")
	const refused = "another user has to approve it"
	b.Get(root+"islamic-banking/review").Want(200, "MDR-2026-000001", refused)
	b.Get(path).Want(200, refused)
	if page := b.Get(path+"/approve").Want(200, refused); page.HasForm(path + "/approve") {
		t.Error("the creator has the form of the approval")
	}
	admin.Get(root+"islamic-banking/review").Want(200, "MDR-2026-000001", "Requested by").WantNone(refused)
	act(s, admin, path, "approve", "approved_by", "Dr. Amin", "fatwa_reference", "F-7").Want(200, "Status Review passed")
	admin.Get(root+"islamic-banking/review").Want(200, "No contract waits for a review")
}

// For an organization without the modules the page says so. An organization with a single module sees only this module's family.
func TestFamiliesFollowTheModules(t *testing.T) {
	t.Parallel()
	s := start(t)
	setModules(t, s, []string{})
	b := client(t, s)
	b.Get("/console/contracts").Want(200, "Your organization has no contracts").WantNone("Leases")
	b.Get(root + "pfp").Want(403)
	setModules(t, s, []string{"participatory_finance"})
	b.Get("/console/contracts").Want(200, "Leases").WantNone("Ijara")
	b.Get(root+"pfp/leases").Want(200, "there are none yet")
	create(t, s, b, "pfp/leases")
	b.Get(root+"pfp").Want(200, "Number of contracts by product")
	b.Get(root + "islamic-banking/review").Want(403)
}
