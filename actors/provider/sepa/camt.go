package sepa

import (
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"os"

	"mizan/ledger"
	"mizan/ledger/money"
)

// maxFileSize is the maximum size in bytes of a file from the bank. A statement of 20,000 entries is smaller.
const maxFileSize = 32 << 20

var (
	errTooLarge     = errors.New("the file is larger than 32 MiB")
	errNoMessage    = errors.New("the file has neither a camt.053 nor a camt.054 message")
	errOtherAccount = errors.New("the file is not about the terminal's account")
	errDirective    = errors.New("the file has a document type or entities")
)

// endToEndID returns the form of a reference that fits into 35 characters: its 32 hexadecimal digits.
func endToEndID(reference ledger.ID) string { return hex.EncodeToString(reference[:]) }

// referenceOf turns an EndToEndId back; false if it is not one of ours.
func referenceOf(endToEnd string) (id ledger.ID, isOurs bool) {
	raw, err := hex.DecodeString(endToEnd)
	if err != nil || len(raw) != len(id) || endToEndID(ledger.ID(raw)) != endToEnd {
		return ledger.ID{}, false
	}
	return ledger.ID(raw), true
}

// camtDocument has the parts of a camt.053 or camt.054 message, of any version, that the adapter reads.
type camtDocument struct {
	XMLName       xml.Name     `xml:"Document"`
	Notifications []camtReport `xml:"BkToCstmrDbtCdtNtfctn>Ntfctn"`
	Statements    []camtReport `xml:"BkToCstmrStmt>Stmt"`
}

type camtReport struct {
	IBAN    string      `xml:"Acct>Id>IBAN"`
	Entries []camtEntry `xml:"Ntry"`
}

type camtEntry struct {
	Amount    xmlAmount    `xml:"Amt"`
	Indicator string       `xml:"CdtDbtInd"`
	Status    camtStatus   `xml:"Sts"`
	BankID    string       `xml:"AcctSvcrRef"`
	Details   []camtDetail `xml:"NtryDtls>TxDtls"`
}

// camtStatus is a code in an element of its own or, in older versions, the text itself.
type camtStatus struct {
	Code string `xml:"Cd"`
	Text string `xml:",chardata"`
}

type camtDetail struct {
	EndToEndID string    `xml:"Refs>EndToEndId"`
	BankID     string    `xml:"Refs>AcctSvcrRef"`
	Amount     xmlAmount `xml:"Amt"`
	OldAmount  xmlAmount `xml:"AmtDtls>TxAmt>Amt"` // of version .02
	Indicator  string    `xml:"CdtDbtInd"`
	Reason     string    `xml:"RtrInf>Rsn>Cd"`
}

// booking is a booked debit or credit with one of our references.
type booking struct {
	reference ledger.ID
	isReturn  bool // a credit: money came back, or somebody has sent money with the payout's reference
	amount    money.Amount
	bankID    string // the bank's own reference of the entry; may be empty
	reason    string // the code of a return; may be empty
}

// readBookings reads the bookings of our payouts in a file. iban is the account of the terminal.
func readBookings(path, iban string) ([]booking, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	limited := &io.LimitedReader{R: f, N: maxFileSize + 1}
	document, err := parse(limited)
	switch {
	case limited.N == 0:
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	reports := append(document.Notifications, document.Statements...)
	if len(reports) == 0 {
		return nil, errNoMessage
	}
	var found []booking
	isAboutUs := false
	for i := range reports {
		if reports[i].IBAN != iban {
			continue // a customer with several accounts may get one file about all of them
		}
		isAboutUs = true
		for j := range reports[i].Entries {
			found = reports[i].Entries[j].appendBookings(found)
		}
	}
	if !isAboutUs {
		return nil, errOtherAccount
	}
	return found, nil
}

// parse decodes a message. A document type is refused, because only it could declare entities. A half-written file has no end of
// its first element, so it is an error.
func parse(r io.Reader) (*camtDocument, error) {
	decoder, document := xml.NewDecoder(r), new(camtDocument)
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errDirective
		case xml.StartElement:
			if err := decoder.DecodeElement(document, &t); err != nil {
				return nil, err
			}
			return document, nil
		}
	}
}

// appendBookings appends the bookings of an entry. Entries that are only announced (status PDNG or INFO) don't count.
func (e *camtEntry) appendBookings(list []booking) []booking {
	if e.Status.Code != "BOOK" && (e.Status.Code != "" || e.Status.Text != "BOOK") {
		return list
	}
	for i := range e.Details {
		d := &e.Details[i]
		reference, isOurs := referenceOf(d.EndToEndID)
		if !isOurs {
			continue
		}
		amount, indicator := d.Amount, d.Indicator
		if amount.Value == "" {
			amount = d.OldAmount
		}
		if amount.Value == "" && len(e.Details) == 1 {
			amount = e.Amount
		}
		if indicator == "" {
			indicator = e.Indicator
		}
		b := booking{reference: reference, isReturn: indicator == "CRDT", bankID: d.BankID, reason: d.Reason}
		if b.bankID == "" && len(e.Details) == 1 {
			b.bankID = e.BankID
		}
		if amount.Currency == "EUR" {
			b.amount, _ = minorUnits(amount.Value) // an amount that cannot be read differs from the payout's, which is logged
		}
		list = append(list, b)
	}
	return list
}
