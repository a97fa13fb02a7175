package auditor_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mizan/api/console/auditor"
	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

// TestLedgerPages runs the tests that change nothing against one server, because a start takes longer than they do.
func TestLedgerPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, test := range map[string]func(*testing.T, *fixture){
		"PagesAreForAuditorsAndAdministrators":  testPagesAreForAuditorsAndAdministrators,
		"PagesSpeakThreeLanguages":              testPagesSpeakThreeLanguages,
		"TrialBalanceHasTheRowsOfTheAPI":        testTrialBalanceHasTheRowsOfTheAPI,
		"TrialBalanceShowsThatItBalances":       testTrialBalanceShowsThatItBalances,
		"TwoDaysAreComparedWithWhatWasPosted":   testTwoDaysAreComparedWithWhatWasPosted,
		"WrongParametersAreExplained":           testWrongParametersAreExplained,
		"TreeLeadsToEveryAccount":               testTreeLeadsToEveryAccount,
		"StatementHasOpeningAndClosingBalances": testStatementHasOpeningAndClosingBalances,
		"StatementAsCSVHasAllLines":             testStatementAsCSVHasAllLines,
		"EntryLeadsToItsEventRecordAndProof":    testEntryLeadsToItsEventRecordAndProof,
		"EntriesAreFiltered":                    testEntriesAreFiltered,
		"WhatIsNotThereIsNotFound":              testWhatIsNotThereIsNotFound,
		"AnotherOrganizationsLedgerIsInvisible": testAnotherOrganizationsLedgerIsInvisible,
		"ProofHasWhatTheAPISends":               testProofHasWhatTheAPISends,
		"ExportIsTheOneOfTheAPI":                testExportIsTheOneOfTheAPI,
		"LongEntriesAreCutInTheList":            testLongEntriesAreCutInTheList,
		"EventsHaveNamesInThreeLanguages":       testEventsHaveNamesInThreeLanguages,
		"EventsAreNamedForTheKindOfTheirRecord": testEventsAreNamedForTheKindOfTheirRecord,
		"PostingsLeadToTheirStatements":         testPostingsLeadToTheirStatements,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *f
			own.t = t
			test(t, &own)
		})
	}
}

// pages are the addresses of the pages, with a text that each shows in English.
var pages = map[string]string{
	"trial-balance":            "Totals by asset",
	"accounts":                 "Path begins with",
	"accounts/A:bank?env=test": "several assets",
	"accounts/L:partner:1:available?env=test&currency=USD&network=": "Closing balance",
	"entries":          "Entries, newest first",
	"entries?env=test": "Charged",
	"events":           "Charged",
	"events/1":         "History of the record",
	"periods":          "No month is closed yet.",
	"exports":          "Estimate the size",
	"proof":            "What a proof says",
	"proof?seq=1":      "What this page shows",
}

// TestEveryPageIsTried requires that the tests of this file open every page of the area.
func TestEveryPageIsTried(t *testing.T) {
	t.Parallel()
	tried := []string{"entries/1", "exports/download", "accounts/A:bank/statement.csv", "periods/2020-01/close"}
	for path := range pages {
		path, _, _ = strings.Cut(path, "?")
		tried = append(tried, path)
	}
	for _, page := range auditor.Pages() {
		pattern := strings.Split(strings.TrimPrefix(page.Path, ledgerPath), "/")
		isTried := slices.ContainsFunc(tried, func(path string) bool {
			segments := strings.Split(path, "/")
			return len(segments) == len(pattern) && !slices.ContainsFunc(pattern, func(segment string) bool {
				return !strings.HasPrefix(segment, ":") && !slices.Contains(segments, segment)
			})
		})
		if !isTried {
			t.Errorf("no test opens %s", page.Path)
		}
	}
}

func testPagesAreForAuditorsAndAdministrators(t *testing.T, f *fixture) {
	pages := maps.Clone(pages)
	pages[fmt.Sprint("entries/", apiRows[struct{ Seq int64 }](f, "entries?env=test")[0].Seq)] = "Postings"
	for _, role := range []string{"auditor", "admin"} {
		b := consoletest.As(t, f.Server, role)
		for path, text := range pages {
			b.Get(ledgerPath+path).Want(200, text)
			if head := b.Send(http.MethodHead, ledgerPath+path, nil); head.Status != 200 || head.Body != "" {
				t.Errorf("HEAD %s: %d", path, head.Status)
			}
		}
	}
	for _, role := range []string{"client", "partner"} {
		b := consoletest.As(t, f.Server, role)
		for path := range pages {
			b.Get(ledgerPath + path).Want(403)
		}
		b.Get(ledgerPath + "exports/download?format=csv").Want(403)
		b.Get(ledgerPath + "accounts/A:bank/statement.csv").Want(403)
	}
	for path := range pages {
		if p := consoletest.Open(t, f.Server).Get(ledgerPath + path); !strings.HasPrefix(p.Path, "/console/login?") {
			t.Errorf("%s: a person without a session sees %s", path, p.Path)
		}
	}
	closing := ledgerPath + "periods/2020-01/close"
	auditor := consoletest.As(t, f.Server, "auditor")
	auditor.Get(closing).Want(403)
	auditor.Get(ledgerPath + "periods").Want(200).WantNone("Close a month")
	auditor.Post(closing, url.Values{}).Want(403)
}

func testPagesSpeakThreeLanguages(t *testing.T, f *fixture) {
	for lang, want := range map[string]struct{ dir, text string }{"en": {"ltr", "Totals by asset"}, "ru": {"ltr", "Итоги по валютам"}, "ar": {"rtl", "المجاميع حسب الأصل"}} {
		p := consoletest.As(t, f.Server, "auditor").With("Accept-Language", lang).Get(ledgerPath+"trial-balance?env=test").Want(200, want.text)
		if gotLang, dir := p.Lang(); gotLang != lang || dir != want.dir {
			t.Errorf("%s: the page is in %s, %s", lang, gotLang, dir)
		}
	}
}

// account is a row of the API's trial balance.
type account struct {
	Account string
	Asset   struct{ Currency, Network string }
	Debits  string `json:"debits_posted"`
	Credits string `json:"credits_posted"`
}

func testTrialBalanceHasTheRowsOfTheAPI(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	for _, query := range []string{"env=test", "env=prod", "env=test&by=effective", "env=test&currency=USD&network="} {
		var want, got []string
		for _, r := range apiRows[account](f, "trial-balance?"+query) {
			want = append(want, strings.TrimSpace(r.Account+" "+strings.TrimSpace(r.Asset.Currency+" "+r.Asset.Network)))
		}
		pageCount := 0
		for next := ledgerPath + "trial-balance?limit=10&" + query; next != ""; pageCount++ {
			p := b.Get(next).Want(200)
			for _, cells := range p.Rows() {
				if strings.Contains(cells[0], ":") { // the other rows are those of the totals
					got = append(got, cells[0]+" "+cells[1])
				}
			}
			next = nextPage(p)
		}
		if !slices.Equal(got, want) || pageCount != (len(want)+9)/10 {
			t.Errorf("%s: %d pages with %v, want %v", query, pageCount, got, want)
		}
	}
}

func testTrialBalanceShowsThatItBalances(t *testing.T, f *fixture) {
	p := consoletest.As(t, f.Server, "auditor").Get(ledgerPath+"trial-balance?env=test").Want(200, "Debits equal credits in every asset.").WantNone("Does not balance")
	usd := slices.IndexFunc(p.Rows(), func(cells []string) bool { return cells[0] == "USD" })
	if want := []string{"USD", "1,000,040.00", "1,000,040.00", "0.00"}; usd < 0 || !slices.Equal(p.Rows()[usd], want) {
		t.Errorf("the totals of USD are %v, want %v", p.Rows()[usd], want)
	}
}

func testTwoDaysAreComparedWithWhatWasPosted(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	first := dayBefore(t, f.second)
	for _, by := range []string{"booked", "effective"} {
		p := b.Get(ledgerPath + "trial-balance?env=test&currency=USD&network=&by=" + by + "&since=" + first + "&at=" + f.second).Want(200)
		var totals, rows [][]string
		for _, cells := range p.Rows() {
			if strings.Contains(cells[0], ":") {
				rows = append(rows, cells)
			} else {
				totals = append(totals, cells)
			}
		}
		if len(totals) != 2 || totals[0][1] != "1,000,030.00" || totals[1][1] != "1,000,040.00" {
			t.Errorf("%s: the totals of the two days are %v", by, totals)
		}
		available := slices.IndexFunc(rows, func(cells []string) bool { return cells[0] == "L:partner:1:available" })
		if want := []string{"L:partner:1:available", "USD", "1,000,030.00 Cr", "0.00", "10.00", "1,000,040.00 Cr"}; available < 0 || !slices.Equal(rows[available], want) {
			t.Errorf("%s: %v, want %v", by, rows, want)
		}
	}
}

func testWrongParametersAreExplained(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	for query, text := range map[string]string{
		"trial-balance?at=yesterday": "at must be an RFC 3339 time", "trial-balance?env=live": "env must be", "trial-balance?since=x": "since must be an RFC 3339 time", "trial-balance?since=2026-01-02&at=2026-01-01": "since must not be after at", "trial-balance?cursor=x": "cursor is malformed",
		"accounts?limit=0": "limit must be from 1 to 500", "accounts/A:bank?env=test&currency=USD&from=x": "from must be an RFC 3339 time",
		"entries?source=1": "source must be a UUID", "events?source=1": "source must be a UUID", "periods?cursor=x": "cursor is malformed",
		"exports?format=xml": "format must be one of", "exports?format=csv&from=2999-01-01": "from must not be after now",
		"proof?seq=99999": "no event with this number", "proof?from=99999": "", "proof?seq=x": "no event",
	} {
		b.Get(ledgerPath+query).Want(422, text)
	}
}

func testTreeLeadsToEveryAccount(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	seen, leaves := map[string]bool{}, map[string]bool{}
	parts := b.With("HX-Request", "true")
	var visit func(address string)
	visit = func(address string) {
		if seen[address] || len(seen) > 200 {
			return
		}
		seen[address] = true
		p := b.Get(address).Want(200)
		level, nodes := parts.Get(address+"&part=level"), parts.Get(address+"&part=nodes")
		isSame := func() bool { return level.Body == "<ul class=\"level\">\n"+nodes.Body+"</ul>" }
		if !isSame() { // an address without a moment is about the present one, so the two answers may be of different seconds
			level, nodes = parts.Get(address+"&part=level"), parts.Get(address+"&part=nodes")
		}
		if !isSame() || nodes.Body != "" && !strings.HasPrefix(nodes.Body, "<li>") {
			t.Errorf("%s: the level is %.200s, and its nodes are %.200s", address, level.Body, nodes.Body)
		}
		for _, link := range p.Links() {
			parsed, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasPrefix(parsed.Path, ledgerPath+"accounts/"):
				leaves[strings.TrimPrefix(parsed.Path, ledgerPath+"accounts/")] = true
			case parsed.Path == ledgerPath+"accounts" && (strings.Contains(link, "cursor=") || parsed.Query().Has("prefix")):
				visit(link)
			}
		}
	}
	visit(ledgerPath + "accounts?env=test&limit=1")
	refused := parts.Get(ledgerPath+"accounts?part=nodes&limit=0").Want(422, "limit must be from 1 to 500")
	if !strings.HasPrefix(refused.Body, "<p") || !strings.Contains(refused.Body, `role="alert"`) || refused.Header.Get("HX-Reswap") != "innerHTML" {
		t.Errorf("a part that is refused is %.300s", refused.Body)
	}
	for _, r := range apiRows[account](f, "accounts?env=test") {
		if !leaves[r.Account] {
			t.Errorf("the tree does not lead to %s", r.Account)
		}
	}
}

func testStatementHasOpeningAndClosingBalances(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	const path = ledgerPath + "accounts/L:partner:1:available"
	choice := b.Get(path+"?env=test").Want(200, "Choose one.")
	p := b.Get(f.link(choice, "currency=USD&env=test")).Want(200, "Opening balance 0.00", "Closing balance · now 1,000,040.00 Cr")
	if rows := p.Rows(); len(rows) != 5 || rows[0][4] != "10.00" || rows[0][5] != "1,000,040.00" || rows[4][5] != "1,000,000.00" {
		t.Errorf("the lines are %v", rows)
	}
	second := b.Get(path+"?env=test&currency=USD&network=&from="+f.second+"&to="+f.second).Want(200, "1,000,030.00 Cr", "Credits 10.00", "1,000,040.00 Cr")
	if rows := second.Rows(); len(rows) != 1 {
		t.Errorf("the second day has the lines %v", rows)
	}
	first := b.Get(path+"?env=test&currency=USD&network=&limit=2&to="+dayBefore(t, f.second)).Want(200, "1,000,030.00 Cr")
	lines := len(first.Rows())
	for next := nextPage(first); next != ""; {
		p := b.Get(next).Want(200, "1,000,030.00 Cr")
		lines += len(p.Rows())
		if next = nextPage(p); strings.Contains(next, "cursor=") && lines > 10 {
			t.Fatal("the pages do not end")
		}
	}
	if lines != 4 {
		t.Errorf("the pages of the first day have %d lines", lines)
	}
}

func testStatementAsCSVHasAllLines(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	p := b.Get(ledgerPath + "accounts/L:partner:1:available?env=test&currency=USD&network=&limit=1")
	file := b.Get(f.link(p, "statement.csv"))
	if file.Status != 200 || file.Header.Get("Content-Type") != "text/csv; charset=utf-8" || file.Header.Get("Content-Disposition") != `attachment; filename="statement-L-partner-1-available.csv"` {
		t.Fatalf("%d %v", file.Status, file.Header)
	}
	r := csv.NewReader(strings.NewReader(file.Body))
	heading, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v: %v", rows, err)
	}
	at := func(name string) string { return rows[0][slices.Index(heading, name)] }
	for name, want := range map[string]string{"event": "settle", "phase": "posted", "side": "credit", "currency": "USD", "network": "", "env": "test", "amount_minor": "1000", "amount": "10.00", "balance": "1000040.00"} {
		if at(name) != want {
			t.Errorf("%s is %q, want %q", name, at(name), want)
		}
	}
	b.Get(ledgerPath + "accounts/L:partner:99:available/statement.csv?env=test").Want(404)
	b.Get(ledgerPath + "accounts/L:partner:1:available/statement.csv?env=test").Want(422) // it has several assets
}

func testEntryLeadsToItsEventRecordAndProof(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	list := b.Get(ledgerPath + "entries?env=test")
	entry := b.Get(f.link(list, ledgerPath+"entries/")).Want(200, "Event Charged settle", "Posted", "L:partner:1:available", "10.00", "History of the record")
	history := b.Get(f.link(entry, ledgerPath+"events?source="))
	if rows := history.Want(200).Rows(); len(rows) < 3 || rows[len(rows)-1][4] != "created" {
		t.Errorf("the record's events are %v", rows)
	}
	event := b.Get(f.link(history, ledgerPath+"events/")).Want(200, "Prove this event", "Who", "Provider")
	for lang, who := range map[string]string{"en": "API key", "ru": "Ключ API", "ar": "مفتاح API"} {
		byKey := consoletest.As(t, f.Server, "auditor").With("Accept-Language", lang).Get(ledgerPath+"events?author=api_key").Want(200, who)
		consoletest.As(t, f.Server, "auditor").With("Accept-Language", lang).Get(f.link(byKey, ledgerPath+"events/")).Want(200, who+" ")
	}
	b.Get(f.link(event, ledgerPath+"proof?seq=")).Want(200, "What this page shows", "Payment")
	b.Get(f.link(entry, ledgerPath+"accounts/L:partner:1:available")).Want(200, "Closing balance")
}

func testEntriesAreFiltered(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	form := b.Get(ledgerPath + "entries?env=test").Form("/console/ledger/entries")
	if form.Value("env") != "test" {
		t.Errorf("the form forgets the environment")
	}
	entries := func(query string) (seqs []string) {
		for next := ledgerPath + "entries?env=test&" + query; next != ""; {
			p := b.Get(next).Want(200)
			for _, cells := range p.Rows() {
				if len(cells) == 7 {
					seqs = append(seqs, cells[0])
				}
			}
			next = nextPage(p)
		}
		return seqs
	}
	all := entries("limit=2")
	if len(all) != len(apiRows[struct{}](f, "entries?env=test")) || len(all) < 5 {
		t.Errorf("the pages have the entries %v", all)
	}
	if second := entries("from=" + f.second); len(second) != 1 || second[0] != all[0] {
		t.Errorf("the second day has %v", second)
	}
	if first := entries("to=" + dayBefore(t, f.second) + "&account=L:partner:1:available&event=settle"); len(first) != len(all)-1 {
		t.Errorf("the first day has %v of %v", first, all)
	}
	b.Get(ledgerPath+"entries?env=test&event=nothing").Want(200, "Nothing matches.")
}

func testWhatIsNotThereIsNotFound(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	for _, path := range []string{
		"accounts/L:partner:99:available?env=test", "accounts/nonsense", "accounts/%2e%2e", "entries/0", "entries/x", "entries/01", "entries/99999", "entries/9223372036854775807",
		"events/0", "events/-1", "events/99999", "events/99999999999999999999", "nothing", "entries/1", // event 1 moved no money
	} {
		b.Get(ledgerPath + path).Want(404)
	}
	consoletest.As(t, f.Server, "admin").Get(ledgerPath + "periods/x/close").Want(404)
}

func testAnotherOrganizationsLedgerIsInvisible(t *testing.T, f *fixture) {
	second := f.SecondPartner()
	id := testkit.Pay(t, second, "of the second")
	b := consoletest.As(t, f.Server, "auditor")
	b.Get(ledgerPath+"events?source="+id).Want(200, "Nothing matches.")
	b.Get(ledgerPath + "accounts/L:partner:2:available?env=test").Want(404)
	b.With("X-Organization-Id", f.Sandbox.Second.OrganizationID).Get(ledgerPath+"accounts?env=test&prefix=L:partner:").Want(200, "1:").WantNone("2:")
	b.Get(ledgerPath + "trial-balance?env=test&organization=" + f.Sandbox.Second.OrganizationID).Want(200).WantNone("L:partner:2:available")
}

func testProofHasWhatTheAPISends(t *testing.T, f *fixture) {
	answer, err := f.Auditor().Get("/api/v1/ledger/proofs/inclusion?seq=5")
	testkit.WantStatus(t, answer, err, 200)
	var inclusion struct {
		Data struct {
			Leaf, Root string
			Size       int64
			Proof      []string
		}
	}
	if err := answer.JSON(&inclusion); err != nil {
		t.Fatal(err)
	}
	b := consoletest.As(t, f.Server, "auditor") // the login is an event, so the tree has grown
	p := b.Get(ledgerPath+"proof?seq=5").Want(200, inclusion.Data.Leaf, "mizan audit prove 5")
	for _, attribute := range []string{`data-sent="head.signature"`, `data-sent="inclusion.root"`, `data-sent="inclusion.proof"`, `data-organization="` + f.Sandbox.OrganizationID + `"`, `data-module="/console/assets/proof-`} {
		if !strings.Contains(p.Body, attribute) {
			t.Errorf("the page has no %s", attribute)
		}
	}
	extension := b.Get(fmt.Sprint(ledgerPath, "proof?from=", inclusion.Data.Size)).Want(200)
	if !strings.Contains(extension.Body, `data-sent="extension.proof"`) || !strings.Contains(html.UnescapeString(extension.Body), inclusion.Data.Root) {
		t.Error("the page has no proof of the extension")
	}
}

func testExportIsTheOneOfTheAPI(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	query := "format=csv&env=test&to=" + dayBefore(t, f.second)
	form := b.Get(ledgerPath + "exports").Form("/console/ledger/exports")
	chosen := form.Set("format", "csv").Set("env", "test").Set("to", dayBefore(t, f.second)).Submit("").Want(200, "Download")
	file := b.Get(f.link(chosen, "exports/download?"))
	answer, err := f.Auditor().Get("/api/v1/ledger/export?" + query)
	testkit.WantStatus(t, answer, err, 200)
	if file.Status != 200 || file.Body != string(answer.Body) || len(file.Body) < 500 || file.Header.Get("Content-Disposition") != `attachment; filename="ledger-test.csv"` {
		t.Errorf("the download is %d, %d bytes, want %d: %v", file.Status, len(file.Body), len(answer.Body), file.Header)
	}
	b.Get(ledgerPath + "exports/download?format=xml").Want(422)
}

func testLongEntriesAreCutInTheList(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	var long string
	for next := ledgerPath + "entries?env=test"; next != "" && long == ""; {
		p := b.Get(next).Want(200)
		for _, cells := range p.Rows() {
			if len(cells) == 1 && strings.Contains(cells[0], "more postings") {
				long = cells[0]
			}
		}
		next = nextPage(p)
	}
	if long == "" {
		t.Fatal("no entry is cut, although the opening balance has many postings")
	}
	for _, e := range apiRows[struct {
		Seq      int64
		Postings []json.RawMessage
	}](f, "entries?env=test") {
		if len(e.Postings) > 6 {
			if rows := b.Get(fmt.Sprint(ledgerPath, "entries/", e.Seq)).Rows(); len(rows) < len(e.Postings) {
				t.Errorf("the page of entry %d has %d rows, want %d postings", e.Seq, len(rows), len(e.Postings))
			}
		}
	}
}

// The list of events shows labels in the page's language, with the API's names as titles. The page of one event shows both.
func testEventsHaveNamesInThreeLanguages(t *testing.T, f *fixture) {
	settled := apiRows[struct {
		Seq int64
	}](f, "entries?env=test&event=settle")[0].Seq
	for lang, want := range map[string]struct{ event, state, kind string }{
		"en": {"Charged", "Charged", "Payment"}, "ru": {"Оплачено", "Оплачено", "Платёж"}, "ar": {"تم الدفع", "مدفوع", "عملية دفع"},
	} {
		b := consoletest.As(t, f.Server, "auditor").With("Accept-Language", lang)
		inList := `<span title="settle">` + want.event + `</span>`
		for _, path := range []string{"entries?env=test", "events?limit=500", "accounts/L:partner:1:available?env=test&currency=USD&network="} {
			if p := b.Get(ledgerPath + path).Want(200); !strings.Contains(p.Body, inList) {
				t.Errorf("%s: %s does not have %s", lang, path, inList)
			}
		}
		if p := b.Get(ledgerPath + "events?limit=500"); !strings.Contains(p.Body, `<span title="charged">`+want.state+`</span>`) {
			t.Errorf("%s: the list of events does not have the state %s", lang, want.state)
		}
		b.Get(ledgerPath+"events/"+fmt.Sprint(settled)).Want(200, want.event+" settle", want.state+" charged", want.kind)
		b.Get(ledgerPath+"proof?seq="+fmt.Sprint(settled)).Want(200, want.event+" settle", want.kind)
		if p := b.Get(ledgerPath + "entries"); !strings.Contains(p.Body, `<input type="text" id="event" name="event"`) || !strings.Contains(p.Body, `<option value="capture">`) || strings.Contains(p.Body, `<option value="archive">`) || strings.Contains(p.Body, `<option value="route">`) {
			t.Errorf("%s: the filter does not suggest the names of the events that have entries", lang)
		}
	}
	english := consoletest.As(t, f.Server, "auditor").With("Accept-Language", "en").Get(ledgerPath + "entries").Body
	if want := `<option value="settle">Charged / Settlement booked</option>`; !strings.Contains(english, want) {
		t.Errorf("the filter does not have %s", want)
	}
}

// The event settle of a payment and that of a settlement, such as the opening balance, have different labels.
func testEventsAreNamedForTheKindOfTheirRecord(t *testing.T, f *fixture) {
	for lang, want := range map[string][2]string{"en": {"Charged", "Settlement booked"}, "ru": {"Оплачено", "Расчёт проведён"}} {
		b := consoletest.As(t, f.Server, "auditor").With("Accept-Language", lang)
		for _, path := range []string{"entries?env=test", "accounts/L:partner:1:available?env=test&currency=USD"} {
			body := b.Get(ledgerPath + path).Want(200).Body
			for i, label := range want {
				if got := strings.Count(body, `<span title="settle">`+label+`</span>`); i == 0 && got != 4 || i == 1 && got == 0 {
					t.Errorf("%s: %s has %s %d times", lang, path, label, got)
				}
			}
		}
	}
}

// A posting's account leads to its statement in the posting's asset. The address has the network only if the currency has networks.
func testPostingsLeadToTheirStatements(t *testing.T, f *fixture) {
	b := consoletest.As(t, f.Server, "auditor")
	seen := make(map[string]bool)
	for _, e := range apiRows[struct{ Seq int64 }](f, "entries?env=test") {
		for _, link := range b.Get(fmt.Sprint(ledgerPath, "entries/", e.Seq)).Want(200).Links() {
			if address, found := strings.CutPrefix(link, ledgerPath+"accounts/"); found {
				seen[address] = true
			}
		}
	}
	for _, want := range []string{"A:bank?currency=USD&env=test", "A:bank?currency=USDT&env=test&network=tron", "A:bank?currency=USDT&env=test&network=bsc"} {
		if !seen[want] {
			t.Errorf("no posting leads to %s", want)
		}
	}
	for address := range seen {
		b.Get(ledgerPath+"accounts/"+address).Want(200, "Closing balance").WantNone("Choose one.")
	}
	b.Get(ledgerPath+"accounts/A:bank?currency=USDT&env=test").Want(200, "Choose one.")
}
