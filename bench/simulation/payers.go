package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// This file contains the actions of payers. They begin payments at the payment link, pay on the service's pages or through the
// partner, and authenticate in the way that the provider requires.

const linksPath = "/api/v1/links"

// newLinkedOrder makes an order that a payer will begin at the payment link.
func (b *book) newLinkedOrder(random *rand.Rand) *order {
	o := b.newOrderOf(random, "payment", plainCurrency, nil)
	o.isLinked, o.body, o.key = true, "", ""
	return o
}

// isUnknown returns whether the id of the order's transaction is lost. That happens if a payer began the payment at the link
// and got no page, because no client can repeat such a request.
func (o *order) isUnknown() bool { return o.isLinked && o.id == "" }

// createAtOnce sends the order's create request so many times at once that the queue of the transaction's actor overflows.
func (o *order) createAtOnce(c *client) {
	const clients = 80
	var all sync.WaitGroup
	for range clients {
		all.Go(func() { o.create(c) })
	}
	all.Wait()
}

// shownPage is a page that a payer sees.
type shownPage struct {
	status  int // HTTP status; 0 if no answer arrived
	address *url.URL
	text    string
}

// form is one HTML form of a page.
type form struct {
	action string
	fields url.Values // the hidden fields
	text   string
}

var (
	formTag   = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// find returns the first form of the page that contains the text part.
func (p *shownPage) find(part string) (f form, exists bool) {
	for _, text := range strings.SplitAfter(p.text, "</form>") {
		_, text, _ = cutBefore(text, "<form")
		tag := formTag.FindStringSubmatch(text)
		if tag == nil || !strings.Contains(text, part) {
			continue
		}
		f = form{action: html.UnescapeString(tag[1]), fields: url.Values{}, text: text}
		for _, input := range hiddenTag.FindAllStringSubmatch(text, -1) {
			f.fields.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
		}
		return f, true
	}
	return f, false
}

// cutBefore splits text at the first mark. The second part begins with the mark.
func cutBefore(text, mark string) (before, after string, found bool) {
	i := strings.Index(text, mark)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i:], true
}

// browse opens a page. If there are values, it sends a form with these values instead. It follows redirects within the service.
func (c *client) browse(address string, values url.Values) (p shownPage) {
	if strings.HasPrefix(address, "/") {
		address = baseURL + address
	}
	method, body := http.MethodGet, ""
	if values != nil {
		method, body = http.MethodPost, values.Encode()
	}
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		c.world.recordViolation("a page leads to %q: %v", address, err)
		return p
	}
	r.Header.Set("accept-language", "en")
	if values != nil {
		r.Header.Set("content-type", "application/x-www-form-urlencoded")
	}
	response, err := c.node.client.Do(r)
	if err != nil {
		return p
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || c.node.isGone() {
		return p
	}
	p = shownPage{response.StatusCode, response.Request.URL, string(content)}
	if p.status >= 500 && p.status != http.StatusServiceUnavailable && !c.world.isHarmed {
		c.world.recordViolation("%s %s shows %d: %s", method, r.URL.Path, p.status, p.text)
	}
	if number := values.Get("cardnumber"); number != "" && strings.Contains(p.text, number) {
		c.world.recordViolation("%s %s shows a card's number", method, r.URL.Path)
	}
	return p
}

// buy begins a payment at the payment link.
func (o *order) buy(c *client) {
	p := c.browse("/pay/l/"+c.world.link, url.Values{"amount": {fmt.Sprintf("%d.%02d", o.amount/100, o.amount%100)}})
	if p.status == 0 || p.status == http.StatusTooManyRequests || p.status == http.StatusServiceUnavailable {
		return
	}
	id, isPayment := strings.CutPrefix(p.address.Path, "/pay/")
	if p.status != http.StatusOK || !isPayment || strings.Contains(id, "/") {
		c.world.recordViolation("%v: buying at the link leads to %d %s", o, p.status, p.address.Path)
		return
	}
	c.world.locked(func() { o.id = id })
	o.read(c)
}

// chooseAttempt chooses at random how the payer next tries to pay the order.
func (w *world) chooseAttempt(o *order) *operation {
	m := &cards[w.random.IntN(len(cards))]
	if m.reverses && o.currency == feeCurrency { // because the model can't compute how much of the fee a reversal returns
		m = &cards[0]
	}
	if w.random.IntN(2) == 0 {
		return &operation{name: fmt.Sprintf("pay %s on its page by %v", o.txid, m), run: func(c *client) { o.payOnPage(c, m) }}
	}
	if w.random.IntN(5) == 0 {
		m = &otherMeans["payment"][w.random.IntN(len(otherMeans["payment"]))]
	}
	return &operation{name: fmt.Sprintf("continue %s by %v", o.txid, m), run: func(c *client) { o.payThroughPartner(c, m) }}
}

// payThroughPartner gives the payer's means of payment to the partner, whose server sends it to the API.
func (o *order) payThroughPartner(c *client, m *paymentMeans) {
	c.world.locked(func() { o.tries = append(o.tries, m) })
	o.act(c, http.MethodPost, transactionsPath+"/continue/"+o.known(c.world).id, `{"money_storage":`+m.storage()+`}`)
}

// payOnPage lets the payer fill in and send the form on the payment's page.
func (o *order) payOnPage(c *client, m *paymentMeans) {
	address := o.read(c).get("widget_url")
	if address == "" {
		return
	}
	p := c.browse(address, nil)
	f, exists := p.find(`name="cardnumber"`)
	if !exists {
		return
	}
	f.fields.Set("method", "bank_card")
	f.fields.Set("cardnumber", m.number)
	f.fields.Set("expiry", "12/40")
	f.fields.Set("cvv", "737")
	f.fields.Set("cardholder", "ZOE QUIX")
	c.world.locked(func() { o.tries = append(o.tries, m) })
	c.browse(f.action, f.fields)
	o.read(c)
}

// answerAction does what the provider requires of the payer. If well is false, it gives a wrong answer, for example a wrong
// password.
func (o *order) answerAction(c *client, well bool) {
	known := o.known(c.world)
	a := o.read(c)
	if a.get("status") != "action_required" {
		return
	}
	var shown struct {
		Page  string `json:"simple_auth_redirect_url"`
		Asked struct {
			Payload string `json:"payload"`
		} `json:"additional_params_for_auth"`
		Banks []struct {
			ID string `json:"target_bank_id"`
		} `json:"availble_destinations"`
	}
	if err := a.decode(&shown); err != nil {
		c.world.recordViolation("%v: %v: %s", o, err, a.body)
		return
	}
	material := transactionsPath + "/additional_params_for_auth/" + known.id
	switch {
	case len(shown.Banks) > 0:
		o.act(c, http.MethodPost, transactionsPath+"/choose_target_destination/"+known.id, fmt.Sprintf(`{"target_bank_id":%q}`, shown.Banks[0].ID))
	case shown.Asked.Payload != "":
		payload := shown.Asked.Payload
		if !well {
			payload += "?"
		}
		digest := sha256.Sum256([]byte(payload))
		o.act(c, http.MethodPost, material, fmt.Sprintf(`{"additional_params_for_auth":{"signature":%q}}`, hex.EncodeToString(digest[:])))
	case known.means != nil && known.means.asks == asksPassword:
		o.act(c, http.MethodPost, material, fmt.Sprintf(`{"additional_params_for_auth":{"otp":%q}}`, password(well)))
	case shown.Page != "":
		o.answerOnPage(c, shown.Page, well)
	}
}

// password returns the one-time password that the provider accepts. If well is false, it returns a wrong password.
func password(well bool) string {
	if well {
		return "123456"
	}
	return "000000"
}

// answerOnPage enters the password on the payment's page, or the decision on the page of the payer's bank.
func (o *order) answerOnPage(c *client, address string, well bool) {
	p := c.browse(address, nil)
	if f, exists := p.find("/simulator/challenge"); exists {
		f.fields.Set("decision", "approve")
		if !well {
			f.fields.Set("decision", "refuse")
		}
		c.browse(f.action, f.fields)
	} else if f, exists := p.find(`name="otp"`); exists {
		f.fields.Set("otp", password(well))
		c.browse(f.action, f.fields)
	}
	o.read(c)
}

// compareLink checks the number and the sum of the payment link's payments against the orders that payers began at the link.
func (w *world) compareLink(c *client) {
	count, sum := 0, 0
	for _, o := range w.book.orders {
		if o.isLinked && slices.Contains(after, o.status) {
			count, sum = count+1, sum+o.amount
		}
	}
	var link struct {
		Payments struct{ Count, Amount int }
	}
	a := w.get(c, byPartner, linksPath+"/"+w.link)
	if err := a.decode(&link); err != nil || link.Payments.Count != count || link.Payments.Amount != sum {
		w.recordViolation("by the orders, the link has had %d payments of %d together: %s %v", count, sum, a.body, err)
	}
}
