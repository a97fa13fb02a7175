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

// flood starts a server that sends an endless greeting.
func flood(t *testing.T) (host string, port int) {
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

// If one channel fails, the other still sends, and only the failed channel's contacts are left.
func TestOnlyFailedContactsAreLeft(t *testing.T) {
	certificate, roots := newCertificate(t)
	s := newServer(t, StartTLS, &certificate, func(s *server) { s.refuses["ops@bank.example"] = 451 })
	blocked := true
	api := newTelegramAPI(t, false, func(string) (int, string) {
		if blocked {
			return refusal(403, "Forbidden: bot was blocked by the user", "")
		}
		return 200, `{"ok":true}`
	})
	o := telegramOptions(api.URL)
	o.SMTP, o.Roots = s.smtp(StartTLS), roots
	c := open(t, o)
	all := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	a := deliver(t, c, all)
	a.want(t, 451, "telegram: Forbidden: bot was blocked by the user; e-mail: the server refused with 451 4.1.1", all)
	blocked = false
	a = deliver(t, c, a.Left)
	a.want(t, 451, "e-mail: the server refused with 451 4.1.1", emails("ops@bank.example"))
	delete(s.refuses, "ops@bank.example")
	deliver(t, c, a.Left).want(t, 0, "", Contacts{})
	if len(api.chats()) != 2 || len(s.got()) != 1 {
		t.Errorf("the chat was called %d times, and %d letters came", len(api.chats()), len(s.got()))
	}
}

func TestUnconfiguredChannelIsNoFailure(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	both := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	deliver(t, open(t, telegramOptions(api.URL)), both).want(t, 0, "", Contacts{})
	if len(api.chats()) != 1 {
		t.Error("the chat was not told")
	}
}

// A message that reached no contact is never reported as delivered.
func TestAttemptWithoutReachableContactsFails(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	contacts := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	deliver(t, open(t, Options{}), contacts).want(t, 0, nobodyReachable, Contacts{})
	deliver(t, open(t, telegramOptions(api.URL)), Contacts{}).want(t, 0, nobodyReachable, Contacts{})
	deliver(t, open(t, telegramOptions(api.URL)), emails("ops@bank.example")).want(t, 0, nobodyReachable, Contacts{})
	a := open(t, telegramOptions(api.URL)).Send(t.Context(), contacts, chats("1"), message)
	a.want(t, 0, "", Contacts{}) // a contact that an earlier attempt has reached counts
	if len(api.chats()) != 0 || fmt.Sprint(a.Reached) != fmt.Sprint(chats("1")) {
		t.Errorf("%d calls, told were %v", len(api.chats()), a.Reached)
	}
}

func TestReachesAsksTheConfiguredChannels(t *testing.T) {
	certificate, _ := newCertificate(t)
	s := newServer(t, StartTLS, &certificate)
	telegram, post := telegramOptions("http://127.0.0.1:1"), Options{SMTP: s.smtp(StartTLS)}
	for _, c := range []struct {
		o    Options
		n    directory.Notification
		want bool
	}{
		{telegram, directory.Notification{Telegram: []string{"1"}}, true},
		{telegram, directory.Notification{Emails: []string{"a@b.example"}}, false},
		{post, directory.Notification{Telegram: []string{"1"}}, false},
		{post, directory.Notification{Emails: []string{"a@b.example"}}, true},
		{Options{}, directory.Notification{Telegram: []string{"1"}, Emails: []string{"a@b.example"}}, false},
		{telegram, directory.Notification{}, false},
	} {
		if got := open(t, c.o).Reaches(&c.n); got != c.want {
			t.Errorf("%+v is reached: %v", c.n, got)
		}
	}
}

func TestUnconfiguredChannelIsLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	c, err := New(Options{Clock: clock.NewManual(startTime), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		c.Send(t.Context(), Contacts{Telegram: []string{"1"}, Emails: []string{"a@b.example"}}, Contacts{}, message)
	}
	if got := logged.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "by Telegram") != 1 || strings.Count(got, "by e-mail") != 1 {
		t.Errorf("the log says %s", got)
	}
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	validSMTP := SMTP{Host: "127.0.0.1", Port: 25, From: "mizan@bank.example"}
	for name, change := range map[string]func(*SMTP){
		"no sender":         func(s *SMTP) { s.From = "" },
		"no address":        func(s *SMTP) { s.From = "mizan" },
		"no port":           func(s *SMTP) { s.Port = 0 },
		"another mode":      func(s *SMTP) { s.TLS = "ssl" },
		"password in plain": func(s *SMTP) { s.TLS, s.User, s.Password = Plain, "u", "CANARY" },
	} {
		s := validSMTP
		change(&s)
		c, err := New(Options{SMTP: s, Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)})
		if err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", name, err)
		}
		if c != nil {
			c.Close()
		}
	}
	if _, err := New(Options{TelegramToken: " ", Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a blank token was taken")
	}
}

// No secret, address or word of a message appears when an attempt or the options are printed.
func TestAttemptContainsNoSecret(t *testing.T) {
	certificate, roots := newCertificate(t)
	s := newServer(t, StartTLS, &certificate, func(s *server) { s.refuses["CANARY@bank.example"] = 550 })
	api := newTelegramAPI(t, false, func(string) (int, string) { return refusal(400, "Bad Request: "+token, "") })
	o := telegramOptions(api.URL)
	o.SMTP, o.Roots = s.smtp(StartTLS), roots
	o.SMTP.Password = "CANARY-password"
	a := deliver(t, open(t, o), Contacts{Telegram: []string{"CANARY-chat"}, Emails: []string{"CANARY@bank.example"}})
	if a.Failure == "" || strings.Contains(a.Failure, "CANARY") {
		t.Errorf("the failure is %q", a.Failure)
	}
	if shown := fmt.Sprintf("%v %+v %#v", o.TelegramToken, o.SMTP, o.SMTP.Password); strings.Contains(shown, "CANARY") {
		t.Errorf("the options show %s", shown)
	}
}

// The number of attempts in progress is bounded. Attempts beyond it have not begun, and end when the
// service stops.
func TestAttemptsAreBounded(t *testing.T) {
	arrived, resume := make(chan struct{}, 2*MaxSends), make(chan struct{})
	api := newTelegramAPI(t, false, func(string) (int, string) {
		arrived <- struct{}{}
		<-resume
		return 200, `{"ok":true}`
	})
	c := open(t, telegramOptions(api.URL))
	var attempts sync.WaitGroup
	for range MaxSends {
		attempts.Go(func() { c.Send(context.Background(), chats("1"), Contacts{}, message) })
	}
	for range MaxSends {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatal("fewer attempts are made at once")
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	c.Send(stopped, chats("1"), Contacts{}, message).want(t, 0, interrupted, chats("1"))
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
	host, port := silentServer(t)
	o := telegramOptions(api.URL)
	o.SMTP = SMTP{Host: host, Port: port, From: "mizan@bank.example"}
	c := open(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Attempt, 1)
	all := Contacts{Telegram: []string{"1"}, Emails: []string{"ops@bank.example"}}
	go func() { done <- c.Send(ctx, all, Contacts{}, message) }()
	<-arrived
	cancel()
	select {
	case a := <-done:
		a.want(t, 0, "telegram: "+interrupted+"; e-mail: "+interrupted, all)
	case <-time.After(patience):
		t.Fatal("the attempt goes on")
	}
}

func TestContactsAreStoredBetweenAttempts(t *testing.T) {
	for _, c := range []Contacts{{}, chats("-1", "@ops"), {Telegram: []string{"1"}, Emails: []string{"a@b.example", "ü@b.example"}}} {
		got, err := ReadContacts(c.Append(nil))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c) {
			t.Errorf("%v became %v, %v", c, got, err)
		}
	}
	if c, err := ReadContacts(nil); err != nil || !c.None() {
		t.Errorf("nothing became %v, %v", c, err)
	}
	if _, err := ReadContacts([]byte("[]")); err == nil {
		t.Error("a list was read as contacts")
	}
	if !(Contacts{}).None() || chats("1").None() || emails("a@b.example").None() {
		t.Error("None is wrong")
	}
}

// An attempt is for the contacts that are listed now and were not reached yet.
func TestAttemptGoesToListedUnreachedContacts(t *testing.T) {
	api := newTelegramAPI(t, false, func(chat string) (int, string) {
		if chat == "3" {
			return refusal(403, "Forbidden: bot was blocked by the user", "")
		}
		return 200, `{"ok":true}`
	})
	reached := Contacts{Telegram: []string{"1", "@Ops"}, Emails: []string{"a@b.example"}}
	a := open(t, telegramOptions(api.URL)).Send(t.Context(), chats("2", "@ops", "3"), reached, message)
	a.want(t, 403, "telegram: 1 of 2 not told: Forbidden: bot was blocked by the user", chats("3"))
	if got := api.chats(); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("asked to tell were %v", got)
	}
	want := Contacts{Telegram: []string{"1", "@Ops", "2"}, Emails: []string{"a@b.example"}}
	if fmt.Sprint(a.Reached) != fmt.Sprint(want) {
		t.Errorf("told were %v, want %v", a.Reached, want)
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
	open(t, telegramOptions(api.URL)).Send(t.Context(), chats("1"), Contacts{}, m).want(t, 0, "", Contacts{})
	const takes = 4096 // characters that the Bot API accepts
	if got := api.sent[0].text; len(got) > takes || got != m.Subject+"\n\n"+m.Text {
		t.Errorf("%d characters were sent", len(got))
	}
}
