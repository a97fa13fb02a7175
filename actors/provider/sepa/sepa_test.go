package sepa_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/provider/sepa"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var (
	start     = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
	eur       = money.Asset{Currency: "EUR", Env: money.Prod}
	reference = uuid.MustParse("5b2f51a4-5f0a-4dd8-9f6d-0d6a8f0f8a01")
	fileName  = hex.EncodeToString(reference[:]) + ".xml"
)

// fixture is the adapter with one terminal.
type fixture struct {
	*sepa.Provider
	t        *testing.T
	root     string
	terminal *directory.Terminal
	clock    *clock.Manual
	log      bytes.Buffer
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, root: t.TempDir(), clock: clock.NewManual(start)}
	f.terminal = newTerminal(t, accountParameters(debtorIBAN))
	f.writeFile(filepath.Join(f.root, sepa.RootFile), "")
	f.restart()
	return f
}

func accountParameters(iban string) string {
	return `{"debtor_name":"Mizan Payments GmbH","debtor_iban":"` + iban + `","debtor_bic":"COBADEFFXXX","batch_booking":true}`
}

func newTerminal(t *testing.T, params string) *directory.Terminal {
	t.Helper()
	made, _, err := directory.NewTerminal(directory.Terminal{
		ID: uuid.New(), Org: uuid.New(), Partner: 1, Name: "bank", Provider: sepa.Name, Type: directory.PayoutTerminal, Env: money.Prod,
		ProviderParams: []byte(params), Active: true,
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// restart forgets everything that is not in a file.
func (f *fixture) restart() {
	f.Provider = sepa.New(sepa.Options{Root: f.root, Clock: f.clock, Log: slog.New(slog.NewTextHandler(&f.log, nil)), Terminal: func(id ledger.ID) (*directory.Terminal, bool) {
		return f.terminal, id == f.terminal.ID
	}})
}

func (f *fixture) path(parts ...string) string {
	return filepath.Join(append([]string{f.root, f.terminal.ID.String()}, parts...)...)
}

func (f *fixture) writeFile(path, content string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// call returns a payout of 1234 cents.
func (f *fixture) call() *actors.Call {
	return &actors.Call{
		Org: f.terminal.Org, Reference: reference, Operation: actors.PayOut, Terminal: f.terminal, Amount: money.FromUint64(1234), Asset: eur, Method: payment.SEPA,
		Card:        &secret.Card{IBAN: []byte("FR1420041010050500013M02606"), Holder: []byte("Jane Doe")},
		ChargeState: actors.ChargeState{SubmittedSince: start, ChargedAmount: money.FromUint64(1234)},
	}
}

func (f *fixture) submit() actors.Outcome { return f.Submit(f.t.Context(), f.call()) }

func (f *fixture) inquire() actors.Outcome {
	call := f.call()
	return f.Inquire(f.t.Context(), &actors.Inquiry{Terminal: f.terminal, Reference: reference, Operation: actors.PayOut, ChargeState: call.ChargeState})
}

func (f *fixture) want(o actors.Outcome, v payment.Verdict) actors.Outcome {
	f.t.Helper()
	if o.Verdict != v {
		f.t.Errorf("the verdict is %v %+v, want %v\n%s", o.Verdict, o.Failure, v, f.log.String())
	}
	return o
}

// receive puts a file of the bank into in/.
func (f *fixture) receive(name, content string) {
	f.t.Helper()
	f.writeFile(f.path("in", name), content)
}

func (f *fixture) booked(indicator string) string {
	return camt("BkToCstmrDbtCdtNtfctn", "Ntfctn", debtorIBAN, entry(strings.TrimSuffix(fileName, ".xml"), "12.34", indicator, "BOOK"))
}

// The file is what the rulebooks ask for (EPC132-08), byte for byte.
func TestFileOfAPayout(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	got, err := os.ReadFile(f.path("out", fileName))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/pain.001.xml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the file is\n%s", got)
	}
	info, err := os.Stat(f.path("out", fileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
	}
}

// A payout that cannot be a credit transfer is refused with the field's name, and nothing is written.
func TestRefusedPayouts(t *testing.T) {
	for field, change := range map[string]func(*actors.Call){
		"env":                            func(c *actors.Call) { c.Asset.Env = money.Test },
		"currency":                       func(c *actors.Call) { c.Asset.Currency = "USD" },
		"amount":                         func(c *actors.Call) { c.Amount = money.FromUint64(100_000_000_000) },
		"provider_params.two_phase":      func(c *actors.Call) { c.Hold = true },
		"money_storage.iban":             func(c *actors.Call) { c.Card.IBAN[5]++ },
		"money_storage.iban is required": func(c *actors.Call) { c.Card = nil },
		"money_storage.account_holder":   func(c *actors.Call) { c.Card.Holder = []byte("Jürgen") },
	} {
		f := open(t)
		call := f.call()
		change(call)
		o := f.want(f.Submit(t.Context(), call), payment.VerdictRefused)
		if !strings.HasPrefix(o.Failure.Detail, field) {
			t.Errorf("%s: refused with %q", field, o.Failure.Detail)
		}
		if _, err := os.Stat(f.path()); err == nil {
			t.Errorf("%s: something was written", field)
		}
		f.want(f.inquire(), payment.VerdictNotFound)
	}
}

// Whatever the transport does with the file, a repeated call hands nothing over again.
func TestRepeatedCallWritesNothing(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	if err := os.Remove(f.path("out", fileName)); err != nil {
		t.Fatal(err)
	}
	f.restart()
	f.want(f.submit(), payment.VerdictPending)
	f.want(f.inquire(), payment.VerdictPending)
	if files, _ := os.ReadDir(f.path("out")); len(files) != 0 {
		t.Errorf("out has %v", files)
	}
}

// What a kill leaves behind after each step of the hand-over: until the rename nothing has been handed over, and after it
// everything has.
func TestKillAtEachStepOfTheHandOver(t *testing.T) {
	id := strings.TrimSuffix(fileName, ".xml")
	for _, c := range []struct {
		name    string
		files   []string
		verdict payment.Verdict
	}{
		{"before the first step", nil, payment.VerdictNotFound},
		{"the temporary file is incomplete", []string{"out/." + id + ".part.tmp1"}, payment.VerdictNotFound},
		{"the temporary file is complete", []string{"out/." + id + ".part"}, payment.VerdictNotFound},
		{"the marker exists", []string{"out/." + id + ".part", "submitted/" + id}, payment.VerdictNotFound},
		{"renamed", []string{"out/" + fileName, "submitted/" + id}, payment.VerdictPending},
		{"fetched by the transport", []string{"submitted/" + id}, payment.VerdictPending},
	} {
		f := open(t)
		for _, name := range c.files {
			f.writeFile(f.path(name), "left behind")
		}
		if got := f.inquire(); got.Verdict != c.verdict {
			t.Errorf("%s: an inquiry says %v, want %v", c.name, got.Verdict, c.verdict)
		}
		f.want(f.submit(), payment.VerdictPending)
		content, _ := os.ReadFile(f.path("out", fileName))
		switch isNew := bytes.Contains(content, []byte("<EndToEndId>")); {
		case c.verdict == payment.VerdictNotFound && !isNew:
			t.Errorf("%s: a repeated call has handed over %q", c.name, content)
		case c.verdict == payment.VerdictPending && isNew:
			t.Errorf("%s: the payout was handed over twice", c.name)
		}
	}
}

// A call whose time is over hands nothing over, because the core asks already what has become of it.
func TestCallAfterItsDeadlineHandsNothingOver(t *testing.T) {
	f := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.want(f.Submit(ctx, f.call()), payment.VerdictNotSent)
	f.want(f.inquire(), payment.VerdictNotFound)
}

// If the storage is not mounted, nothing is known and nothing is written.
func TestMissingStorage(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	mounted := f.root
	f.root = t.TempDir()
	f.restart()
	if o := f.want(f.inquire(), payment.VerdictUnknown); !o.Unreachable {
		t.Error("the storage counts as reachable")
	}
	f.want(f.submit(), payment.VerdictUnknown)
	if files, _ := os.ReadDir(f.root); len(files) != 0 {
		t.Errorf("%v was written", files)
	}
	f.root = mounted
	f.restart()
	f.want(f.inquire(), payment.VerdictPending)
}

func TestBookedPayoutIsCharged(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	announced := strings.Replace(f.booked("DBIT"), "BOOK", "PDNG", 1)
	f.receive("a.xml", announced)
	f.want(f.inquire(), payment.VerdictPending)
	f.receive("b.xml", f.booked("DBIT"))
	f.want(f.inquire(), payment.VerdictCharged)
	f.restart()
	f.want(f.inquire(), payment.VerdictCharged)
}

// Older versions of the messages write the status as text, and the amount of an entry with one payment only once.
func TestOlderMessage(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("a.xml", strings.NewReplacer("<Sts><Cd>BOOK</Cd></Sts>", "<Sts>BOOK</Sts>", "camt.054.001.08", "camt.054.001.02").Replace(f.booked("DBIT")))
	f.want(f.inquire(), payment.VerdictCharged)
}

// In version .02, the payments of a batch have their amounts in details.
func TestOlderBatch(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	id := strings.TrimSuffix(fileName, ".xml")
	detail := func(reference, amount string) string {
		return `<TxDtls><Refs><EndToEndId>` + reference + `</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="EUR">` + amount + `</Amt></TxAmt></AmtDtls></TxDtls>`
	}
	batch := func(indicator, amount string) string {
		return camt("BkToCstmrDbtCdtNtfctn", "Ntfctn", debtorIBAN, `<Ntry><Amt Ccy="EUR">20.00</Amt><CdtDbtInd>`+indicator+`</CdtDbtInd><Sts>BOOK</Sts><NtryDtls>`+
			detail("another", "7.66")+detail(id, amount)+`</NtryDtls></Ntry>`)
	}
	f.receive("a.xml", batch("DBIT", "12.34"))
	f.want(f.inquire(), payment.VerdictCharged)
	if strings.Contains(f.log.String(), "another amount") {
		t.Errorf("the amount was not read\n%s", f.log.String())
	}
	f.receive("b.xml", batch("CRDT", "12.34"))
	f.want(f.inquire(), payment.VerdictFailed)
}

// Credits and debits whose amounts can't be read are not equal.
func TestUnreadableAmountsAreNoReturn(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("a.xml", strings.Replace(f.booked("DBIT"), "12.34", "x", 1))
	f.receive("b.xml", strings.Replace(f.booked("CRDT"), "12.34", "x", 1))
	f.want(f.inquire(), payment.VerdictCharged)
	if found := f.poll(time.Time{}); len(found) != 1 || found[0].Kind != actors.LateSettlement {
		t.Errorf("reported %+v", found)
	}
}

func TestReturnedPayoutHasFailed(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("a.xml", f.booked("DBIT"))
	f.receive("b.xml", f.booked("CRDT"))
	if o := f.want(f.inquire(), payment.VerdictFailed); !strings.Contains(o.Failure.Detail, "(AC04)") {
		t.Errorf("the reason is %q", o.Failure.Detail)
	}
}

// A booked payout that comes back is reported as a reversal, once for each process.
func TestReturnIsReported(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("a.xml", f.booked("DBIT"))
	f.want(f.inquire(), payment.VerdictCharged)
	first := f.poll(time.Time{})
	if len(first) != 1 || first[0].Kind != actors.LateSettlement {
		t.Errorf("reported %+v", first)
	}
	since := f.clock.Now()
	if err := f.clock.Set(since.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.receive("b.xml", f.booked("CRDT"))
	found := f.poll(since)
	if len(found) != 1 || found[0].Kind != actors.Reversal || found[0].Reference != reference || found[0].Terminal != f.terminal.ID || found[0].Org != f.terminal.Org {
		t.Errorf("reported %+v", found)
	}
	if again := f.poll(f.clock.Now()); len(again) != 0 {
		t.Errorf("reported again: %+v", again)
	}
}

// Anybody who was paid knows the reference and can send money with it. Only the whole amount is a return.
func TestCreditOfAnotherAmountIsNoReturn(t *testing.T) {
	for _, order := range [][]string{{"DBIT", "CRDT"}, {"CRDT", "DBIT"}} {
		f := open(t)
		f.want(f.submit(), payment.VerdictPending)
		for i, indicator := range order {
			content := f.booked(indicator)
			if indicator == "CRDT" {
				content = strings.Replace(content, "12.34", "0.01", 1)
			}
			f.receive(fmt.Sprint(i, ".xml"), content)
		}
		f.want(f.inquire(), payment.VerdictCharged)
		if found := f.poll(time.Time{}); len(found) != 1 || found[0].Kind != actors.LateSettlement {
			t.Errorf("%v: reported %+v", order, found)
		}
		if !strings.Contains(f.log.String(), "credited money with the reference of a payout") {
			t.Errorf("%v: the log does not mention the credit\n%s", order, f.log.String())
		}
	}
}

// A credit of which the debit was not read, because its file was moved elsewhere or because an operator has written the credit for a
// rejected payout, ends the payout. It is at least in the log.
func TestCreditWithoutItsDebitIsLogged(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("b.xml", f.booked("CRDT"))
	f.want(f.inquire(), payment.VerdictFailed)
	if found := f.poll(time.Time{}); len(found) != 0 || !strings.Contains(f.log.String(), "credited money with the reference of a payout") {
		t.Errorf("reported %+v\n%s", found, f.log.String())
	}
}

// A file may be about several accounts of the customer, and a terminal may get another account.
func TestFilesOfSeveralAccounts(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	ours := f.booked("DBIT")
	foreign := strings.ReplaceAll(ours, debtorIBAN, "NL91ABNA0417164300")
	_, first, _ := strings.Cut(foreign, "<Ntfctn>")
	first, _, _ = strings.Cut(first, "</Ntfctn>")
	f.receive("a.xml", foreign)
	f.want(f.inquire(), payment.VerdictPending)
	f.receive("b.xml", strings.Replace(ours, "<Ntfctn>", "<Ntfctn>"+strings.ReplaceAll(first, "DBIT", "CRDT")+"</Ntfctn><Ntfctn>", 1))
	f.want(f.inquire(), payment.VerdictCharged)

	g := open(t)
	g.want(g.submit(), payment.VerdictPending)
	g.receive("a.xml", foreign)
	g.want(g.inquire(), payment.VerdictPending)
	changed := newTerminal(t, accountParameters("NL91ABNA0417164300"))
	changed.ID, changed.Org = g.terminal.ID, g.terminal.Org
	g.terminal = changed
	g.want(g.inquire(), payment.VerdictCharged)
}

// An inquiry about a cancellation says what Submit said of it, so that a killed process does not wait for it for ever.
func TestCancellationIsRefused(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	call := f.call()
	call.Operation = actors.Void
	f.want(f.Submit(t.Context(), call), payment.VerdictRefused)
	f.want(f.Inquire(t.Context(), &actors.Inquiry{Terminal: f.terminal, Reference: reference, Operation: actors.Void, ChargeState: call.ChargeState}), payment.VerdictRefused)
}

func (f *fixture) poll(since time.Time) []actors.Report {
	f.t.Helper()
	reports, err := f.Reports(f.t.Context(), since, f.clock.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	return reports
}

// Files that cannot be used are named in the log once, and the others are read.
func TestUnusableFiles(t *testing.T) {
	for name, content := range map[string]string{
		"half":     camt("BkToCstmrStmt", "Stmt", debtorIBAN, "")[:200],
		"foreign":  camt("BkToCstmrStmt", "Stmt", "NL91ABNA0417164300", ""),
		"other":    `<Document><CstmrPmtStsRpt/></Document>`,
		"empty":    "",
		"entities": `<?xml version="1.0"?><!DOCTYPE Document [<!ENTITY a "aaaa">]>` + camt("BkToCstmrStmt", "Stmt", debtorIBAN, "")[38:],
		"large":    camt("BkToCstmrStmt", "Stmt", debtorIBAN, strings.Repeat(" ", 33<<20)),
	} {
		f := open(t)
		f.want(f.submit(), payment.VerdictPending)
		f.receive("0-"+name+".xml", content)
		f.receive("1.xml", f.booked("DBIT"))
		for range 3 {
			f.want(f.inquire(), payment.VerdictCharged)
		}
		if n := strings.Count(f.log.String(), "0-"+name+".xml"); n != 1 {
			t.Errorf("%s: the log names the file %d times\n%s", name, n, f.log.String())
		}
	}
}

// A half-written file is read again when it is complete.
func TestFileThatGrows(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	whole := f.booked("DBIT")
	f.receive("a.xml", whole[:len(whole)-30])
	f.want(f.inquire(), payment.VerdictPending)
	f.receive("a.xml", whole)
	f.want(f.inquire(), payment.VerdictCharged)
}

// A second booking under another number of the bank, and another amount, are errors in the log. The payout stays charged.
func TestBookingsThatDiffer(t *testing.T) {
	f := open(t)
	f.want(f.submit(), payment.VerdictPending)
	f.receive("a.xml", strings.Replace(f.booked("DBIT"), "12.34", "12.35", 1))
	f.receive("b.xml", strings.Replace(f.booked("DBIT"), "<AcctSvcrRef>", "<AcctSvcrRef>X", 1))
	f.want(f.inquire(), payment.VerdictCharged)
	for _, text := range []string{"booked a payout twice", "another amount"} {
		if !strings.Contains(f.log.String(), text) {
			t.Errorf("the log does not say %q\n%s", text, f.log.String())
		}
	}
}

func TestParametersThatAreRefused(t *testing.T) {
	for params, field := range map[string]string{
		`{"debtor_iban":"DE89370400440532013000"}`:                                         "debtor_name",
		`{"debtor_name":"A"}`:                                                              "debtor_iban",
		`{"debtor_name":"A","debtor_iban":"DE88370400440532013000"}`:                       "debtor_iban",
		`{"debtor_name":"Ä","debtor_iban":"DE89370400440532013000"}`:                       "debtor_name",
		`{"debtor_name":"A","debtor_iban":"DE89370400440532013000","debtor_bic":"COBADE"}`: "debtor_bic",
		`{"debtor_name":"A","debtor_iban":"DE89370400440532013000","batch_booking":"yes"}`: "batch_booking",
	} {
		_, _, err := directory.NewTerminal(directory.Terminal{
			ID: uuid.New(), Org: uuid.New(), Partner: 1, Name: "bank", Provider: sepa.Name, Type: directory.PayoutTerminal, Env: money.Prod, ProviderParams: []byte(params),
		}, false)
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v, want a refusal of %s", params, err, field)
		}
	}
}
