package api_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

var receiptLink = regexp.MustCompile(`<a class="receipt" href="([^"]+)">`)

// receipt returns the address of the receipt to which a page of an outcome links; empty if it links to none.
func (r *response) receipt() string {
	match := receiptLink.FindStringSubmatch(r.body)
	if match == nil {
		return ""
	}
	return html.UnescapeString(match[1])
}

func TestPaidPaymentHasAReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm(`,"description":"Green tea"`)
	address := f.send(action, card("4242424242424242")).wantPage(200, "Paid").receipt()
	page := f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt", "$12.50", "Green tea", "Demo merchant", "Visa •••• 4242", id, "no money moves")
	if strings.Contains(page.body, "<form") || strings.Contains(page.body, `"/pay/`) {
		t.Errorf("the receipt leads elsewhere: %s", page.body)
	}
	f.changeTransaction(id, `"type":"refund","amount":"250"`).want(200, "")
	f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt", "Refunded", "$2.50", "Returned")

	// The receipt's token is its own, and that of a page opens no receipt.
	_, token, _ := strings.Cut(address, "?token=")
	_, pageToken, _ := strings.Cut(action, "?token=")
	pageToken, _, _ = strings.Cut(pageToken, "&")
	for _, wrong := range []string{
		"/pay/" + id + "?token=" + token, "/pay/" + id + "/return?token=" + token, "/pay/" + id + "/receipt?token=" + pageToken,
		"/pay/" + id + "/receipt", "/pay/" + id + "/receipt?token=" + token[:len(token)-1] + "A", "/pay/x/receipt?token=" + token,
	} {
		f.visit("GET", f.base()+wrong, nil).wantPage(404, "Page not found")
	}
	other, _ := f.payerForm("")
	f.visit("GET", f.base()+"/pay/"+other+"/receipt?token="+token, nil).wantPage(404, "Page not found")

	f.advanceBy(180*24*time.Hour - time.Minute)
	f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt")
	f.advanceBy(2 * time.Minute)
	f.visit("GET", f.base()+address, nil).wantPage(410, "This link is no longer valid")
}

func TestPaymentWithoutMoneyHasNoReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, action := f.payerForm("")
	if address := f.send(action, url.Values{"cancel": {"1"}}).wantPage(200, "Not paid").receipt(); address != "" {
		t.Errorf("a cancelled payment has the receipt %s", address)
	}
	f.setTerminalParams("payment", `{"two_phase":true}`)
	_, action = f.payerForm("")
	if address := f.send(action, card("4242424242424242")).wantPage(200, "Approved").receipt(); address != "" {
		t.Errorf("a hold has the receipt %s", address)
	}
}

// A link that has expired is explained in the merchant's name, and leads back to the merchant.
func TestExpiredPageNamesTheMerchant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted(`,"failUrl":"https://shop.example/no?id={transaction_id}"`)
	address := transaction.at("widget_url")
	f.advanceBy(16 * time.Minute)
	f.browse(address).wantPage(410, "This link is no longer valid", "<bdi>Demo merchant</bdi>", `href="https://shop.example/no?id=`+transaction.at("id")+`"`)
	closed := f.testLink(`"name":"Tea",`, `"default":100`, "fixed")
	f.partner().patch(linksPath+"/"+closed.at("data.id"), `{"active":false}`).want(200, "")
	f.browse(closed.at("data.url")).wantPage(410, "No payments are accepted here", "<bdi>Demo merchant</bdi>")
}
