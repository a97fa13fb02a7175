package checkout

import (
	"cmp"
	"fmt"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/texts"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment/admission"
)

// ReceiptMailer writes the e-mails in which payers get the URLs of their receipts.
type ReceiptMailer struct {
	Find     func(org, id ledger.ID) (paymentactor.Result, error) // see Payers.Find
	Partners Partners
	Pages    payerpage.Pages
}

// Email is an e-mail.
type Email struct {
	To      string // one e-mail address, without a person's name
	Subject string // one line
	Text    string // plain text
}

// Receipt writes the e-mail for the payer of a transaction. Its language is the transaction's or, if the transaction has none,
// the partner's. The e-mail contains the amount, the merchant's name and the receipt's URL, and nothing about how the payer
// paid. In the test environment, the subject and the text begin with a notice that no money moves. Receipt fails if Find fails,
// or if the transaction has no receipt or no valid e-mail address.
func (m *ReceiptMailer) Receipt(org, id ledger.ID) (Email, error) {
	result, err := m.Find(org, id)
	if err != nil {
		return Email{}, err
	}
	r := result.Record
	to, path := admission.ReceiptAddress(r), receiptPath(m.Pages, org, r)
	if to == "" || path == "" {
		return Email{}, fmt.Errorf("transaction %v has no receipt that can be mailed", id)
	}
	lang, merchant := r.Lang, ""
	if p, known := m.Partners.Partner(org, r.Partner); known {
		lang, merchant = cmp.Or(lang, p.Lang), nameOf(p)
	}
	t := texts.In(lang)
	fill := func(text string) string {
		return t.Fill(text, "amount", t.Amount(r.AmountWithFee, r.Asset), "merchant", merchant)
	}
	letter := Email{To: to, Subject: fill(t.Receipt.MailSubject), Text: fill(t.Receipt.MailBody) + "\n\n" + m.Pages.Base + path + "\n"}
	if r.Asset.Env == money.Test {
		letter.Subject, letter.Text = t.Common.Test+" "+letter.Subject, t.Common.Test+"\n\n"+letter.Text
	}
	return letter, nil
}

// nameOf returns the merchant's name that payers see.
func nameOf(p *directory.Partner) string { return cmp.Or(p.Branding.DisplayName, p.Name) }
