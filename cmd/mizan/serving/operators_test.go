package serving

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	directoryactor "mizan/actors/directory"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/alerts"
)

// inbox receives the messages to terminals' operators by Telegram and by e-mail, and the e-mails to payers.
type inbox struct {
	t       *testing.T
	arrived chan struct{} // gets an element when an e-mail is about to arrive; nil: nothing waits for that
	held    chan struct{} // e-mails are held back until this channel is closed; nil: they arrive at once

	mu           sync.Mutex
	blockedChats map[string]bool // guarded by mu: Telegram chats and e-mail addresses that refuse messages
	messages     []string        // guarded by mu: recipient and subject of each message since the last call of take
	texts        []string        // guarded by mu: all messages ever received
}

func (i *inbox) receive(contact, text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	subject, _, _ := strings.Cut(text, "\n")
	i.messages, i.texts = append(i.messages, contact+": "+subject), append(i.texts, text)
}

// take returns the recipients and subjects of the messages since the last call, sorted by recipient.
func (i *inbox) take() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	messages := i.messages
	i.messages = nil
	slices.Sort(messages)
	return messages
}

func (i *inbox) isBlocked(contact string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.blockedChats[contact]
}

func (i *inbox) setBlocked(chat string, isBlocked bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.blockedChats[chat] = isBlocked
}

// startTelegram starts a server that stands in for Telegram's Bot API.
func (i *inbox) startTelegram() *httptest.Server {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		chat := q.FormValue("chat_id")
		if i.isBlocked(chat) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`)
			return
		}
		i.receive(chat, q.FormValue("text"))
		_, _ = io.WriteString(w, `{"ok":true,"result":{}}`)
	}))
	i.t.Cleanup(api.Close)
	return api
}

// smtpSession is a session of the SMTP server that startMail starts.
type smtpSession struct {
	inbox     *inbox
	recipient string
}

func (m *smtpSession) Mail(string, *smtp.MailOptions) error { return nil }

func (m *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if m.inbox.isBlocked(to) {
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 1, 1}, Message: "later, " + to}
	}
	if m.inbox.held != nil {
		select {
		case m.inbox.arrived <- struct{}{}:
		default: // the test does not wait for an e-mail any more
		}
		<-m.inbox.held
	}
	m.recipient = to
	return nil
}

func (m *smtpSession) Data(body io.Reader) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, subject, _ := strings.Cut(string(content), "Subject: ")
	subject, _, _ = strings.Cut(subject, "\r\nTo:")
	m.inbox.receive(m.recipient, strings.Join(strings.Fields(subject), " ")+"\n"+string(content))
	return nil
}

func (m *smtpSession) Reset() {}

func (m *smtpSession) Logout() error { return nil }

// startMail starts an SMTP server and returns its address.
func (i *inbox) startMail() (address string) {
	i.t.Helper()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &smtpSession{inbox: i}, nil }))
	server.Domain, server.ErrorLog = "localhost", log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		i.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	i.t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// advance moves the server's manual clock. When it returns, all work that became due has been done.
func advance(t *testing.T, s *testkit.Server, body string) {
	t.Helper()
	answer, err := s.Admin().Put("/api/v1/sandbox/clock", body)
	testkit.WantStatus(t, answer, err, 200)
}

// advanceToMidnight moves the manual clock to a time after a midnight that is this number of days ahead.
func advanceToMidnight(t *testing.T, s *testkit.Server, days int, afterMidnight time.Duration) {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(t, answer, err, 200)
	var clockReply struct {
		Now time.Time `json:"now"`
	}
	if err := answer.JSON(&clockReply); err != nil {
		t.Fatal(err)
	}
	to := clockReply.Now.UTC().Truncate(24 * time.Hour).Add(time.Duration(days)*24*time.Hour + afterMidnight)
	advance(t, s, `{"now":"`+to.Format(time.RFC3339)+`"}`)
}

// deactivateSandboxTerminals deactivates the terminals that the sandbox has created, because a refused payment would be tried on
// them next.
func deactivateSandboxTerminals(t *testing.T, s *testkit.Server) {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1/terminals")
	testkit.WantStatus(t, answer, err, 200)
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := answer.JSON(&list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%d terminals, %v", len(list.Data), err)
	}
	for _, terminal := range list.Data {
		answer, err := s.Admin().Do("PATCH", "/api/v1/terminal/"+terminal.ID, map[string]bool{"is_active": false})
		testkit.WantStatus(t, answer, err, 200)
	}
}

func payAmount(t *testing.T, s *testkit.Server, card string, amount int, wantStatus string) {
	t.Helper()
	answer, err := s.Partner().Post("/api/v1/transactions", map[string]any{"params": map[string]any{
		"type": "payment", "amount": strconv.Itoa(amount), "currency": "EUR", "env": "test",
		"returnUrl": "https://shop.example/ok", "failUrl": "https://shop.example/no", "description": "CANARY-description",
		"customer": map[string]string{"phone": "CANARY-phone"}, // no e-mail address, so that no receipt is sent
		"money_storage": map[string]string{
			"type": "bank_card", "cardnumber": card, "cardholder": "CANARY HOLDER", "exp_month": "12", "exp_year": "2030", "cvv": "123",
		},
	}})
	testkit.WantStatus(t, answer, err, 201)
	var created struct {
		Status string `json:"status"`
	}
	if err := answer.JSON(&created); err != nil || created.Status != wantStatus {
		t.Fatalf("the payment is %q, want %q (%v)", created.Status, wantStatus, err)
	}
}

func wantMessages(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %q, want %q", when, got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s: got %q, want %q", when, got[i], want[i])
		}
	}
}

// All messages to operators arrive in the Telegram chat and in the mailbox, although some attempts are refused and the server is
// restarted.
func TestOperatorsGetTheirMessages(t *testing.T) {
	box := &inbox{t: t, blockedChats: map[string]bool{"-100123": true}}
	server := testkit.Start(t, testkit.Options{Flags: []string{
		"--clock", "manual", "--telegram-url", box.startTelegram().URL, "--telegram-token-file", testkit.WriteFile(t, "token", "123456:CANARY-token"),
		"--smtp-address", box.startMail(), "--smtp-from", "mizan@bank.example", "--smtp-tls", "off",
	}})
	advanceToMidnight(t, server, 1, 12*time.Hour)
	deactivateSandboxTerminals(t, server)
	answer, err := server.Admin().Post("/api/v1/terminal", map[string]any{
		"name": "Euros", "partner_id": server.Sandbox.PartnerID, "provider": "simulator", "type": "payment", "env": "test",
		"provider_params": map[string]any{"priority": -1, "currencies": []string{"EUR"}, "fee_fixed": "30"},
		"merchant_params": map[string]any{
			"tg_ids_to_notify": []any{-100123, "@ops"}, "emails_to_notify": []string{"ops@bank.example"}, "large_transaction_threshold": "500000",
		},
	})
	testkit.WantStatus(t, answer, err, 201)

	payAmount(t, server, "4242424242424242", 499_999, "charged")
	advance(t, server, `{"advance_seconds":1}`)
	wantMessages(t, "below the threshold", box.take())

	const largePayment = `Large payment: 5000.00 EUR (500000 minor units) at "Euros"`
	payAmount(t, server, "4242424242424242", 500_000, "charged")
	advance(t, server, `{"advance_seconds":1}`)
	wantMessages(t, "a large one", box.take(), "@ops: "+largePayment, "ops@bank.example: "+largePayment)
	box.setBlocked("-100123", false)
	advance(t, server, `{"advance_seconds":28}`)
	wantMessages(t, "before the retry", box.take())
	advance(t, server, `{"advance_seconds":3}`)
	wantMessages(t, "the one that was left", box.take(), "-100123: "+largePayment)

	const negativeRevenue = `Negative revenue: fee above the amount of a payment of 0.29 EUR (29 minor units) at "Euros"`
	payAmount(t, server, "4242424242424242", 29, "charged")
	advance(t, server, `{"advance_seconds":1}`)
	wantMessages(t, "a fee above the amount", box.take(), "-100123: "+negativeRevenue, "@ops: "+negativeRevenue, "ops@bank.example: "+negativeRevenue)

	for range 10 {
		payAmount(t, server, "4000000000000002", 100, "rejected")
	}
	advance(t, server, `{"advance_seconds":1}`)
	const failureSpike = `7 of 10 transactions rejected or failed at "Euros"`
	wantMessages(t, "a spike of failures", box.take(), "-100123: "+failureSpike, "@ops: "+failureSpike, "ops@bank.example: "+failureSpike)

	advanceToMidnight(t, server, 3, time.Second)
	var dailyMessages []string
	for _, line := range box.take() {
		contact, subject, _ := strings.Cut(line, ": ")
		_, day, _ := strings.Cut(subject, " at ")
		dailyMessages = append(dailyMessages, contact+" "+day)
	}
	slices.Sort(dailyMessages)
	wantMessages(t, "of three days", dailyMessages,
		`-100123 "Euros": 13 transactions, 10 rejected or failed`, `-100123 "Euros": no transactions`, `-100123 "Euros": no transactions`,
		`@ops "Euros": 13 transactions, 10 rejected or failed`, `@ops "Euros": no transactions`, `@ops "Euros": no transactions`,
		`ops@bank.example "Euros": 13 transactions, 10 rejected or failed`, `ops@bank.example "Euros": no transactions`, `ops@bank.example "Euros": no transactions`)

	server.Kill()
	server.Restart()
	advance(t, server, `{"advance_seconds":60}`)
	wantMessages(t, "after a restart", box.take())
	for _, text := range box.texts {
		if strings.Contains(text, "CANARY") || strings.Contains(text, " 4242") || strings.Contains(text, "42424242") || strings.Contains(text, "4000000000000002") {
			t.Errorf("a message holds what is nobody's business: %s", text)
		}
	}
	if strings.Contains(server.Stderr(), "CANARY") {
		t.Error("the log holds a secret")
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	canaries := testkit.WriteFile(t, "canaries", "CANARY-token\n")
	if audit := testkit.Run(t, nil, "audit", "verify", "--data", filepath.Clean(server.Dir), "--canaries", canaries); audit.Exit != 0 {
		t.Errorf("the books do not hold: %d\n%s%s", audit.Exit, audit.Stdout, audit.Stderr)
	}
}

// When a server without a channel to operators starts, it logs that there is none.
func TestServerWithoutOperatorChannelLogsIt(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	for _, channel := range []string{"not notified by Telegram", "not notified by e-mail"} {
		if n := strings.Count(s.Stderr(), channel); n != 1 {
			t.Errorf("%d lines of the log say %q", n, channel)
		}
	}
}

// If a stored message to operators can't be read, the attempt to send it counts as failed. The list of operators reached so far
// stays, and other messages are not affected.
func TestUnreadableMessageIsAFailedAttempt(t *testing.T) {
	s := newServer(newProcess(new(config.Config), &cli.Streams{Out: io.Discard, Err: io.Discard}, ""))
	s.clock = clock.Real{}
	goodMessage := alerts.Message{Kind: alerts.Daily, Subject: "s", Text: "t"}.Append(nil)
	s.directory = new(directoryactor.Service)
	for name, c := range map[string]struct{ body, reached []byte }{
		"an unreadable message":                   {[]byte("{"), []byte(`{"told":{"telegram":["1"]}}`)},
		"an empty message":                        {nil, nil},
		"an unreadable list of reached operators": {goodMessage, []byte("[")},
	} {
		attempt, reached, wait := s.notifyOperators(ledger.ID{1}, ledger.ID{2}, c.body, c.reached)
		if attempt.Failure == "" || attempt.At == 0 || string(reached) != string(c.reached) || wait != 0 {
			t.Errorf("%s: %+v, told %q, wait %v", name, attempt, reached, wait)
		}
	}
}

// startWithOperators starts a server that sends Telegram messages. It returns the server and the id of its only active terminal.
// chats are the Telegram chats of the terminal's operators.
func startWithOperators(t *testing.T, box *inbox, chats ...any) (s *testkit.Server, terminal string) {
	t.Helper()
	s = testkit.Start(t, testkit.Options{Flags: []string{
		"--clock", "manual", "--telegram-url", box.startTelegram().URL, "--telegram-token-file", testkit.WriteFile(t, "token", "123456:CANARY-token"),
	}})
	advanceToMidnight(t, s, 1, time.Hour) // the day does not end during the test
	deactivateSandboxTerminals(t, s)
	answer, err := s.Admin().Post("/api/v1/terminal", map[string]any{
		"name": "Euros", "partner_id": s.Sandbox.PartnerID, "provider": "simulator", "type": "payment", "env": "test",
		"merchant_params": map[string]any{"tg_ids_to_notify": chats, "large_transaction_threshold": "1000"},
	})
	testkit.WantStatus(t, answer, err, 201)
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := answer.JSON(&created); err != nil {
		t.Fatal(err)
	}
	return s, created.Data.ID
}

// setOperators replaces the Telegram chats of the terminal's operators.
func setOperators(t *testing.T, s *testkit.Server, terminal string, chats ...any) {
	t.Helper()
	params := map[string]any{"tg_ids_to_notify": chats, "large_transaction_threshold": "1000"}
	answer, err := s.Admin().Do("PATCH", "/api/v1/terminal/"+terminal, map[string]any{"merchant_params": params})
	testkit.WantStatus(t, answer, err, 200)
}

// wantDelivery checks the state and the number of attempts of a terminal's latest delivery. It returns the delivery's event_id.
func wantDelivery(t *testing.T, s *testkit.Server, terminal, state string, attempts int) string {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1/deliveries?limit=1&terminal_id=" + terminal)
	testkit.WantStatus(t, answer, err, 200)
	var list struct {
		Data []struct {
			ID       string `json:"event_id"`
			State    string `json:"state"`
			Attempts int    `json:"attempts"`
		} `json:"data"`
	}
	if err := answer.JSON(&list); err != nil || len(list.Data) != 1 {
		t.Fatalf("%d deliveries, %v", len(list.Data), err)
	}
	if d := list.Data[0]; d.State != state || d.Attempts != attempts {
		t.Errorf("%s after %d attempts, want %s after %d", d.State, d.Attempts, state, attempts)
	}
	return list.Data[0].ID
}

const largeEuros = `Large payment: 10.00 EUR (1000 minor units) at "Euros"`

// Each attempt sends the message to all operators who are on the terminal's list at that time and have not received the message
// yet.
func TestNewOperatorGetsUndeliveredMessages(t *testing.T) {
	box := &inbox{t: t, blockedChats: map[string]bool{"1": true}}
	s, terminal := startWithOperators(t, box, 1)
	payAmount(t, s, "4242424242424242", 1000, "charged")
	advance(t, s, `{"advance_seconds":1}`)
	wantMessages(t, "while it refuses", box.take())
	wantDelivery(t, s, terminal, "pending", 1)
	setOperators(t, s, terminal)
	advance(t, s, `{"advance_seconds":60}`)
	wantDelivery(t, s, terminal, "pending", 2) // not delivered, because no operator was reached
	setOperators(t, s, terminal, 2, "2", 3)
	advance(t, s, `{"advance_seconds":200}`)
	wantMessages(t, "who is listed by then", box.take(), "2: "+largeEuros, "3: "+largeEuros)
	wantDelivery(t, s, terminal, "delivered", 3)
}

// When a parked (given up) message is replayed, it is sent to the operators who have not received it. When a delivered message
// is replayed, it is sent to all operators.
func TestReplayReachesMissedOperatorsOrAll(t *testing.T) {
	box := &inbox{t: t, blockedChats: map[string]bool{"2": true}}
	s, terminal := startWithOperators(t, box, 1, 2)
	payAmount(t, s, "4242424242424242", 1000, "charged")
	advance(t, s, `{"advance_seconds":36000}`)
	box.take()
	id := wantDelivery(t, s, terminal, "parked", 6)
	box.setBlocked("2", false)
	for _, want := range [][]string{{"2: " + largeEuros}, {"1: " + largeEuros, "2: " + largeEuros}} {
		answer, err := s.Admin().Post("/api/v1/deliveries/"+id+"/replay", nil)
		testkit.WantStatus(t, answer, err, 200)
		advance(t, s, `{"advance_seconds":1}`)
		wantMessages(t, "a replay of what was parked, then of what was delivered", box.take(), want...)
	}
}
