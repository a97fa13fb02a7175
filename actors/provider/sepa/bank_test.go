package sepa_test

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/sepa"
	"mizan/internal/clock"
	"mizan/internal/providersuite"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	debtorIBAN = "DE89370400440532013000"
	debtorName = "Mizan Payments GmbH"
)

// creditors are the accounts of recipients. Each name says what the bank does with a payout to it.
var creditors = map[providersuite.Behaviour]string{
	providersuite.Succeeds: "FR1420041010050500013M02606", providersuite.IsDeclined: "NL91ABNA0417164300",
	providersuite.TakesTime: "AT611904300234573201", providersuite.ComesBack: "BE68539007547034",
}

// bank is the bank behind the files: it takes every file from out/ and pays what is in it, also if it has paid it before. It tells
// everything at least twice, between files that are damaged, half-written, empty or about another account.
type bank struct {
	providersuite.Boundary
	tb     testing.TB
	root   string
	now    time.Time
	orders []*order
	moved  map[ledger.ID]providersuite.Movements
	files  int
}

// order is a payment that the bank has taken.
type order struct {
	terminal, reference, creditor, amount string
	due                                   time.Time
	isBooked                              bool
}

func startBank(tb testing.TB, c *clock.Manual) *bank {
	tb.Helper()
	b := &bank{tb: tb, root: tb.TempDir(), now: c.Now(), moved: make(map[ledger.ID]providersuite.Movements)}
	b.write(filepath.Join(b.root, sepa.RootFile), "")
	return b
}

func (b *bank) write(path, content string) {
	b.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.tb.Fatal(err)
	}
}

// Open implements providersuite.StandIn.
func (b *bank) Open(o providersuite.AdapterOptions) (actors.Provider, func() error) {
	return b.Around(sepa.New(sepa.Options{Root: b.root, Clock: o.Clock, Log: o.Log, Terminal: func(id ledger.ID) (*directory.Terminal, bool) {
		i := slices.IndexFunc(o.Terminals(), func(t *directory.Terminal) bool { return t.ID == id })
		if i < 0 {
			return nil, false
		}
		return o.Terminals()[i], true
	}})), func() error { return nil }
}

// Terminal implements providersuite.StandIn.
func (b *bank) Terminal(providersuite.TerminalOptions) directory.Terminal {
	return directory.Terminal{Provider: sepa.Name, ProviderParams: fmt.Appendf(nil, `{"debtor_name":%q,"debtor_iban":%q}`, debtorName, debtorIBAN)}
}

// Instrument implements providersuite.StandIn.
func (b *bank) Instrument(_ payment.Type, behaviour providersuite.Behaviour) providersuite.Instrument {
	return providersuite.Instrument{Method: payment.SEPA, Card: &secret.Card{IBAN: []byte(creditors[behaviour]), Holder: []byte("Jane Doe")}}
}

// Act implements providersuite.StandIn.
func (b *bank) Act(*payment.Record, bool) []byte { return nil }

// SecretFree implements providersuite.StandIn.
func (b *bank) SecretFree() []string { return nil }

// Moved implements providersuite.StandIn.
func (b *bank) Moved() map[ledger.ID]providersuite.Movements {
	moved := make(map[ledger.ID]providersuite.Movements, len(b.moved))
	for reference, m := range b.moved {
		moved[reference] = m
	}
	return moved
}

// Advanced implements providersuite.StandIn: the bank fetches the files and books what is due.
func (b *bank) Advanced(now time.Time) {
	b.tb.Helper()
	b.now = now
	files, err := filepath.Glob(filepath.Join(b.root, "*", "out", "*.xml"))
	if err != nil {
		b.tb.Fatal(err)
	}
	for _, path := range files {
		b.take(path)
	}
	for _, o := range b.orders {
		if !o.isBooked && !o.due.After(now) {
			o.isBooked = true
			b.book(o, "DBIT")
			if o.creditor == creditors[providersuite.IsDeclined] {
				b.book(o, "CRDT")
			}
		}
	}
}

// take takes a file away and reads it as a bank does, by the names of the elements.
func (b *bank) take(path string) {
	b.tb.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	var file struct {
		XMLName   xml.Name `xml:"urn:iso:std:iso:20022:tech:xsd:pain.001.001.09 Document"`
		Transfers []struct {
			ID     string `xml:"PmtId>EndToEndId"`
			Amount string `xml:"Amt>InstdAmt"`
			IBAN   string `xml:"CdtrAcct>Id>IBAN"`
		} `xml:"CstmrCdtTrfInitn>PmtInf>CdtTrfTxInf"`
	}
	if err == nil {
		err = xml.Unmarshal(content, &file)
	}
	if err != nil || len(file.Transfers) == 0 {
		b.tb.Fatalf("%s: %v\n%s", path, err, content)
	}
	for _, t := range file.Transfers {
		o := &order{terminal: filepath.Base(filepath.Dir(filepath.Dir(path))), reference: t.ID, creditor: t.IBAN, amount: t.Amount, due: b.now.Add(20 * time.Hour)}
		if t.IBAN == creditors[providersuite.TakesTime] {
			o.due = b.now.Add(70 * time.Hour)
		}
		b.orders = append(b.orders, o)
	}
}

// book moves the money of an order and tells it in two files, between others that cannot be used.
func (b *bank) book(o *order, indicator string) {
	b.tb.Helper()
	raw, err := hex.DecodeString(o.reference)
	if err != nil {
		b.tb.Fatal(err)
	}
	amount, err := money.Parse(strings.TrimLeft(strings.Replace(o.amount, ".", "", 1), "0"))
	if err != nil {
		b.tb.Fatal(err)
	}
	reference := ledger.ID(raw)
	m := b.moved[reference]
	if indicator == "DBIT" {
		m.PaidOut = append(m.PaidOut, amount)
	} else {
		m.TakenBack = append(m.TakenBack, amount)
	}
	b.moved[reference] = m
	b.files++
	in := filepath.Join(b.root, o.terminal, "in")
	notification := camt("BkToCstmrDbtCdtNtfctn", "Ntfctn", debtorIBAN, entry(o.reference, o.amount, indicator, "BOOK"))
	b.write(filepath.Join(in, fmt.Sprintf("%d-a.xml", b.files)), notification[:len(notification)/2])
	b.write(filepath.Join(in, fmt.Sprintf("%d-b.xml", b.files)), camt("BkToCstmrStmt", "Stmt", "FR7630006000011234567890189", entry(o.reference, o.amount, "CRDT", "BOOK")))
	b.write(filepath.Join(in, fmt.Sprintf("%d-c.xml", b.files)), "\x00\x01 not XML")
	b.write(filepath.Join(in, fmt.Sprintf("%d-d.xml", b.files)), notification)
	b.write(filepath.Join(in, fmt.Sprintf("%d-e.xml", b.files)), camt("BkToCstmrStmt", "Stmt", debtorIBAN,
		entry("NOTPROVIDED", "5.00", "CRDT", "BOOK")+entry(o.reference, o.amount, indicator, "BOOK")+entry(strings.Repeat("ab", 16), "1.00", "DBIT", "PDNG")))
}

// camt returns a message of the bank.
func camt(message, report, iban, entries string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><` + message + `><GrpHdr><MsgId>1</MsgId></GrpHdr><` +
		report + `><Id>1</Id><Acct><Id><IBAN>` + iban + `</IBAN></Id></Acct>` + entries + `</` + report + `></` + message + `></Document>`
}

func entry(endToEndID, amount, indicator, status string) string {
	reason := ""
	if indicator == "CRDT" {
		reason = `<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>`
	}
	return `<Ntry><Amt Ccy="EUR">` + amount + `</Amt><CdtDbtInd>` + indicator + `</CdtDbtInd><Sts><Cd>` + status + `</Cd></Sts><AcctSvcrRef>B` + endToEndID[:8] + indicator +
		`</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>` + endToEndID + `</EndToEndId></Refs>` + reason + `</TxDtls></NtryDtls></Ntry>`
}

// orderOf returns the order of a payout.
func (b *bank) orderOf(r *payment.Record) *order {
	b.tb.Helper()
	reference := r.ChargeReference()
	id := hex.EncodeToString(reference[:])
	i := slices.IndexFunc(b.orders, func(o *order) bool { return o.reference == id })
	if i < 0 {
		b.tb.Fatalf("the bank has no order %s", id)
	}
	return b.orders[i]
}

// TakeBack implements providersuite.StandIn: the recipient's bank returns the payout.
func (b *bank) TakeBack(r *payment.Record) { b.book(b.orderOf(r), "CRDT") }

// MoveLate implements providersuite.StandIn: a file that was thought to be lost reaches the bank after all.
func (b *bank) MoveLate(r *payment.Record, terminal *directory.Terminal) {
	reference := r.ChargeReference()
	b.book(&order{terminal: terminal.ID.String(), reference: hex.EncodeToString(reference[:]), amount: "10.00"}, "DBIT")
}

// What a credit transfer lacks.
var lacks = map[providersuite.Feature]string{
	providersuite.Charges: "a credit transfer only pays out", providersuite.Holds: "a credit transfer cannot be held",
	providersuite.PartialCaptures: "a credit transfer cannot be held", providersuite.Refunds: "a payout is not refunded",
	providersuite.PayerActions: "nobody has to act", providersuite.Reversals: "a credit transfer only pays out; see returns",
	providersuite.Credentials: "files have no credentials; the transport has", providersuite.Connections: "there are files only",
	providersuite.Returns:     "the core does not book the return of a charged payout yet; the adapter reports it (TestReturnIsReported)",
	providersuite.LateCharges: "a credit transfer only pays out", providersuite.Preparations: "a payout is one file",
	providersuite.OperationInquiries: "a payout has no later operation",
}

func TestAdapterKeepsTheContractOfProviders(t *testing.T) {
	providersuite.Run(t, providersuite.Rail{
		Name: sepa.Name, Asset: money.Asset{Currency: "EUR", Env: money.Prod}, Lacks: lacks,
		Start: func(tb testing.TB, c *clock.Manual) providersuite.StandIn { return startBank(tb, c) },
	})
}
