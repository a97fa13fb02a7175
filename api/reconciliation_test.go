package api_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"slices"
	"strings"
	"testing"
)

const (
	reconciliationPath = "/api/v1/reconciliation"
	reportsPath        = reconciliationPath + "/reports"
	differencesPath    = reconciliationPath + "/differences"

	csvMapping = `{"date":"day","amount":"gross","currency":"ccy","fee":"fee","reference":"ref","kind":"what","id":"id","scale":"minor"}`
	csvHeader  = "id,day,what,gross,fee,ccy,ref\n"
)

// importReport uploads a report; parts are names and contents in turn.
func (c caller) importReport(parts ...string) *response {
	t := c.fixture.t
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(parts); i += 2 {
		if parts[i] == "file" {
			part, err := form.CreateFormFile("file", "report")
			must(t, err)
			_, err = part.Write([]byte(parts[i+1]))
			must(t, err)
			continue
		}
		must(t, form.WriteField(parts[i], parts[i+1]))
	}
	must(t, form.Close())
	return c.with("content-type", form.FormDataContentType()).post(reportsPath, body.String())
}

// importCSV imports lines in the columns of csvHeader for the terminal of paymentTerminal.
func (f *fixture) importCSV(lines ...string) *response {
	f.t.Helper()
	return f.admin().importReport("terminal_id", f.paymentTerminal(), "format", "csv", "mapping", csvMapping, "file", csvHeader+strings.Join(lines, "\n")+"\n")
}

// reconciled is a fixture with three charged payments of the first partner: "a" of 1000, "b" of 2000 and "c" of 3000, in US cents.
type reconciled struct {
	*fixture
	terminal string
	ids      map[string]string // ids of the transactions by txid
}

func newReconciled(t *testing.T) *reconciled {
	t.Helper()
	r := &reconciled{fixture: newFixture(t), ids: make(map[string]string)}
	r.terminal = r.paymentTerminal()
	for _, p := range []struct{ txid, amount string }{{"a", "1000"}, {"b", "2000"}, {"c", "3000"}} {
		r.ids[p.txid] = r.pay(p.txid, p.amount)
	}
	return r
}

// pay makes a charged test payment and returns the transaction's id.
func (r *reconciled) pay(txid, amount string) string {
	r.t.Helper()
	created := r.partner().post(transactions, paymentBody(fmt.Sprintf(`"txid":"%s","amount":"%s","currency":"USD"`, txid, amount))).want(201, "")
	if created.at("status") != "charged" {
		r.t.Fatalf("%s", created.body)
	}
	return created.at("id")
}

// open returns the open differences of the terminal, newest first, as "kind line_id entry_amount".
func (r *reconciled) open() (list []string) {
	r.t.Helper()
	page := r.admin().get(differencesPath+"?state=open&terminal_id="+r.terminal).want(200, "")
	for i := range page.rows() {
		at := func(name string) string { return page.at(fmt.Sprintf("data.%d.%s", i, name)) }
		list = append(list, at("kind")+" "+at("line_id")+" "+at("entry_amount"))
	}
	return list
}

func (r *reconciled) wantOpen(want ...string) {
	r.t.Helper()
	if got := r.open(); !slices.Equal(got, want) {
		r.t.Errorf("open differences: %q, want %q", got, want)
	}
}

// difference returns the id of the newest open difference of a kind.
func (r *reconciled) difference(kind string) string {
	r.t.Helper()
	return r.admin().get(differencesPath+"?state=open&kind="+kind).want(200, "").at("data.0.id")
}

func (r *reconciled) settle(id, decision, more string) *response {
	r.t.Helper()
	return r.admin().post(differencesPath+"/"+id+"/settle", `{"decision":"`+decision+`","note":"looked at it"`+more+`}`)
}

func (r *reconciled) summary() *response {
	r.t.Helper()
	return r.auditor().get(reconciliationPath+"/summary?env=test&currency=USD&terminal_id="+r.terminal).want(200, "")
}

const closeToday = "/2026-09-03/close"

func (r *reconciled) closeDay() *response {
	r.t.Helper()
	return r.admin().post(reconciliationPath+"/days/"+r.terminal+closeToday, "")
}

func TestReportThatAgreesWithTheLedgerClosesItsDay(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	report := r.importCSV("l1,2026-09-03,charge,1000,29,USD,a", "l2,2026-09-03,charge,2000,0,USD,"+r.ids["b"], "l3,2026-09-04T01:00:00Z,charge,3000,,USD,c").want(201, "")
	report.wantFields(map[string]string{"data.lines": "3", "data.matched": "3", "data.differences": "0", "data.state": "complete", "data.terminal_id": r.terminal})
	r.wantOpen()
	r.summary().wantFields(map[string]string{"data.provider": "5971", "data.ledger": "6000", "data.difference": "-29", "data.in_transit": "0", "data.reported_to": "2026-09-04"})
	closed := r.closeDay().want(200, "")
	closed.wantFields(map[string]string{"data.totals.0.lines": "2", "data.totals.0.entries": "3", "data.totals.0.debits": "6000", "data.totals.0.in": "3000", "data.date": "2026-09-03"})
	r.closeDay().want(409, "")
	if days := r.auditor().get(reconciliationPath+"/days/"+r.terminal).want(200, ""); days.at("data.0.hash") != closed.at("data.hash") {
		t.Errorf("%s", days.body)
	}
}

func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	d, e := r.pay("d", "4000"), r.pay("e", "5000")
	report := r.importCSV(
		"l1,2026-09-03,charge,1000,0,USD,a",
		"l1,2026-09-03,charge,1000,0,USD,a",  // the same id twice
		"l2,2026-09-03,charge,1900,0,USD,b",  // 100 too low
		"l3,2026-09-03,charge,700,0,USD,zzz", // unknown here
		"l4,2026-09-03,charge,4000,0,EUR,"+d, // another currency
		"l5,2026-08-20,charge,5000,0,USD,"+e, // another day
	).want(201, "")
	report.wantFields(map[string]string{"data.lines": "6", "data.matched": "1", "data.differences": "6"})
	r.wantOpen("missing_there null 3000", "date l5 5000", "currency l4 4000", "missing_here l3 null", "amount l2 2000", "duplicate l1 null")
}

func TestSameUploadIsTheSameReport(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	first := r.importCSV("l1,2026-09-03,charge,1000,0,USD,a").want(201, "")
	before := r.events()
	again := r.importCSV("l1,2026-09-03,charge,1000,0,USD,a").want(201, first.body)
	if !again.isReplay() || first.isReplay() || r.events() != before {
		t.Errorf("it is a replay: %v, %v", first.isReplay(), again.isReplay())
	}
	// The same line in another file is a duplicate.
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,2000,0,USD,b").want(201, "").
		wantFields(map[string]string{"data.matched": "1", "data.differences": "1"})
	if got := r.admin().get(reportsPath+"?limit=1").want(200, ""); got.rows() != 1 || got.at("cursor.cursor_value") == "null" {
		t.Errorf("%s", got.body)
	}
}

func TestDecisionsPostTheirTemplates(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	provider := "A:provider:" + r.terminal
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,1900,0,USD,b", "l3,2026-09-03,charge,700,0,USD,zzz",
		"l4,2026-09-03,fee,50,0,USD,", "l5,2026-09-03,payout,600,0,USD,").want(201, "")
	r.wantOpen("missing_there null 3000", "missing_here l5 null", "missing_here l4 null", "missing_here l3 null", "amount l2 2000")
	ids := make(map[string]string)
	page := r.admin().get(differencesPath+"?state=open").want(200, "")
	for i := range page.rows() {
		ids[page.at(fmt.Sprintf("data.%d.line_id", i))] = page.at(fmt.Sprintf("data.%d.id", i))
	}
	r.settle(ids["l2"], "accept_fee", "").want(200, "")
	r.settle(ids["l2"], "write_off", "").want(409, "")
	r.settle(ids["l3"], "write_off", "").want(200, "")
	r.settle(ids["l4"], "accept_fee", "").want(200, "")
	r.settle(ids["l5"], "accept_fee", "").want(422, "")
	r.settle(ids["l5"], "arrived", "").want(409, "")
	r.settle(ids["l5"], "in_transit", "").want(200, "")
	r.summary().wantFields(map[string]string{"data.in_transit": "600"})
	r.settle(ids["l5"], "arrived", "").want(200, "")
	missing := ids["null"]
	r.settle(missing, "wait", "").want(200, "").wantFields(map[string]string{"data.state": "open", "data.decision": "wait"})
	r.closeDay().want(409, "")
	r.settle(missing, "write_off", "").want(200, "")
	for path, want := range map[string]string{
		provider: "2950", "E:provider_fees": "150", "E:write_offs": "3000", "L:unidentified:" + r.terminal: "700", "A:in_transit:" + r.terminal: "0",
	} {
		got := r.auditor().get("/api/v1/ledger/accounts/"+path+"?env=test&currency=USD").want(200, "").at("data.0.balance")
		if got != want {
			t.Errorf("%s has %s, want %s", path, got, want)
		}
	}
	r.closeDay().want(200, "")
	r.summary().wantFields(map[string]string{"data.provider": "2950", "data.ledger": "2950", "data.difference": "0", "data.in_transit": "0"})
}

func TestEntryMissingThereIsSettledByALaterReport(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,2000,0,USD,b").want(201, "")
	id := r.difference("missing_there")
	r.wantOpen("missing_there null 3000")
	r.importCSV("l3,2026-09-04,charge,3000,0,USD,c").want(201, "").wantFields(map[string]string{"data.matched": "1", "data.differences": "0"})
	r.wantOpen()
	r.admin().get(differencesPath+"/"+id).want(200, "").wantFields(map[string]string{"data.state": "settled", "data.decision": "matched"})
	r.settle(id, "write_off", "").want(409, "")
	r.closeDay().want(200, "")
}

func TestLinkExplainsADifferenceWithAnEntryOnce(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	seqOf := func(txid string) string {
		return r.auditor().get("/api/v1/ledger/entries?env=test&source="+r.ids[txid]).want(200, "").at("data.0.seq")
	}
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,unknown", "l2,2026-09-03,charge,1000,0,USD,also unknown", "l3,2026-09-03,charge,2000,0,USD,b").want(201, "")
	page := r.admin().get(differencesPath+"?state=open&kind=missing_here").want(200, "")
	second, first := page.at("data.0.id"), page.at("data.1.id")
	r.settle(first, "link", "").want(422, "")
	r.settle(first, "link", `,"entry_seq":1`).want(422, "")
	r.settle(first, "link", `,"entry_seq":`+seqOf("c")).want(422, "") // another amount
	r.settle(first, "link", `,"entry_seq":`+seqOf("a")).want(200, "").wantFields(map[string]string{"data.linked_seq": seqOf("a"), "data.posted_seq": "null"})
	r.settle(second, "link", `,"entry_seq":`+seqOf("a")).want(409, "")
	r.wantOpen("missing_there null 3000", "missing_here l2 null") // a is no longer missing there
}

// A fee that a settlement has booked is not booked again: it is linked with the settlement, up to the settlement's fee.
func TestFeeThatASettlementBookedIsLinkedAndNotAccepted(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	settlement := r.admin().post("/api/v1/terminal/"+r.terminal+"/settlements", `{"gross":"6000","fee":"40","currency":"USD","env":"test","reference":"po-1"}`).want(201, "")
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,2000,0,USD,b", "l3,2026-09-03,charge,3000,0,USD,c",
		"f1,2026-09-03,fee,30,0,USD,", "f2,2026-09-03,fee,20,0,USD,", "p1,2026-09-03,payout,5960,0,USD,po-1").want(201, "")
	r.wantOpen("missing_here f2 null", "missing_here f1 null")
	page := r.admin().get(differencesPath+"?state=open").want(200, "")
	second, first := page.at("data.0.id"), page.at("data.1.id")
	r.settle(first, "accept_fee", "").want(409, "")
	seq := `,"entry_seq":` + settlement.at("data.seq")
	r.settle(first, "link", seq).want(200, "")
	r.settle(second, "link", seq).want(409, "") // 30 + 20 is more than 40
	r.settle(second, "accept_fee", "").want(200, "")
	r.closeDay().want(200, "")
}

func TestLateLineOfAClosedDayIsADifferenceOfTheDayOnWhichItCame(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,2000,0,USD,b", "l3,2026-09-03,charge,3000,0,USD,c").want(201, "")
	r.closeDay().want(200, "")
	r.importCSV("l4,2026-09-03,charge,10,0,USD,zzz").want(201, "").wantFields(map[string]string{"data.differences": "1"})
	r.admin().get(differencesPath+"?state=open").want(200, "").wantFields(map[string]string{"data.0.day": "2026-09-04", "data.0.date": "2026-09-03"}) // today is closed, so the next day
}

func TestDayWithAnEntryInNoReportIsNotClosed(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	r.closeDay().want(409, "")
	r.admin().post(reconciliationPath+"/days/"+r.terminal+"/2026-09-04/close", "").want(409, "")
	r.admin().post(reconciliationPath+"/days/"+r.terminal+"/today/close", "").want(422, "")
	r.admin().post(reconciliationPath+"/days/0b9a4d2e-2d53-4b1f-9d2c-0b5a6f1e3c01"+closeToday, "").want(404, "")
}

// A report that can't be finished is refused before it begins: a report that has begun would keep the days open for ever.
func TestReportThatCannotBeFinishedNeverBegins(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	before := r.events()
	lines := make([]string, 120_000) // whose sum needs more than 256 bits
	for i := range lines {
		lines[i] = fmt.Sprintf("m%d,2026-09-03,charge,1%s,0,USD,", i, strings.Repeat("0", 72))
	}
	r.importCSV(lines...).want(422, "").wantFields(map[string]string{"errors.0.field": "file"})
	if r.events() != before {
		t.Error("the refused report has stored something")
	}
	r.importCSV("l1,2026-09-03,charge,1000,0,USD,a", "l2,2026-09-03,charge,2000,0,USD,b", "l3,2026-09-03,charge,3000,0,USD,c").want(201, "")
	r.closeDay().want(200, "")
}

// importStatement imports a camt.053 statement of a day with one credit (none if txid is empty) and a closing balance, in
// US dollars.
func (r *reconciled) importStatement(day, txid, amount, closing string) *response {
	r.t.Helper()
	entry := ""
	if txid != "" {
		entry = `<Ntry><NtryRef>` + txid + day + `</NtryRef><Amt Ccy="USD">` + amount + `</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>` + day + `</Dt></BookgDt>` +
			`<NtryDtls><TxDtls><Refs><EndToEndId>` + txid + `</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>`
	}
	return r.admin().importReport("terminal_id", r.terminal, "format", "camt053", "file", `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>`+
		`<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="USD">`+closing+`</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>`+entry+`</Stmt></BkToCstmrStmt></Document>`)
}

// The provider's balance is the one that the statement of the latest day states, in whatever order statements come in. Lines of later
// days are added.
func TestSummaryStartsFromTheLatestClosingBalance(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	r.setClock("2026-09-06T12:00:00Z")
	r.importStatement("2026-09-05", "b", "20.00", "30.00").want(201, "").wantFields(map[string]string{"data.lines": "1", "data.matched": "1"})
	r.summary().wantFields(map[string]string{"data.provider": "3000", "data.reported_to": "2026-09-05"})
	r.importStatement("2026-09-04", "a", "10.00", "10.00").want(201, "").wantFields(map[string]string{"data.matched": "1"})
	r.summary().wantFields(map[string]string{"data.provider": "3000", "data.reported_to": "2026-09-05"})
	r.importCSV("l3,2026-09-06,charge,3000,0,USD,c").want(201, "").wantFields(map[string]string{"data.matched": "1"})
	r.summary().wantFields(map[string]string{"data.provider": "6000", "data.ledger": "6000", "data.difference": "0", "data.reported_to": "2026-09-06"})
	r.setClock("2026-09-07T12:00:00Z")
	r.importStatement("2026-09-07", "", "", "59.00").want(201, "")
	r.summary().wantFields(map[string]string{"data.provider": "5900", "data.difference": "-100", "data.reported_to": "2026-09-06"})
}

// A line that states the amount after its fee counts once in what the provider owes.
func TestNetAmountsCountTheFeeOnce(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	r.importCSV("l1,2026-09-03,charge,971,29,USD,a").want(201, "").wantFields(map[string]string{"data.matched": "1", "data.totals.0.in": "1000", "data.totals.0.fees": "29"})
	r.summary().wantFields(map[string]string{"data.provider": "971"})
}

func TestWrongUploadStoresNothing(t *testing.T) {
	t.Parallel()
	r := newReconciled(t)
	before := r.events()
	good := []string{"terminal_id", r.terminal, "format", "csv", "mapping", csvMapping, "file", csvHeader + "l1,2026-09-03,charge,1000,0,USD,a\n"}
	change := func(name, value string) []string {
		parts := slices.Clone(good)
		for i := 0; i < len(parts); i += 2 {
			if parts[i] == name {
				parts[i+1] = value
			}
		}
		return parts
	}
	for name, c := range map[string]struct {
		parts []string
		field string
	}{
		"no terminal":          {good[2:], "terminal_id"},
		"unknown terminal":     {change("terminal_id", "0b9a4d2e-2d53-4b1f-9d2c-0b5a6f1e3c01"), "terminal_id"},
		"no format":            {slices.Concat(good[:2], good[4:]), "format"},
		"unknown format":       {change("format", "mt940"), "format"},
		"no mapping":           {slices.Concat(good[:4], good[6:]), "mapping"},
		"mapping is no object": {change("mapping", "[]"), "mapping"},
		"mapping lacks scale":  {change("mapping", `{"date":"day","amount":"gross","currency":"ccy","reference":"ref"}`), "mapping.scale"},
		"unknown scale":        {change("mapping", `{"date":"day","amount":"gross","currency":"ccy","reference":"ref","scale":"cents"}`), "mapping.scale"},
		"unknown column":       {change("mapping", `{"date":"no","amount":"gross","currency":"ccy","reference":"ref","scale":"minor"}`), "mapping.date"},
		"no file":              {good[:6], "file"},
		"empty file":           {change("file", ""), "file"},
		"no lines":             {change("file", csvHeader), "file"},
		"wrong amount":         {change("file", csvHeader+"l1,2026-09-03,charge,1.5,0,USD,a\n"), "file"},
		"second line is wrong": {change("file", csvHeader+"l1,2026-09-03,charge,1000,0,USD,a\nl2,x,charge,1000,0,USD,a\n"), "file"},
		"not an XML document":  {[]string{"terminal_id", r.terminal, "format", "camt053", "file", "hello"}, "file"},
		"no lines by an API":   {[]string{"terminal_id", r.terminal, "format", "stripe"}, "format"},
		"mapping for camt053":  {[]string{"terminal_id", r.terminal, "format", "camt053", "file", "x", "mapping", "{}"}, "mapping"},
	} {
		refused := r.admin().importReport(c.parts...).want(422, "")
		if got := refused.at("errors.0.field"); got != c.field {
			t.Errorf("%s: field %s, want %s: %s", name, got, c.field, refused.body)
		}
	}
	r.admin().post(reportsPath, "{}").want(415, "")
	r.partner().importReport(good...).want(401, "")
	r.auditor().importReport(good...).want(403, "")
	if r.events() != before {
		t.Error("something was stored")
	}
}
