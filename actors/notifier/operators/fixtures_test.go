package operators

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"mizan/internal/clock"
	"mizan/ledger/alerts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event.
const patience = time.Minute

// shortBound is a bound that is meant to expire in the test.
const shortBound = 30 * time.Millisecond

var startTime = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)

var message = alerts.Message{Kind: alerts.LargeTransaction, Subject: "Large payment: 10.00 USD", Text: "A payment of 10.00 USD.\nEntirely charged.\n"}

const token = "123456:CANARY-token_of-the-bot"

// openChannels makes Channels; by default their bounds are too long to matter.
func openChannels(t *testing.T, o Options, b ...bounds) *Channels {
	t.Helper()
	o.Clock, o.Log = clock.NewManual(startTime), slog.New(slog.DiscardHandler)
	bound := bounds{connect: 2 * patience, attempt: 2 * patience}
	if len(b) > 0 {
		bound = b[0]
	}
	c, err := newChannels(o, bound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// want checks an attempt; without unreached contacts the message was delivered.
func (a Attempt) want(t *testing.T, status int, failure string, unreached Contacts) {
	t.Helper()
	if a.Status != status || a.Failure != failure {
		t.Errorf("status %d, failure %q, want %d, %q", a.Status, a.Failure, status, failure)
	}
	if !slices.Equal(a.Unreached.Telegram, unreached.Telegram) || !slices.Equal(a.Unreached.Emails, unreached.Emails) {
		t.Errorf("left are %v, want %v", a.Unreached, unreached)
	}
	if !a.At.Equal(startTime) || a.Duration < 0 {
		t.Errorf("began at %v and took %v", a.At, a.Duration)
	}
}

// wantTimedOut checks an attempt that ran out of time. At which step that happened depends on the machine.
func (a Attempt) wantTimedOut(t *testing.T, channel string, unreached Contacts) {
	t.Helper()
	if !strings.HasPrefix(a.Failure, channel) || !strings.HasSuffix(a.Failure, attemptTimedOut) && !strings.HasSuffix(a.Failure, connectTimedOut) {
		t.Errorf("the failure is %q", a.Failure)
	}
	a.want(t, 0, a.Failure, unreached)
}

// newCertificate returns a certificate for 127.0.0.1 and the pool that trusts it.
func newCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.TLS.Certificates[0], roots
}

// sentMessage is a message that the Bot API has received.
type sentMessage struct{ path, chat, text, linkPreview string }

// telegramAPI simulates the Bot API.
type telegramAPI struct {
	*httptest.Server
	answer func(chat string) (status int, body string) // nil: the API accepts everything; status 0: no response

	mu       sync.Mutex
	messages []sentMessage // guarded by mu
}

func newTelegramAPI(t *testing.T, useTLS bool, answer func(string) (int, string)) *telegramAPI {
	t.Helper()
	api := &telegramAPI{answer: answer}
	testOver := make(chan struct{})
	api.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := sentMessage{r.URL.Path, r.FormValue("chat_id"), r.FormValue("text"), r.FormValue("link_preview_options")}
		api.mu.Lock()
		api.messages = append(api.messages, s)
		api.mu.Unlock()
		status, body := http.StatusOK, `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"}}}`
		if api.answer != nil {
			status, body = api.answer(s.chat)
		}
		if status == 0 {
			<-testOver
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	if useTLS {
		api.StartTLS()
	} else {
		api.Start()
	}
	t.Cleanup(func() {
		close(testOver)
		api.Close()
	})
	return api
}

// calledChats returns the chats of all calls, sorted.
func (api *telegramAPI) calledChats() (chats []string) {
	api.mu.Lock()
	defer api.mu.Unlock()
	for _, s := range api.messages {
		chats = append(chats, s.chat)
	}
	slices.Sort(chats)
	return chats
}

// letter is an e-mail that has arrived.
type letter struct {
	from, to, body string
	isUTF8         bool // the client asked for SMTPUTF8
}

// smtpServer is an SMTP server of the test.
type smtpServer struct {
	host     string
	port     int
	user     string          // the user who must log in; empty: no login
	refusals map[string]int  // code of the refusal, by address
	hangsAt  map[string]bool // commands that get no response: MAIL, RCPT, DATA
	hasUTF8  bool            // offers SMTPUTF8
	testOver chan struct{}
	mu       sync.Mutex
	letters  []letter // guarded by mu
	sessions int      // guarded by mu
}

func newSMTPServer(t *testing.T, mode TLSMode, certificate *tls.Certificate, change ...func(*smtpServer)) *smtpServer {
	t.Helper()
	s := &smtpServer{testOver: make(chan struct{}), refusals: make(map[string]int), hangsAt: make(map[string]bool)}
	for _, c := range change {
		c(s)
	}
	backend := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions++
		_, isEncrypted := c.TLSConnectionState()
		return &session{server: s, isEncrypted: isEncrypted}, nil
	}))
	backend.Domain, backend.ErrorLog, backend.EnableSMTPUTF8 = "localhost", log.New(io.Discard, "", 0), s.hasUTF8
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.host, s.port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	if certificate != nil {
		backend.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	}
	if mode == TLS {
		listener = tls.NewListener(listener, backend.TLSConfig)
	}
	ended := make(chan error, 1)
	go func() { ended <- backend.Serve(listener) }()
	t.Cleanup(func() {
		close(s.testOver)
		_ = backend.Close()
		_ = listener.Close() // needed if Serve has not begun
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	return s
}

func (s *smtpServer) options(mode TLSMode) SMTP {
	return SMTP{Host: s.host, Port: s.port, From: "Mizan <mizan@bank.example>", TLS: mode}
}

func (s *smtpServer) receivedLetters() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters)
}

// session is one connection to the server.
type session struct {
	server      *smtpServer
	isEncrypted bool
	isSignedIn  bool
	letter      letter
}

func (s *session) AuthMechanisms() []string {
	if s.server.user == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if !s.isEncrypted || user != s.server.user || password != "CANARY-password" {
			return smtp.ErrAuthFailed
		}
		s.isSignedIn = true
		return nil
	}), nil
}

func (s *session) hang(command string) {
	if s.server.hangsAt[command] {
		<-s.server.testOver
	}
}

func (s *session) Mail(from string, options *smtp.MailOptions) error {
	s.hang("MAIL")
	if s.server.user != "" && !s.isSignedIn {
		return smtp.ErrAuthRequired
	}
	s.letter = letter{from: from, isUTF8: options.UTF8}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.hang("RCPT")
	if code, refused := s.server.refusals[to]; refused {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "CANARY words about " + to}
	}
	s.letter.to = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	s.hang("DATA")
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.letter.body = string(body)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.letters = append(s.server.letters, s.letter)
	return nil
}

func (s *session) Reset() { s.letter = letter{} }

func (s *session) Logout() error { return nil }

// startSilentServer starts a server that accepts connections and sends nothing.
func startSilentServer(t *testing.T) (host string, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var goroutines sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	goroutines.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		goroutines.Wait()
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
}

// unusedAddress returns an address at which no server listens.
func unusedAddress(t *testing.T) (host string, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
}

func urlOf(host string, port int) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// deliver makes an attempt, and fails the test if the attempt does not return in time.
func deliver(t *testing.T, c *Channels, to Contacts) Attempt {
	t.Helper()
	done := make(chan Attempt, 1)
	go func() { done <- c.Send(context.Background(), to, Contacts{}, message) }()
	select {
	case a := <-done:
		return a
	case <-time.After(2 * patience):
		t.Fatal("an attempt has no end")
		panic(errors.New("unreachable"))
	}
}

func chats(names ...string) Contacts { return Contacts{Telegram: names} }

func emails(addresses ...string) Contacts { return Contacts{Emails: addresses} }

// refusal returns the status and body of a refusal of the Bot API.
func refusal(code int, description, extraMembers string) (int, string) {
	return code, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q%s}`, code, description, extraMembers)
}
