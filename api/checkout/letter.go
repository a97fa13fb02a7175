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

// Letters writes the e-mails that give payers the addresses of their receipts.
type Letters struct {
	Find     func(org, id ledger.ID) (paymentactor.Result, error) // as Payers.Find
	Partners Partners
	Pages    payerpage.Pages
}

// Letter is an e-mail.
type Letter struct {
	To      string // one e-mail address without a name
	Subject string // one line
	Text    string // plain text
}

// Receipt writes the e-mail for the payer of a transaction, in the transaction's language, else in the partner's. The e-mail
// has the amount, the merchant's name and the address of the receipt, and nothing about how the payer paid. In the test
// environment subject and text begin with a notice that no money moves. The error is the *ledger.Refusal of Find, or says that
// the transaction has no receipt or no address to which mail can be sent.
func (l *Letters) Receipt(org, id ledger.ID) (Letter, error) {
	result, err := l.Find(org, id)
	if err != nil {
		return Letter{}, err
	}
	r := result.Record
	to, path := admission.ReceiptAddress(r), receiptPath(l.Pages, org, r)
	if to == "" || path == "" {
		return Letter{}, fmt.Errorf("transaction %v has no receipt that can be mailed", id)
	}
	lang, merchant := r.Lang, ""
	if p, known := l.Partners.Partner(org, r.Partner); known {
		lang, merchant = cmp.Or(lang, p.Lang), nameOf(p)
	}
	t := texts.In(lang)
	fill := func(text string) string {
		return t.Fill(text, "amount", t.Amount(r.AmountWithFee, r.Asset), "merchant", merchant)
	}
	letter := Letter{To: to, Subject: fill(t.Receipt.MailSubject), Text: fill(t.Receipt.MailBody) + "\n\n" + l.Pages.Base + path + "\n"}
	if r.Asset.Env == money.Test {
		letter.Subject, letter.Text = t.Common.Test+" "+letter.Subject, t.Common.Test+"\n\n"+letter.Text
	}
	return letter, nil
}

// nameOf returns the name of a merchant that payers see.
func nameOf(p *directory.Partner) string { return cmp.Or(p.Branding.DisplayName, p.Name) }
