package serving

import "net/url"

// sendToOtherForms sends the n-th card to pages whose forms have no fields for a card: the pages of a payment link, of a product
// and of the simulated bank.
func (p *payer) sendToOtherForms(n int) {
	form := cardFormBody(canaryNumber(n))
	link := p.ask(201, "POST", "/api/v1/links", asJSON, `{"env":"test","amount":{"default":1250,"currency":"USD"},"amount_type":"fixed","pay_config":{}}`)
	p.ask(303, "POST", link["url"], asForm, form)
	product := p.ask(201, "POST", "/api/v1/products", asJSON, `{"header":"Tea","text":"Green","currency":"USD","env":"test"}`)
	p.ask(422, "POST", product["url"], asForm, form+"&amount=x")
	if n%2 == 0 {
		p.ask(404, "POST", "/simulator/challenge", asForm, form+"&decision=approve")
	} else {
		p.ask(404, "POST", "/simulator/challenge", asForm, form)
	}
	created := p.ask(201, "POST", payments, asJSON, createBody("payment", "", storage(cardRedirect)))
	challenge, err := url.Parse(p.ask(303, "GET", created["simple_auth_redirect_url"], asForm, "")["location"])
	if err != nil {
		p.t.Error(err)
		return
	}
	p.ask(303, "POST", "/simulator/challenge?"+challenge.RawQuery, asForm, form+"&decision=approve")
	p.wantFinal(p.ask(200, "GET", payments+"/"+created["id"], asJSON, ""), "charged")
}
