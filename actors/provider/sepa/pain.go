package sepa

import (
	"bytes"
	"encoding/xml"
	"strings"
	"time"

	"mizan/actors"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// maxAmount is the largest amount of a SEPA credit transfer in cents (EPC115-06, AT-T002).
var maxAmount = money.FromUint64(99_999_999_999)

// decimals is the number of decimals of an amount in EUR.
const decimals = 2

// painNamespace is the version of the message that the rulebooks require since 2023.
const painNamespace = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"

// painDocument is a pain.001 message with one payment. The order of the fields is the schema's.
type painDocument struct {
	XMLName xml.Name `xml:"Document"`
	Space   string   `xml:"xmlns,attr"`

	MessageID   string      `xml:"CstmrCdtTrfInitn>GrpHdr>MsgId"`
	CreatedAt   string      `xml:"CstmrCdtTrfInitn>GrpHdr>CreDtTm"`
	Count       string      `xml:"CstmrCdtTrfInitn>GrpHdr>NbOfTxs"`
	ControlSum  string      `xml:"CstmrCdtTrfInitn>GrpHdr>CtrlSum"`
	Initiator   string      `xml:"CstmrCdtTrfInitn>GrpHdr>InitgPty>Nm"`
	Information painPayment `xml:"CstmrCdtTrfInitn>PmtInf"`
}

type painPayment struct {
	ID           string       `xml:"PmtInfId"`
	Method       string       `xml:"PmtMtd"`
	BatchBooking bool         `xml:"BtchBookg"`
	Count        string       `xml:"NbOfTxs"`
	ControlSum   string       `xml:"CtrlSum"`
	Service      string       `xml:"PmtTpInf>SvcLvl>Cd"`
	ExecuteOn    string       `xml:"ReqdExctnDt>Dt"`
	Debtor       string       `xml:"Dbtr>Nm"`
	DebtorIBAN   string       `xml:"DbtrAcct>Id>IBAN"`
	DebtorBank   bank         `xml:"DbtrAgt>FinInstnId"`
	Charges      string       `xml:"ChrgBr"`
	Transfer     painTransfer `xml:"CdtTrfTxInf"`
}

// bank is an institution: by its BIC or, without one, as the rulebooks write it.
type bank struct {
	BIC   string `xml:"BICFI,omitempty"`
	Other *other `xml:"Othr"`
}

type other struct {
	ID string `xml:"Id"`
}

type painTransfer struct {
	EndToEndID   string    `xml:"PmtId>EndToEndId"`
	Amount       xmlAmount `xml:"Amt>InstdAmt"`
	Creditor     string    `xml:"Cdtr>Nm"`
	CreditorIBAN string    `xml:"CdtrAcct>Id>IBAN"`
}

// xmlAmount is an amount in major units, as text.
type xmlAmount struct {
	Currency string `xml:"Ccy,attr"`
	Value    string `xml:",chardata"`
}

// refusal returns why a payout cannot be a SEPA credit transfer, naming the field; empty if it can.
func refusal(call *actors.Call) string {
	card := call.Card
	switch {
	case call.Asset.Env != money.Prod:
		return "env: a SEPA file moves real money, so it pays out in prod only."
	case call.Asset.Currency != "EUR":
		return "currency: a SEPA credit transfer is in EUR only."
	case call.Hold:
		return "provider_params.two_phase: a SEPA credit transfer cannot be held first."
	case maxAmount.Less(call.Amount):
		return "amount: a SEPA credit transfer is for at most 999999999.99 EUR."
	case card == nil || len(card.IBAN) == 0:
		return "money_storage.iban is required."
	case !payment.IsSEPAIBAN(card.IBAN):
		return "money_storage.iban is not an IBAN of a SEPA country."
	case !payment.IsSEPAName(card.Holder):
		return "money_storage.account_holder has other than SEPA's characters, or more than 70."
	}
	return ""
}

// painFile writes the message for a payout. The caller has checked the call with refusal, and clears the result.
func painFile(call *actors.Call, from *Account, now time.Time) ([]byte, error) {
	id, amount := endToEndID(call.Reference), majorUnits(call.Amount)
	m := painDocument{
		Space: painNamespace, MessageID: id, CreatedAt: now.UTC().Format("2006-01-02T15:04:05Z"), Count: "1", ControlSum: amount, Initiator: from.Name,
		Information: painPayment{
			ID: id, Method: "TRF", BatchBooking: from.BatchBooking, Count: "1", ControlSum: amount, Service: "SEPA", ExecuteOn: now.UTC().Format(time.DateOnly),
			Debtor: from.Name, DebtorIBAN: from.IBAN, DebtorBank: bank{BIC: from.BIC}, Charges: "SLEV",
			Transfer: painTransfer{EndToEndID: id, Amount: xmlAmount{"EUR", amount}, Creditor: string(call.Card.Holder), CreditorIBAN: string(call.Card.IBAN)},
		},
	}
	if from.BIC == "" {
		m.Information.DebtorBank.Other = &other{"NOTPROVIDED"}
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	encoder := xml.NewEncoder(&out)
	encoder.Indent("", " ")
	if err := encoder.Encode(&m); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}

// majorUnits formats an amount of cents in EUR.
func majorUnits(amount money.Amount) string {
	digits := amount.String()
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
}

// minorUnits parses an amount in EUR. Banks may write fewer decimals, and more if they are zero.
func minorUnits(text string) (money.Amount, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return money.Amount{}, false
		}
		fraction = fraction[:decimals]
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", decimals-len(fraction)), "0")
	if digits == "" {
		digits = "0"
	}
	amount, err := money.Parse(digits)
	return amount, err == nil
}
