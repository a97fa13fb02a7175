package operators

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
)

// startEndlessGreeting starts a server that sends an endless SMTP greeting.
func startEndlessGreeting(t *testing.T) (host string, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		for {
			if _, err := io.WriteString(conn, "220-hello\r\n"); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		sending.Wait()
	})
	return "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
}

// If one channel fails, the other still sends, and only the failed channel's contacts
// remain for the next attempt.
func TestOnlyFailedContactsAreLeft(t *testing.T) {
	certificate, roots := newCertificate(t)
	server := newSMTPServer(t, StartTLS, &certificate, func(s *smtpServer) { s.refusals["ops@bank.example"] = 451 })
	blocked := true
	api := newTelegramAPI(t, false, func(string) (int, string) {
		if blocked {
			return refusal(403, "Forbidden: bot was blocked by the user", "")
		}
		return 200, `{"ok":true}`
	})
	options := telegramOptions(api.URL)
	options.SMTP, options.Roots = server.options(StartTLS), roots
	channels := openChannels(t, options)
	all := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	attempt := deliver(t, channels, all)
	attempt.want(t, 451, "telegram: Forbidden: bot was blocked by the user; e-mail: the server refused with 451 4.1.1", all)
	blocked = false
	attempt = deliver(t, channels, attempt.Unreached)
	attempt.want(t, 451, "e-mail: the server refused with 451 4.1.1", emails("ops@bank.example"))
	delete(server.refusals, "ops@bank.example")
	deliver(t, channels, attempt.Unreached).want(t, 0, "", Contacts{})
	if len(api.calledChats()) != 2 || len(server.receivedLetters()) != 1 {
		t.Errorf("the chat was called %d times, and %d letters came", len(api.calledChats()), len(server.receivedLetters()))
	}
}

func TestUnconfiguredChannelIsNoFailure(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	contacts := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	deliver(t, openChannels(t, telegramOptions(api.URL)), contacts).want(t, 0, "", Contacts{})
	if len(api.calledChats()) != 1 {
		t.Error("the chat was not reached")
	}
}

// A message that reached no contact is never reported as delivered.
func TestAttemptWithoutReachableContactsFails(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	contacts := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	deliver(t, openChannels(t, Options{}), contacts).want(t, 0, nobodyReachable, Contacts{})
	deliver(t, openChannels(t, telegramOptions(api.URL)), Contacts{}).want(t, 0, nobodyReachable, Contacts{})
	deliver(t, openChannels(t, telegramOptions(api.URL)), emails("ops@bank.example")).want(t, 0, nobodyReachable, Contacts{})
	a := openChannels(t, telegramOptions(api.URL)).Send(t.Context(), contacts, chats("1"), message)
	a.want(t, 0, "", Contacts{}) // no failure: an earlier attempt has reached a contact
	if len(api.calledChats()) != 0 || fmt.Sprint(a.Reached) != fmt.Sprint(chats("1")) {
		t.Errorf("%d calls, reached were %v", len(api.calledChats()), a.Reached)
	}
}

func TestReachesConsidersOnlyConfiguredChannels(t *testing.T) {
	certificate, _ := newCertificate(t)
	server := newSMTPServer(t, StartTLS, &certificate)
	telegramOnly, emailOnly := telegramOptions("http://127.0.0.1:1"), Options{SMTP: server.options(StartTLS)}
	for _, c := range []struct {
		options      Options
		notification directory.Notification
		want         bool
	}{
		{telegramOnly, directory.Notification{Telegram: []string{"1"}}, true},
		{telegramOnly, directory.Notification{Emails: []string{"a@b.example"}}, false},
		{emailOnly, directory.Notification{Telegram: []string{"1"}}, false},
		{emailOnly, directory.Notification{Emails: []string{"a@b.example"}}, true},
		{Options{}, directory.Notification{Telegram: []string{"1"}, Emails: []string{"a@b.example"}}, false},
		{telegramOnly, directory.Notification{}, false},
	} {
		if got := openChannels(t, c.options).Reaches(&c.notification); got != c.want {
			t.Errorf("%+v is reached: %v", c.notification, got)
		}
	}
}

func TestUnconfiguredChannelIsLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	channels, err := New(Options{Clock: clock.NewManual(startTime), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer channels.Close()
	for range 3 {
		channels.Send(t.Context(), Contacts{Telegram: []string{"1"}, Emails: []string{"a@b.example"}}, Contacts{}, message)
	}
	if got := logged.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "by Telegram") != 1 || strings.Count(got, "by e-mail") != 1 {
		t.Errorf("the log says %s", got)
	}
}

func TestUnusableOptionsAreRefused(t *testing.T) {
	validSMTP := SMTP{Host: "127.0.0.1", Port: 25, From: "mizan@bank.example"}
	for name, change := range map[string]func(*SMTP){
		"no sender":         func(s *SMTP) { s.From = "" },
		"no address":        func(s *SMTP) { s.From = "mizan" },
		"no port":           func(s *SMTP) { s.Port = 0 },
		"another mode":      func(s *SMTP) { s.TLS = "ssl" },
		"password in plain": func(s *SMTP) { s.TLS, s.User, s.Password = Plain, "u", "CANARY" },
	} {
		server := validSMTP
		change(&server)
		channels, err := New(Options{SMTP: server, Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)})
		if err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", name, err)
		}
		if channels != nil {
			channels.Close()
		}
	}
	if _, err := New(Options{TelegramToken: " ", Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a blank token was taken")
	}
}

// No secret, address or word of a message appears when an attempt or the options are printed.
func TestAttemptContainsNoSecret(t *testing.T) {
	certificate, roots := newCertificate(t)
	server := newSMTPServer(t, StartTLS, &certificate, func(s *smtpServer) { s.refusals["CANARY@bank.example"] = 550 })
	api := newTelegramAPI(t, false, func(string) (int, string) { return refusal(400, "Bad Request: "+token, "") })
	options := telegramOptions(api.URL)
	options.SMTP, options.Roots = server.options(StartTLS), roots
	options.SMTP.Password = "CANARY-password"
	attempt := deliver(t, openChannels(t, options), Contacts{Telegram: []string{"CANARY-chat"}, Emails: []string{"CANARY@bank.example"}})
	if attempt.Failure == "" || strings.Contains(attempt.Failure, "CANARY") {
		t.Errorf("the failure is %q", attempt.Failure)
	}
	if shown := fmt.Sprintf("%v %+v %#v", options.TelegramToken, options.SMTP, options.SMTP.Password); strings.Contains(shown, "CANARY") {
		t.Errorf("the options show %s", shown)
	}
}

// At most MaxSends attempts are in progress. Further attempts wait, and end when the service stops.
func TestAttemptsAreBounded(t *testing.T) {
	arrived, resume := make(chan struct{}, 2*MaxSends), make(chan struct{})
	api := newTelegramAPI(t, false, func(string) (int, string) {
		arrived <- struct{}{}
		<-resume
		return 200, `{"ok":true}`
	})
	channels := openChannels(t, telegramOptions(api.URL))
	var attempts sync.WaitGroup
	for range MaxSends {
		attempts.Go(func() { channels.Send(context.Background(), chats("1"), Contacts{}, message) })
	}
	for range MaxSends {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatal("fewer attempts are made at once")
		}
	}
	stoppedCtx, stop := context.WithCancel(context.Background())
	stop()
	channels.Send(stoppedCtx, chats("1"), Contacts{}, message).want(t, 0, interrupted, chats("1"))
	if len(arrived) != 0 {
		t.Error("an attempt was made beyond the bound")
	}
	close(resume)
	attempts.Wait()
}

func TestAnAttemptEndsWithItsContext(t *testing.T) {
	arrived := make(chan struct{}, 1)
	api := newTelegramAPI(t, false, nil)
	api.answer = func(string) (int, string) {
		arrived <- struct{}{}
		return 0, ""
	}
	host, port := startSilentServer(t)
	options := telegramOptions(api.URL)
	options.SMTP = SMTP{Host: host, Port: port, From: "mizan@bank.example"}
	channels := openChannels(t, options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Attempt, 1)
	all := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	go func() { done <- channels.Send(ctx, all, Contacts{}, message) }()
	<-arrived
	cancel()
	select {
	case a := <-done:
		a.want(t, 0, "telegram: "+interrupted+"; e-mail: "+interrupted, all)
	case <-time.After(patience):
		t.Fatal("the attempt does not end")
	}
}

func TestAppendedContactsCanBeReadBack(t *testing.T) {
	for _, c := range []Contacts{{}, chats("-1", "@ops"), {Telegram: []string{"1"}, Emails: []string{"a@b.example", "ü@b.example"}}} {
		got, err := ReadContacts(c.Append(nil))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c) {
			t.Errorf("%v became %v, %v", c, got, err)
		}
	}
	if c, err := ReadContacts(nil); err != nil || !c.IsEmpty() {
		t.Errorf("nothing became %v, %v", c, err)
	}
	if _, err := ReadContacts([]byte("[]")); err == nil {
		t.Error("a list was read as contacts")
	}
	if !(Contacts{}).IsEmpty() || chats("1").IsEmpty() || emails("a@b.example").IsEmpty() {
		t.Error("None is wrong")
	}
}

func TestAttemptGoesToListedUnreachedContacts(t *testing.T) {
	api := newTelegramAPI(t, false, func(chat string) (int, string) {
		if chat == "3" {
			return refusal(403, "Forbidden: bot was blocked by the user", "")
		}
		return 200, `{"ok":true}`
	})
	reached := Contacts{Telegram: []string{"1", "@Ops"}, Emails: []string{"a@b.example"}}
	a := openChannels(t, telegramOptions(api.URL)).Send(t.Context(), chats("2", "@ops", "3"), reached, message)
	a.want(t, 403, "telegram: 1 of 2 not told: Forbidden: bot was blocked by the user", chats("3"))
	if got := api.calledChats(); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("asked to tell were %v", got)
	}
	want := Contacts{Telegram: []string{"1", "@Ops", "2"}, Emails: []string{"a@b.example"}}
	if fmt.Sprint(a.Reached) != fmt.Sprint(want) {
		t.Errorf("reached were %v, want %v", a.Reached, want)
	}
}

func TestContactsAreComparedWithoutCase(t *testing.T) {
	reached := Contacts{Telegram: []string{"@Ops"}, Emails: []string{"Ops@Bank.example"}}
	listed := ContactsOf(&directory.Notification{Telegram: []string{"@ops", "-1"}, Emails: []string{"ops@bank.example", "risk@bank.example"}})
	want := Contacts{Telegram: []string{"-1"}, Emails: []string{"risk@bank.example"}}
	if got := listed.Without(reached); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLongMessageIsSentInOnePieceByTelegram(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	m := alerts.Message{Kind: alerts.Daily, Subject: strings.Repeat("s", alerts.MaxSubject), Text: strings.Repeat("x", alerts.MaxText)}
	openChannels(t, telegramOptions(api.URL)).Send(t.Context(), chats("1"), Contacts{}, m).want(t, 0, "", Contacts{})
	const maxCharacters = 4096 // characters that the Bot API accepts
	if got := api.messages[0].text; len(got) > maxCharacters || got != m.Subject+"\n\n"+m.Text {
		t.Errorf("%d characters were sent", len(got))
	}
}
