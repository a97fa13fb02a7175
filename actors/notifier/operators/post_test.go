package operators

import (
	"io"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"mizan/internal/secret"
)

func TestAnEmailIsSentToEachAddressAlone(t *testing.T) {
	certificate, roots := newCertificate(t)
	for _, mode := range []TLSMode{StartTLS, TLS} {
		s := newServer(t, mode, &certificate)
		c := open(t, Options{SMTP: s.smtp(mode), Roots: roots})
		deliver(t, c, emails("ops@bank.example", "risk@bank.example")).want(t, 0, "", Contacts{})
		got := s.got()
		if len(got) != 2 || s.sessions != 2 && mode == StartTLS || got[0].to != "ops@bank.example" || got[1].to != "risk@bank.example" || got[0].from != "mizan@bank.example" {
			t.Fatalf("%s: %+v in %d sessions", mode, got, s.sessions)
		}
		for _, l := range got {
			parsed, err := mail.ReadMessage(strings.NewReader(l.body))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.ReplaceAll(string(body), "\r\n", "\n"); text != message.Text {
				t.Errorf("%s: the text is %q", mode, text)
			}
			for header, want := range map[string]string{
				"Subject": message.Subject, "To": "<" + l.to + ">", "From": `"Mizan" <mizan@bank.example>`, "Cc": "", "Bcc": "",
				"Date": "Thu, 03 Sep 2026 10:15:30 +0000", "Auto-Submitted": "auto-generated",
			} {
				if value := parsed.Header.Get(header); value != want {
					t.Errorf("%s: %s is %q, want %q", mode, header, value, want)
				}
			}
		}
	}
}

// The refusal of one recipient does not affect the others.
func TestOnlyRefusedAddressesAreLeft(t *testing.T) {
	certificate, roots := newCertificate(t)
	s := newServer(t, StartTLS, &certificate, func(s *server) {
		s.refuses["gone@bank.example"], s.refuses["full@bank.example"] = 550, 452
	})
	c := open(t, Options{SMTP: s.smtp(""), Roots: roots})
	a := deliver(t, c, emails("gone@bank.example", "ops@bank.example", "full@bank.example", "risk@bank.example"))
	a.want(t, 550, "e-mail: 2 of 4 not told: the server refused with 550 5.1.1", emails("gone@bank.example", "full@bank.example"))
	var reached []string
	for _, l := range s.got() {
		reached = append(reached, l.to)
	}
	if !slices.Equal(reached, []string{"ops@bank.example", "risk@bank.example"}) {
		t.Errorf("told were %v", reached)
	}
	delete(s.refuses, "full@bank.example")
	deliver(t, c, a.Left).want(t, 550, "e-mail: 1 of 2 not told: the server refused with 550 5.1.1", emails("gone@bank.example"))
	if letters := s.got(); len(letters) != 3 || letters[2].to != "full@bank.example" {
		t.Errorf("told were %v", letters)
	}
}

func TestSMTPAuthentication(t *testing.T) {
	certificate, roots := newCertificate(t)
	for _, mode := range []TLSMode{StartTLS, TLS} {
		s := newServer(t, mode, &certificate, func(s *server) { s.user = "mizan" })
		o := s.smtp(mode)
		o.User, o.Password = "mizan", secret.Text("CANARY-password")
		deliver(t, open(t, Options{SMTP: o, Roots: roots}), emails("ops@bank.example")).want(t, 0, "", Contacts{})
		o.Password = "CANARY-wrong"
		deliver(t, open(t, Options{SMTP: o, Roots: roots}), emails("ops@bank.example")).
			want(t, 535, "e-mail: the server refused with 535", emails("ops@bank.example"))
		o.User = ""
		deliver(t, open(t, Options{SMTP: o, Roots: roots}), emails("ops@bank.example")).
			want(t, 502, "e-mail: the server refused with 502 5.7.0", emails("ops@bank.example"))
		if got := s.got(); len(got) != 1 {
			t.Errorf("%s: %d letters came", mode, len(got))
		}
	}
}

func TestSMTPServerWithoutAuthenticationFails(t *testing.T) {
	certificate, roots := newCertificate(t)
	s := newServer(t, StartTLS, &certificate)
	o := s.smtp(StartTLS)
	o.User, o.Password = "mizan", secret.Text("CANARY-password")
	deliver(t, open(t, Options{SMTP: o, Roots: roots}), emails("ops@bank.example")).
		want(t, 0, "e-mail: the server offers no way to sign in that is known", emails("ops@bank.example"))
}

func TestEmailIsEncryptedOrNotSent(t *testing.T) {
	plainServer := newServer(t, Plain, nil)
	deliver(t, open(t, Options{SMTP: plainServer.smtp(StartTLS)}), emails("ops@bank.example")).
		want(t, 0, "e-mail: the server offers no STARTTLS", emails("ops@bank.example"))
	deliver(t, open(t, Options{SMTP: plainServer.smtp(TLS)}), emails("ops@bank.example")).
		want(t, 0, "e-mail: TLS: handshake failed", emails("ops@bank.example"))
	if len(plainServer.got()) != 0 {
		t.Error("it was sent in the open")
	}
	deliver(t, open(t, Options{SMTP: plainServer.smtp(Plain)}), emails("ops@bank.example")).want(t, 0, "", Contacts{})
}

func TestSMTPCertificateIsChecked(t *testing.T) {
	certificate, _ := newCertificate(t)
	for _, mode := range []TLSMode{StartTLS, TLS} {
		s := newServer(t, mode, &certificate)
		deliver(t, open(t, Options{SMTP: s.smtp(mode)}), emails("ops@bank.example")).
			want(t, 0, "e-mail: TLS: certificate not accepted", emails("ops@bank.example"))
		if len(s.got()) != 0 {
			t.Errorf("%s: it was sent to a server that is not trusted", mode)
		}
	}
}

func TestHangingSMTPServerTimesOut(t *testing.T) {
	certificate, roots := newCertificate(t)
	for _, at := range []string{"MAIL", "RCPT", "DATA"} {
		s := newServer(t, StartTLS, &certificate, func(s *server) { s.hangs[at] = true })
		c := open(t, Options{SMTP: s.smtp(StartTLS), Roots: roots}, bounds{connect: patience, answer: 10 * short})
		deliver(t, c, emails("ops@bank.example", "risk@bank.example")).
			wantLate(t, "e-mail: 2 of 2 not told: ", emails("ops@bank.example", "risk@bank.example"))
	}
	host, port := silentServer(t)
	o := SMTP{Host: host, Port: port, From: "mizan@bank.example"}
	deliver(t, open(t, Options{SMTP: o}, bounds{connect: patience, answer: short}), emails("ops@bank.example")).
		wantLate(t, "e-mail: ", emails("ops@bank.example"))
	o.TLS = TLS
	deliver(t, open(t, Options{SMTP: o}, bounds{connect: short, answer: patience}), emails("ops@bank.example")).
		want(t, 0, "e-mail: no connection in time", emails("ops@bank.example"))
	o.Host, o.Port = closedPort(t)
	deliver(t, open(t, Options{SMTP: o}), emails("ops@bank.example")).want(t, 0, "e-mail: not connected", emails("ops@bank.example"))
}

// A server may send an endless greeting.
func TestAnEndlessGreetingEnds(t *testing.T) {
	host, port := flood(t)
	o := SMTP{Host: host, Port: port, From: "mizan@bank.example", TLS: Plain}
	deliver(t, open(t, Options{SMTP: o}), emails("ops@bank.example")).want(t, 0, "e-mail: connection broken", emails("ops@bank.example"))
}
