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

// inbox receives the messages to a terminal's operators, on both channels.
type inbox struct {
	t *testing.T

	mu       sync.Mutex
	blocked  map[string]bool // guarded by mu: chats that refuse
	messages []string        // guarded by mu: contact and subject of each message since the last take
	texts    []string        // guarded by mu: all messages ever sent
}

func (i *inbox) receive(contact, text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	subject, _, _ := strings.Cut(text, "\n")
	i.messages, i.texts = append(i.messages, contact+": "+subject), append(i.texts, text)
}

// take returns the messages since the last call, sorted by contact.
func (i *inbox) take() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	messages := i.messages
	i.messages = nil
	slices.Sort(messages)
	return messages
}

func (i *inbox) block(chat string, refuses bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.blocked[chat] = refuses
}

// telegram stands in for the Bot API.
func (i *inbox) telegram() *httptest.Server {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		chat := q.FormValue("chat_id")
		i.mu.Lock()
		blocked := i.blocked[chat]
		i.mu.Unlock()
		if blocked {
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

// mailbox is a session of the SMTP server.
type mailbox struct {
	room *inbox
	to   string
}

func (m *mailbox) Mail(string, *smtp.MailOptions) error { return nil }

func (m *mailbox) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.to = to
	return nil
}

func (m *mailbox) Data(body io.Reader) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, subject, _ := strings.Cut(string(content), "Subject: ")
	subject, _, _ = strings.Cut(subject, "\r\nTo:")
	m.room.receive(m.to, strings.Join(strings.Fields(subject), " ")+"\n"+string(content))
	return nil
}

func (m *mailbox) Reset() {}

func (m *mailbox) Logout() error { return nil }

func (i *inbox) mail() (address string) {
	i.t.Helper()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailbox{room: i}, nil }))
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

// advance moves the manual clock. When it returns, all due work has been done.
func advance(t *testing.T, s *testkit.Server, body string) {
	t.Helper()
	answer, err := s.Admin().Put("/api/v1/sandbox/clock", body)
	testkit.WantStatus(t, answer, err, 200)
}

// advanceToMidnight moves the clock to the beginning of a later day, plus more.
func advanceToMidnight(t *testing.T, s *testkit.Server, days int, more time.Duration) {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(t, answer, err, 200)
	var shown struct {
		Now time.Time `json:"now"`
	}
	if err := answer.JSON(&shown); err != nil {
		t.Fatal(err)
	}
	to := shown.Now.UTC().Truncate(24 * time.Hour).Add(time.Duration(days)*24*time.Hour + more)
	advance(t, s, `{"now":"`+to.Format(time.RFC3339)+`"}`)
}

// deactivateSandboxTerminals switches off the sandbox's own terminals, because a refused
// payment would be sent on to them.
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

func payAmount(t *testing.T, s *testkit.Server, card string, amount int, want string) {
	t.Helper()
	answer, err := s.Partner().Post("/api/v1/transactions", map[string]any{"params": map[string]any{
		"type": "payment", "amount": strconv.Itoa(amount), "currency": "EUR", "env": "test",
		"returnUrl": "https://shop.example/ok", "failUrl": "https://shop.example/no", "description": "CANARY-description",
		"customer": map[string]string{"email": "CANARY@customer.example"},
		"money_storage": map[string]string{
			"type": "bank_card", "cardnumber": card, "cardholder": "CANARY HOLDER", "exp_month": "12", "exp_year": "2030", "cvv": "123",
		},
	}})
	testkit.WantStatus(t, answer, err, 201)
	var created struct {
		Status string `json:"status"`
	}
	if err := answer.JSON(&created); err != nil || created.Status != want {
		t.Fatalf("the payment is %q, want %q (%v)", created.Status, want, err)
	}
}

func wantMessages(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: told was %q, want %q", when, got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s: told was %q, want %q", when, got[i], want[i])
		}
	}
}

// All messages to operators arrive in the chat and in the mailbox, in spite of refusals and restarts.
func TestOperatorsGetTheirMessages(t *testing.T) {
	i := &inbox{t: t, blocked: map[string]bool{"-100123": true}}
	server := testkit.Start(t, testkit.Options{Flags: []string{
		"--clock", "manual", "--telegram-url", i.telegram().URL, "--telegram-token-file", testkit.File(t, "token", "123456:CANARY-token"),
		"--smtp-address", i.mail(), "--smtp-from", "mizan@bank.example", "--smtp-tls", "off",
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
	wantMessages(t, "below the threshold", i.take())

	const large = `Large payment: 5000.00 EUR (500000 minor units) at "Euros"`
	payAmount(t, server, "4242424242424242", 500_000, "charged")
	advance(t, server, `{"advance_seconds":1}`)
	wantMessages(t, "a large one", i.take(), "@ops: "+large, "ops@bank.example: "+large)
	i.block("-100123", false)
	advance(t, server, `{"advance_seconds":28}`)
	wantMessages(t, "before the retry", i.take())
	advance(t, server, `{"advance_seconds":3}`)
	wantMessages(t, "the one that was left", i.take(), "-100123: "+large)

	const negative = `Negative revenue: fee above the amount of a payment of 0.29 EUR (29 minor units) at "Euros"`
	payAmount(t, server, "4242424242424242", 29, "charged")
	advance(t, server, `{"advance_seconds":1}`)
	wantMessages(t, "a fee above the amount", i.take(), "-100123: "+negative, "@ops: "+negative, "ops@bank.example: "+negative)

	for range 10 {
		payAmount(t, server, "4000000000000002", 100, "rejected")
	}
	advance(t, server, `{"advance_seconds":1}`)
	const spike = `7 of 10 transactions rejected or failed at "Euros"`
	wantMessages(t, "a spike of failures", i.take(), "-100123: "+spike, "@ops: "+spike, "ops@bank.example: "+spike)

	advanceToMidnight(t, server, 3, time.Second)
	var days []string
	for _, line := range i.take() {
		contact, subject, _ := strings.Cut(line, ": ")
		_, day, _ := strings.Cut(subject, " at ")
		days = append(days, contact+" "+day)
	}
	slices.Sort(days)
	wantMessages(t, "of three days", days,
		`-100123 "Euros": 13 transactions, 10 rejected or failed`, `-100123 "Euros": no transactions`, `-100123 "Euros": no transactions`,
		`@ops "Euros": 13 transactions, 10 rejected or failed`, `@ops "Euros": no transactions`, `@ops "Euros": no transactions`,
		`ops@bank.example "Euros": 13 transactions, 10 rejected or failed`, `ops@bank.example "Euros": no transactions`, `ops@bank.example "Euros": no transactions`)

	server.Kill()
	server.Restart()
	advance(t, server, `{"advance_seconds":60}`)
	wantMessages(t, "after a restart", i.take())
	for _, text := range i.texts {
		if strings.Contains(text, "CANARY") || strings.Contains(text, "4242") || strings.Contains(text, "4000000000000002") {
			t.Errorf("a message holds what is nobody's business: %s", text)
		}
	}
	if strings.Contains(server.Stderr(), "CANARY") {
		t.Error("the log holds a secret")
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	canaries := testkit.File(t, "canaries", "CANARY-token\n")
	if checked := testkit.Run(t, nil, "audit", "verify", "--data", filepath.Clean(server.Dir), "--canaries", canaries); checked.Exit != 0 {
		t.Errorf("the books do not hold: %d\n%s%s", checked.Exit, checked.Stdout, checked.Stderr)
	}
}

// A server without a configured channel logs that when it starts, and sends no messages.
func TestServerWithoutOperatorChannelLogsIt(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	for _, channel := range []string{"nothing by Telegram", "nothing by e-mail"} {
		if n := strings.Count(s.Stderr(), channel); n != 1 {
			t.Errorf("%d lines of the log say %q", n, channel)
		}
	}
}

// A stored message that can't be read is a failed attempt like any other: the list of operators
// reached so far is kept, and other messages are not affected.
func TestUnreadableMessageIsAFailedAttempt(t *testing.T) {
	s := newServer(new(config.Config), &cli.Streams{Out: io.Discard, Err: io.Discard})
	s.clock = clock.Real{}
	good := alerts.Message{Kind: alerts.Daily, Subject: "s", Text: "t"}.Append(nil)
	s.directory = new(directoryactor.Service)
	for name, c := range map[string]struct{ body, reached []byte }{
		"an unreadable message":                   {[]byte("{"), []byte(`{"told":{"telegram":["1"]}}`)},
		"an empty message":                        {nil, nil},
		"an unreadable list of reached operators": {good, []byte("[")},
	} {
		a, reached, wait := s.notifyOperators(ledger.ID{1}, ledger.ID{2}, c.body, c.reached)
		if a.Failure == "" || a.At == 0 || string(reached) != string(c.reached) || wait != 0 {
			t.Errorf("%s: %+v, told %q, wait %v", name, a, reached, wait)
		}
	}
}

// startWithOperators returns a server that sends Telegram messages, with one terminal, for euros.
func startWithOperators(t *testing.T, i *inbox, chats ...any) (s *testkit.Server, terminal string) {
	t.Helper()
	s = testkit.Start(t, testkit.Options{Flags: []string{
		"--clock", "manual", "--telegram-url", i.telegram().URL, "--telegram-token-file", testkit.File(t, "token", "123456:CANARY-token"),
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

// setOperators replaces the terminal's chats.
func setOperators(t *testing.T, s *testkit.Server, terminal string, chats ...any) {
	t.Helper()
	params := map[string]any{"tg_ids_to_notify": chats, "large_transaction_threshold": "1000"}
	answer, err := s.Admin().Do("PATCH", "/api/v1/terminal/"+terminal, map[string]any{"merchant_params": params})
	testkit.WantStatus(t, answer, err, 200)
}

// wantDelivery checks the latest delivery of a terminal, and returns its event_id.
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

// An attempt sends the message to all operators who are on the list at that time and have not got it
// before.
func TestNewOperatorGetsUndeliveredMessages(t *testing.T) {
	i := &inbox{t: t, blocked: map[string]bool{"1": true}}
	s, terminal := startWithOperators(t, i, 1)
	payAmount(t, s, "4242424242424242", 1000, "charged")
	advance(t, s, `{"advance_seconds":1}`)
	wantMessages(t, "while it refuses", i.take())
	wantDelivery(t, s, terminal, "pending", 1)
	setOperators(t, s, terminal)
	advance(t, s, `{"advance_seconds":60}`)
	wantDelivery(t, s, terminal, "pending", 2) // not delivered: nobody was reached
	setOperators(t, s, terminal, 2, "2", 3)
	advance(t, s, `{"advance_seconds":200}`)
	wantMessages(t, "who is listed by then", i.take(), "2: "+largeEuros, "3: "+largeEuros)
	wantDelivery(t, s, terminal, "delivered", 3)
}

// The replay of a parked message goes to the operators that it has not reached; the replay of a
// delivered one goes to all.
func TestReplayReachesMissedOperatorsOrAll(t *testing.T) {
	i := &inbox{t: t, blocked: map[string]bool{"2": true}}
	s, terminal := startWithOperators(t, i, 1, 2)
	payAmount(t, s, "4242424242424242", 1000, "charged")
	advance(t, s, `{"advance_seconds":36000}`)
	i.take()
	id := wantDelivery(t, s, terminal, "parked", 6)
	i.block("2", false)
	for _, want := range [][]string{{"2: " + largeEuros}, {"1: " + largeEuros, "2: " + largeEuros}} {
		answer, err := s.Admin().Post("/api/v1/deliveries/"+id+"/replay", nil)
		testkit.WantStatus(t, answer, err, 200)
		advance(t, s, `{"advance_seconds":1}`)
		wantMessages(t, "a replay of what was parked, then of what was delivered", i.take(), want...)
	}
}
