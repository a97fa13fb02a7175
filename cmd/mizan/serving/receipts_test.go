package serving

import (
	"encoding/json"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

const payersAddress = "ann@customer.example"

// startWithMail starts a server on a manual clock that sends its e-mail to the inbox.
func startWithMail(t *testing.T, box *inbox) *testkit.Server {
	t.Helper()
	return testkit.Start(t, testkit.Options{Flags: []string{
		"--clock", "manual", "--smtp-address", box.startMail(), "--smtp-from", "Mizan <mizan@bank.example>", "--smtp-tls", "off",
	}})
}

// receivedReceipt is an e-mail with the URL of a receipt.
type receivedReceipt struct {
	to, from, subject, text string
	path                    string // path and query of the URL at the end of the text
}

// takeReceipts returns the e-mails since the last call, in the order of arrival.
func (i *inbox) takeReceipts(s *testkit.Server) (receipts []receivedReceipt) {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, received := range i.texts {
		_, raw, _ := strings.Cut(received, "\n")
		parsed, err := mail.ReadMessage(strings.NewReader(raw))
		if err != nil {
			i.t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
		if err != nil {
			i.t.Fatal(err)
		}
		r := receivedReceipt{to: parsed.Header.Get("To"), from: parsed.Header.Get("From"), text: strings.ReplaceAll(string(body), "\r\n", "\n")}
		if r.subject, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")); err != nil {
			i.t.Fatal(err)
		}
		_, r.path, _ = strings.Cut(strings.TrimSuffix(r.text, "\n"), s.BaseURL)
		receipts = append(receipts, r)
	}
	i.texts, i.messages = nil, nil
	return receipts
}

// createdPayment has the members of the response to a create that the tests use.
type createdPayment struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Address string `json:"widget_url"`
}

// createFor creates a payment. moreFields are further members of the request's params.
func createFor(t *testing.T, s *testkit.Server, moreFields, storage string) (p createdPayment) {
	t.Helper()
	answer, err := s.Partner().Post(payments, createBody("payment", moreFields, storage))
	testkit.WantStatus(t, answer, err, 201)
	if err := answer.JSON(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// payFor makes a payment with a valid card. customer is the JSON object that describes the customer.
func payFor(t *testing.T, s *testkit.Server, customer, moreFields string) (id string) {
	t.Helper()
	p := createFor(t, s, `,"customer":`+customer+moreFields, storage("4242424242424242"))
	if p.Status != "charged" {
		t.Fatalf("the payment is %q", p.Status)
	}
	return p.ID
}

// receiptDelivery is the delivery of a receipt, in the API's form.
type receiptDelivery struct {
	Event    string `json:"event_id"`
	Channel  string `json:"channel"`
	Type     string `json:"type"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
}

// receiptDeliveries returns the deliveries of a transaction's receipts. It checks that none of them shows the payer's e-mail
// address.
func receiptDeliveries(t *testing.T, s *testkit.Server, transaction string) (receipts []receiptDelivery) {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1/deliveries?transaction_id=" + transaction)
	testkit.WantStatus(t, answer, err, 200)
	var list struct {
		Data []receiptDelivery `json:"data"`
	}
	if err := answer.JSON(&list); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(answer.Body), "customer.example") {
		t.Errorf("the deliveries show the payer's address: %s", answer.Body)
	}
	for _, d := range list.Data {
		if d.Channel == "receipt" {
			receipts = append(receipts, d)
		}
	}
	return receipts
}

func wantReceiptDelivery(t *testing.T, s *testkit.Server, transaction, state string, attempts int) (event string) {
	t.Helper()
	got := receiptDeliveries(t, s, transaction)
	if len(got) != 1 || got[0].Type != "receipt" || got[0].State != state || got[0].Attempts != attempts {
		t.Fatalf("%+v, want one receipt, %s after %d attempts", got, state, attempts)
	}
	return got[0].Event
}

// wantOpens checks that the URL in the e-mail opens the transaction's receipt in this language.
func (r *receivedReceipt) wantOpens(t *testing.T, s *testkit.Server, transaction, lang string) {
	t.Helper()
	if !strings.HasPrefix(r.path, "/pay/"+transaction+"/receipt?token=") {
		t.Fatalf("the text is %q", r.text)
	}
	answer, err := s.Anyone().Get(r.path)
	testkit.WantStatus(t, answer, err, 200)
	for _, want := range []string{`lang="` + lang + `"`, transaction} {
		if !strings.Contains(string(answer.Body), want) {
			t.Errorf("the receipt lacks %q", want)
		}
	}
}

// If a payment was made by the API, the payer gets one e-mail in the transaction's language. Its URL opens the receipt.
func TestPayerGetsTheReceiptByEmail(t *testing.T) {
	box := &inbox{t: t}
	s := startWithMail(t, box)
	for _, c := range []struct{ env, moreFields, lang, subject, text string }{
		{"prod", ``, "en", "Receipt: $12.50 to ", "Thank you for your payment of $12.50 to "},
		{"test", ``, "en", "Test mode: no money moves. Receipt: $12.50 to ", "Test mode: no money moves.\n\nThank you for your payment of $12.50 to "},
		{"prod", `,"lang":"ru"`, "ru", "Квитанция: 12,50\u00a0$, ", "Спасибо за оплату. Сумма: 12,50\u00a0$, магазин: "},
		{"test", `,"lang":"ru"`, "ru", "Тестовый режим: деньги не переводятся. Квитанция: 12,50\u00a0$, ", "Тестовый режим: деньги не переводятся.\n\nСпасибо за оплату. "},
	} {
		body := createBody("payment", `,"customer":{"email":"`+payersAddress+`"}`+c.moreFields, storage("4242424242424242"))
		answer, err := s.Partner().Post(payments, strings.Replace(body, `"env":"test"`, `"env":"`+c.env+`"`, 1))
		testkit.WantStatus(t, answer, err, 201)
		var p createdPayment
		if err := answer.JSON(&p); err != nil || p.Status != "charged" {
			t.Fatalf("%+v, %v", p, err)
		}
		id := p.ID
		advance(t, s, `{"advance_seconds":1}`)
		receipts := box.takeReceipts(s)
		if len(receipts) != 1 {
			t.Fatalf("%d e-mails", len(receipts))
		}
		r := receipts[0]
		if r.to != "<"+payersAddress+">" || r.from != `"Mizan" <mizan@bank.example>` || !strings.HasPrefix(r.subject, c.subject) || !strings.HasPrefix(r.text, c.text) {
			t.Errorf("the e-mail is %+v", r)
		}
		for _, hidden := range []string{"4242", canaryHolder, canaryCVV} {
			if strings.Contains(r.subject+strings.ReplaceAll(r.text, s.BaseURL+r.path, ""), hidden) { // without the URL, whose random digits could contain the text by chance
				t.Errorf("the e-mail has %q", hidden)
			}
		}
		r.wantOpens(t, s, id, c.lang)
		wantReceiptDelivery(t, s, id, "delivered", 1)
	}
	wantSoundBooks(t, s)
}

// If the payer has paid on the hosted page, the payer gets the receipt too.
func TestPayerOfAHostedPaymentGetsTheReceipt(t *testing.T) {
	box := &inbox{t: t}
	s := startWithMail(t, box)
	p := createFor(t, s, `,"hosted":true,"customer":{"email":"`+payersAddress+`"}`, "{}")
	page := strings.TrimPrefix(p.Address, s.BaseURL)
	answer, err := s.Anyone().With("content-type", "application/x-www-form-urlencoded").Post(page, cardFormBody("4242424242424242"))
	testkit.WantStatus(t, answer, err, 200)
	advance(t, s, `{"advance_seconds":1}`)
	receipts := box.takeReceipts(s)
	if len(receipts) != 1 {
		t.Fatalf("%d e-mails", len(receipts))
	}
	receipts[0].wantOpens(t, s, p.ID, "en")
}

// No receipt is stored if the server has no SMTP settings, or if the customer has no valid e-mail address.
func TestNoReceiptIsStoredThatCannotBeSent(t *testing.T) {
	box := &inbox{t: t}
	s := startWithMail(t, box)
	for _, customer := range []string{`{"phone":"1"}`, `{"email":"ann"}`, `{"email":"ann@customer.example\r\nBcc: bob@customer.example"}`} {
		if got := receiptDeliveries(t, s, payFor(t, s, customer, "")); got != nil {
			t.Errorf("%s: %+v", customer, got)
		}
	}
	withoutMail := testkit.Start(t, testkit.Options{})
	if got := receiptDeliveries(t, withoutMail, payFor(t, withoutMail, `{"email":"`+payersAddress+`"}`, "")); got != nil {
		t.Errorf("without SMTP: %+v", got)
	}
	if receipts := box.takeReceipts(s); len(receipts) != 0 {
		t.Errorf("%+v", receipts)
	}
}

// If the mail server refuses a receipt for a time, the receipt is sent later, only once, even if the process is killed in
// between. A replay sends the receipt again.
func TestRefusedReceiptIsSentLater(t *testing.T) {
	box := &inbox{t: t, blockedChats: map[string]bool{payersAddress: true}}
	s := startWithMail(t, box)
	id := payFor(t, s, `{"email":"`+payersAddress+`"}`, "")
	advance(t, s, `{"advance_seconds":1}`)
	event := wantReceiptDelivery(t, s, id, "pending", 1)
	answer, err := s.Admin().Get("/api/v1/deliveries/" + event)
	testkit.WantStatus(t, answer, err, 200)
	var delivery struct {
		Data struct {
			Attempts []struct {
				Status int
				Error  string
			}
		}
	}
	if err := json.Unmarshal(answer.Body, &delivery); err != nil || len(delivery.Data.Attempts) != 1 ||
		delivery.Data.Attempts[0].Status != 451 || delivery.Data.Attempts[0].Error != "e-mail: the server refused with 451 4.1.1" {
		t.Errorf("%v: %s", err, answer.Body)
	}
	s.Kill()
	box.setBlocked(payersAddress, false)
	s.Restart()
	advance(t, s, `{"advance_seconds":31}`)
	wantReceiptDelivery(t, s, id, "delivered", 2)
	receipts := box.takeReceipts(s)
	if len(receipts) != 1 {
		t.Fatalf("%d e-mails", len(receipts))
	}
	receipts[0].wantOpens(t, s, id, "en")
	advance(t, s, `{"advance_seconds":86400}`)
	if receipts := box.takeReceipts(s); len(receipts) != 0 {
		t.Errorf("%d more e-mails", len(receipts))
	}
	answer, err = s.Admin().Post("/api/v1/deliveries/"+event+"/replay", nil)
	testkit.WantStatus(t, answer, err, 200)
	advance(t, s, `{"advance_seconds":1}`)
	if receipts := box.takeReceipts(s); len(receipts) != 1 {
		t.Errorf("%d e-mails after a replay", len(receipts))
	}
	wantSoundBooks(t, s)
}

// If the process is killed after a payment settled and before its receipt was sent, the receipt is sent once after the next
// start.
func TestReceiptSurvivesAKill(t *testing.T) {
	box := &inbox{t: t, arrived: make(chan struct{}, 1), held: make(chan struct{})}
	s := startWithMail(t, box)
	id := payFor(t, s, `{"email":"`+payersAddress+`"}`, "")
	select {
	case <-box.arrived:
	case <-time.After(time.Minute):
		t.Fatal("no attempt was made")
	}
	s.Kill()
	close(box.held)
	if receipts := box.takeReceipts(s); len(receipts) != 0 {
		t.Fatalf("%d e-mails before the start", len(receipts))
	}
	s.Restart()
	advance(t, s, `{"advance_seconds":60}`)
	wantReceiptDelivery(t, s, id, "delivered", 1)
	receipts := box.takeReceipts(s)
	if len(receipts) != 1 {
		t.Fatalf("%d e-mails", len(receipts))
	}
	receipts[0].wantOpens(t, s, id, "en")
	wantSoundBooks(t, s)
}

// wantSoundBooks stops the server and runs the checker on its store.
func wantSoundBooks(t *testing.T, s *testkit.Server) {
	t.Helper()
	if code := s.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	if strings.Contains(s.Stderr(), "customer.example") {
		t.Error("the log has the payer's address")
	}
	if audit := testkit.Run(t, nil, "audit", "verify", "--data", filepath.Clean(s.Dir)); audit.Exit != 0 {
		t.Errorf("the books do not hold: %d\n%s%s", audit.Exit, audit.Stdout, audit.Stderr)
	}
}
