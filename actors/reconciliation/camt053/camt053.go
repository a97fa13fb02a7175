package camt053

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mizan/actors/reconciliation/csvfile"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
)

// Statement is what a file contains.
type Statement struct {
	Lines    []reconciliation.Line
	Balances []reconciliation.Balance // closing balances that the file states
}

// namespace begins the name space of every version of the message.
const namespace = "urn:iso:std:iso:20022:tech:xsd:camt.053.001."

// maxDepth is the maximum nesting of elements. The schema of the message needs less than half of it.
const maxDepth = 64

// limitedTokens passes on the tokens of a decoder, and ends with an error if elements are nested too deeply or if the document has
// a directive such as a document type, which could declare entities.
type limitedTokens struct {
	*xml.Decoder
	depth int
}

// Token implements xml.TokenReader.
func (d *limitedTokens) Token() (xml.Token, error) {
	t, err := d.Decoder.Token()
	switch t.(type) {
	case xml.StartElement:
		if d.depth++; d.depth > maxDepth {
			return nil, fmt.Errorf("elements are nested deeper than %d", maxDepth)
		}
	case xml.EndElement:
		d.depth--
	case xml.Directive:
		return nil, errors.New("document types are not accepted")
	}
	return t, err
}

// Read returns the lines and the closing balances of a file. Amounts belong to the environment env. The error's text says what
// is wrong.
func Read(content []byte, env money.Env) (*Statement, error) {
	source := xml.NewDecoder(bytes.NewReader(content))
	source.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return input, nil
		}
		return nil, errors.New("the encoding must be UTF-8")
	}
	d := xml.NewTokenDecoder(&limitedTokens{Decoder: source})
	r := &reader{env: env}
	if err := r.read(d); err != nil {
		line, _ := source.InputPos()
		return nil, fmt.Errorf("near line %d: %w", line, err)
	}
	if !r.hasStatement {
		return nil, errors.New("is no camt.053 statement")
	}
	if len(r.out.Lines) == 0 && len(r.out.Balances) == 0 {
		return nil, errors.New("has no booked entries and no closing balance")
	}
	return &r.out, nil
}

// reader reads one file.
type reader struct {
	env          money.Env
	out          Statement
	hasStatement bool
	entries      int // number of entries read
}

// read reads the elements of the document. Entries and balances are decoded one by one.
func (r *reader) read(d *xml.Decoder) error {
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "Document":
			if !strings.HasPrefix(start.Name.Space, namespace) {
				return errors.New("the document is no camt.053 message")
			}
		case "BkToCstmrStmt":
			r.hasStatement = true
		case "Bal":
			var b balance
			if err := d.DecodeElement(&b, &start); err != nil {
				return err
			}
			if err := r.addBalance(&b); err != nil {
				return err
			}
		case "Ntry":
			r.entries++
			var e entry
			if err := d.DecodeElement(&e, &start); err != nil {
				return err
			}
			if err := r.addEntry(&e); err != nil {
				return fmt.Errorf("entry %d: %w", r.entries, err)
			}
		}
	}
}

type amount struct {
	Text     string `xml:",chardata"`
	Currency string `xml:"Ccy,attr"`
}

type date struct {
	Day     string `xml:"Dt"`
	Instant string `xml:"DtTm"`
}

type balance struct {
	Code      string `xml:"Tp>CdOrPrtry>Cd"`
	Amount    amount `xml:"Amt"`
	Indicator string `xml:"CdtDbtInd"`
}

// status is a code, which stands in an element of its own from version .03 on.
type status struct {
	Text string `xml:",chardata"`
	Code string `xml:"Cd"`
}

type entry struct {
	Reference    string        `xml:"NtryRef"`
	Amount       amount        `xml:"Amt"`
	Indicator    string        `xml:"CdtDbtInd"`
	Status       status        `xml:"Sts"`
	Booked       date          `xml:"BookgDt"`
	Value        date          `xml:"ValDt"`
	ServicerRef  string        `xml:"AcctSvcrRef"`
	Code         code          `xml:"BkTxCd"`
	Charges      charges       `xml:"Chrgs"`
	Transactions []transaction `xml:"NtryDtls>TxDtls"`
}

type code struct {
	Family      string `xml:"Domn>Fmly>SubFmlyCd"`
	Proprietary string `xml:"Prtry>Cd"`
}

// charges have their amounts in records from version .03 on, and in the elements Chrgs themselves in version .02.
type charges struct {
	Records []charge `xml:"Rcrd"`
}

type charge struct {
	Amount     amount `xml:"Amt"`
	Indicator  string `xml:"CdtDbtInd"`
	IsIncluded bool   `xml:"ChrgInclInd"`
}

type transaction struct {
	Refs struct {
		ServicerRef string `xml:"AcctSvcrRef"`
		PaymentInfo string `xml:"PmtInfId"`
		Instruction string `xml:"InstrId"`
		EndToEnd    string `xml:"EndToEndId"`
		UETR        string `xml:"UETR"`
		Transaction string `xml:"TxId"`
	} `xml:"Refs"`
	Amount       amount   `xml:"Amt"`               // from version .03 on
	OldAmount    amount   `xml:"AmtDtls>TxAmt>Amt"` // version .02
	Indicator    string   `xml:"CdtDbtInd"`
	Code         code     `xml:"BkTxCd"`
	Charges      charges  `xml:"Chrgs"`
	Unstructured []string `xml:"RmtInf>Ustrd"`
}

func (r *reader) addBalance(b *balance) error {
	if strings.TrimSpace(b.Code) != "CLBD" {
		return nil
	}
	a, asset, err := r.amount(&b.Amount)
	if err != nil {
		return fmt.Errorf("closing balance: %w", err)
	}
	isDebit, err := isDebit(b.Indicator)
	if err != nil {
		return fmt.Errorf("closing balance: %w", err)
	}
	stated := reconciliation.Balance{Asset: asset, Amount: money.Signed{Negative: isDebit && !a.IsZero(), Abs: a}}
	for i := range r.out.Balances {
		if r.out.Balances[i].Asset == asset {
			r.out.Balances[i] = stated
			return nil
		}
	}
	r.out.Balances = append(r.out.Balances, stated)
	return nil
}

func (r *reader) addEntry(e *entry) error {
	if s := strings.TrimSpace(e.Status.Code + e.Status.Text); s != "BOOK" {
		return nil // pending, or for information only
	}
	a, asset, err := r.amount(&e.Amount)
	if err != nil {
		return err
	}
	isOut, err := isDebit(e.Indicator)
	if err != nil {
		return err
	}
	day, err := dayOf(e)
	if err != nil {
		return err
	}
	whole := reconciliation.Line{ID: firstOf(e.ServicerRef, e.Reference), Outgoing: isOut, Amount: a, Asset: asset, Date: day}
	parts, err := r.parts(e, &whole)
	if err != nil {
		return err
	}
	for i := range parts {
		if field, problem := parts[i].Check(); problem != "" {
			return fmt.Errorf("%s %s", field, problem)
		}
	}
	if len(r.out.Lines)+len(parts) > reconciliation.MaxLines {
		return csvfile.ErrTooManyLines
	}
	r.out.Lines = append(r.out.Lines, parts...)
	return nil
}

// parts returns the lines of an entry: one per transaction if their amounts add up to the entry's, else one.
func (r *reader) parts(e *entry, whole *reconciliation.Line) ([]reconciliation.Line, error) {
	lines := make([]reconciliation.Line, 0, len(e.Transactions))
	sum := money.Signed{}
	for i := range e.Transactions {
		t := &e.Transactions[i]
		part := *whole
		part.ID = firstOf(t.Refs.ServicerRef, t.Refs.Transaction)
		if part.ID == "" || part.ID == whole.ID {
			if part.ID = whole.ID; whole.ID != "" && len(e.Transactions) > 1 {
				part.ID = fmt.Sprintf("%s/%d", whole.ID, i+1)
			}
		}
		if stated := t.stated(); stated.Text != "" {
			a, asset, err := r.amount(stated)
			if err != nil {
				return nil, err
			}
			part.Amount, part.Asset = a, asset
		}
		if t.Indicator != "" {
			var err error
			if part.Outgoing, err = isDebit(t.Indicator); err != nil {
				return nil, err
			}
		}
		part.References = t.references(e)
		part.Kind = kindOf(part.Outgoing, t.Code, e.Code)
		if err := r.addCharges(&part, &t.Charges); err != nil {
			return nil, err
		}
		net, err := part.Net()
		if err == nil {
			sum, err = sum.Add(net)
		}
		if err != nil {
			return nil, errors.New("the amounts are out of range")
		}
		lines = append(lines, part)
	}
	if len(lines) > 0 && sum == whole.Signed() && lines[0].Asset == whole.Asset {
		return lines, nil
	}
	whole.Kind = kindOf(whole.Outgoing, code{}, e.Code)
	whole.References = distinct(e.Reference, e.ServicerRef)
	if len(e.Transactions) == 1 {
		whole.References = e.Transactions[0].references(e)
	}
	return []reconciliation.Line{*whole}, r.addCharges(whole, &e.Charges)
}

func (t *transaction) stated() *amount {
	if t.Amount.Text != "" {
		return &t.Amount
	}
	return &t.OldAmount
}

// addCharges adds the charges that the provider has deducted from the amount: the line's amount becomes the one before them.
func (r *reader) addCharges(l *reconciliation.Line, c *charges) error {
	for i := range c.Records {
		record := &c.Records[i]
		if !record.IsIncluded {
			continue // stated for information, or booked on a line of its own
		}
		a, asset, err := r.amount(&record.Amount)
		if err != nil {
			return err
		}
		if asset != l.Asset {
			return errors.New("a charge has another currency than its entry")
		}
		isReturned := strings.TrimSpace(record.Indicator) == "CRDT"
		fee := money.Signed{Negative: isReturned && !a.IsZero(), Abs: a}
		gross, err := l.Signed().Add(fee)
		if err == nil {
			l.Fee, err = l.Fee.Add(fee)
		}
		if err != nil {
			return errors.New("a charge is out of range")
		}
		l.Amount, l.Outgoing = gross.Abs, gross.Negative
	}
	return nil
}

// references returns the texts by which a transaction may name one of ours.
func (t *transaction) references(e *entry) []string {
	texts := []string{t.Refs.EndToEnd, t.Refs.Instruction, t.Refs.Transaction, t.Refs.PaymentInfo, t.Refs.UETR}
	texts = append(texts, t.Unstructured...)
	return distinct(append(texts, e.Reference, t.Refs.ServicerRef, e.ServicerRef)...)
}

// distinct returns the first texts that are neither empty nor too long nor "not provided".
func distinct(texts ...string) (list []string) {
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" || text == "NOTPROVIDED" || len(text) > reconciliation.MaxReference || seen[text] {
			continue
		}
		if seen[text] = true; len(list) < reconciliation.MaxReferences {
			list = append(list, text)
		}
	}
	return list
}

// kindOf returns the kind of a line. The provider's own code may be one of our words; of the ISO codes, only charges and fees
// are told apart.
func kindOf(isOutgoing bool, codes ...code) reconciliation.LineKind {
	for _, c := range codes {
		if kind, ok := reconciliation.ParseLineKind(strings.ToLower(strings.TrimSpace(c.Proprietary))); ok {
			return kind
		}
		switch strings.TrimSpace(c.Family) {
		case "CHRG", "COMM", "FEES":
			return reconciliation.FeeCharge
		}
	}
	if isOutgoing {
		return reconciliation.Refund
	}
	return reconciliation.Charge
}

func (r *reader) amount(a *amount) (money.Amount, money.Asset, error) {
	currency, accepted := money.AcceptedCurrency(strings.TrimSpace(a.Currency))
	if !accepted {
		return money.Amount{}, money.Asset{}, errors.New("the currency is not accepted")
	}
	asset := money.Asset{Currency: currency, Network: money.ResolveNetwork(currency, ""), Env: r.env}
	digits, ok := asset.Scale()
	if !ok {
		return money.Amount{}, money.Asset{}, errors.New("the currency has no known number of decimals")
	}
	text := strings.TrimSpace(a.Text)
	if whole, decimals, hasPoint := strings.Cut(text, "."); hasPoint { // the message allows more decimals than the currency has, if they are zero
		if decimals = strings.TrimRight(decimals, "0"); decimals == "" {
			text = whole
		} else {
			text = whole + "." + decimals
		}
	}
	parsed, ok := csvfile.ParseDecimal(text, digits)
	if !ok || parsed.Negative {
		return money.Amount{}, money.Asset{}, fmt.Errorf("an amount must be a number with at most %d decimals", digits)
	}
	return parsed.Abs, asset, nil
}

// isDebit reads a credit-debit indicator. A debit lowers what the provider owes.
func isDebit(indicator string) (bool, error) {
	switch strings.TrimSpace(indicator) {
	case "CRDT":
		return false, nil
	case "DBIT":
		return true, nil
	}
	return false, errors.New("CdtDbtInd must be CRDT or DBIT")
}

// dayOf returns the day of an entry. An instant with an offset belongs to the day of UTC, as everywhere in the ledger.
func dayOf(e *entry) (ledger.Date, error) {
	for _, d := range []date{e.Booked, e.Value} {
		text := firstOf(d.Day, d.Instant)
		if len(text) < len(time.DateOnly) {
			continue
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			text = at.UTC().Format(time.RFC3339)
		}
		if at, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)]); err == nil && at.Year() >= 1970 && at.Year() < 9000 {
			return ledger.DateOf(at), nil
		}
		return 0, errors.New("the booking date is malformed")
	}
	return 0, errors.New("has no booking date")
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}
