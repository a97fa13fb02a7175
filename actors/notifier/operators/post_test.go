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
		server := newSMTPServer(t, mode, &certificate)
		channels := openChannels(t, Options{SMTP: server.options(mode), Roots: roots})
		deliver(t, channels, emails("ops@bank.example", "risk@bank.example")).want(t, 0, "", Contacts{})
		letters := server.receivedLetters()
		if len(letters) != 2 || server.sessions != 2 && mode == StartTLS || letters[0].to != "ops@bank.example" || letters[1].to != "risk@bank.example" || letters[0].from != "mizan@bank.example" {
			t.Fatalf("%s: %+v in %d sessions", mode, letters, server.sessions)
		}
		for _, letter := range letters {
			parsed, err := mail.ReadMessage(strings.NewReader(letter.body))
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
				"Subject": message.Subject, "To": "<" + letter.to + ">", "From": `"Mizan" <mizan@bank.example>`, "Cc": "", "Bcc": "",
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
	server := newSMTPServer(t, StartTLS, &certificate, func(s *smtpServer) {
		s.refusals["gone@bank.example"], s.refusals["full@bank.example"] = 550, 452
	})
	channels := openChannels(t, Options{SMTP: server.options(""), Roots: roots})
	attempt := deliver(t, channels, emails("gone@bank.example", "ops@bank.example", "full@bank.example", "risk@bank.example"))
	attempt.want(t, 550, "e-mail: 2 of 4 not told: the server refused with 550 5.1.1", emails("gone@bank.example", "full@bank.example"))
	var reached []string
	for _, letter := range server.receivedLetters() {
		reached = append(reached, letter.to)
	}
	if !slices.Equal(reached, []string{"ops@bank.example", "risk@bank.example"}) {
		t.Errorf("reached were %v", reached)
	}
	delete(server.refusals, "full@bank.example")
	deliver(t, channels, attempt.Unreached).want(t, 550, "e-mail: 1 of 2 not told: the server refused with 550 5.1.1", emails("gone@bank.example"))
	if letters := server.receivedLetters(); len(letters) != 3 || letters[2].to != "full@bank.example" {
		t.Errorf("reached were %v", letters)
	}
}

func TestOnlyValidSMTPCredentialsDeliver(t *testing.T) {
	certificate, roots := newCertificate(t)
	for _, mode := range []TLSMode{StartTLS, TLS} {
		server := newSMTPServer(t, mode, &certificate, func(s *smtpServer) { s.user = "mizan" })
		smtpOptions := server.options(mode)
		smtpOptions.User, smtpOptions.Password = "mizan", secret.Text("CANARY-password")
		deliver(t, openChannels(t, Options{SMTP: smtpOptions, Roots: roots}), emails("ops@bank.example")).want(t, 0, "", Contacts{})
		smtpOptions.Password = "CANARY-wrong"
		deliver(t, openChannels(t, Options{SMTP: smtpOptions, Roots: roots}), emails("ops@bank.example")).
			want(t, 535, "e-mail: the server refused with 535", emails("ops@bank.example"))
		smtpOptions.User = ""
		deliver(t, openChannels(t, Options{SMTP: smtpOptions, Roots: roots}), emails("ops@bank.example")).
			want(t, 502, "e-mail: the server refused with 502 5.7.0", emails("ops@bank.example"))
		if got := server.receivedLetters(); len(got) != 1 {
			t.Errorf("%s: %d letters came", mode, len(got))
		}
	}
}

func TestSMTPServerWithoutAuthenticationFails(t *testing.T) {
	certificate, roots := newCertificate(t)
	s := newSMTPServer(t, StartTLS, &certificate)
	o := s.options(StartTLS)
	o.User, o.Password = "mizan", secret.Text("CANARY-password")
	deliver(t, openChannels(t, Options{SMTP: o, Roots: roots}), emails("ops@bank.example")).
		want(t, 0, "e-mail: the server offers no way to sign in that is known", emails("ops@bank.example"))
}

func TestEmailIsEncryptedOrNotSent(t *testing.T) {
	plainServer := newSMTPServer(t, Plain, nil)
	deliver(t, openChannels(t, Options{SMTP: plainServer.options(StartTLS)}), emails("ops@bank.example")).
		want(t, 0, "e-mail: the server offers no STARTTLS", emails("ops@bank.example"))
	deliver(t, openChannels(t, Options{SMTP: plainServer.options(TLS)}), emails("ops@bank.example")).
		want(t, 0, "e-mail: TLS: handshake failed", emails("ops@bank.example"))
	if len(plainServer.receivedLetters()) != 0 {
		t.Error("it was sent in the open")
	}
	deliver(t, openChannels(t, Options{SMTP: plainServer.options(Plain)}), emails("ops@bank.example")).want(t, 0, "", Contacts{})
}

func TestSMTPCertificateIsChecked(t *testing.T) {
	certificate, _ := newCertificate(t)
	for _, mode := range []TLSMode{StartTLS, TLS} {
		s := newSMTPServer(t, mode, &certificate)
		deliver(t, openChannels(t, Options{SMTP: s.options(mode)}), emails("ops@bank.example")).
			want(t, 0, "e-mail: TLS: certificate not accepted", emails("ops@bank.example"))
		if len(s.receivedLetters()) != 0 {
			t.Errorf("%s: it was sent to a server that is not trusted", mode)
		}
	}
}

func TestHangingSMTPServerTimesOut(t *testing.T) {
	certificate, roots := newCertificate(t)
	for _, command := range []string{"MAIL", "RCPT", "DATA"} {
		s := newSMTPServer(t, StartTLS, &certificate, func(s *smtpServer) { s.hangsAt[command] = true })
		c := openChannels(t, Options{SMTP: s.options(StartTLS), Roots: roots}, bounds{connect: patience, attempt: 10 * shortBound})
		deliver(t, c, emails("ops@bank.example", "risk@bank.example")).
			wantTimedOut(t, "e-mail: 2 of 2 not told: ", emails("ops@bank.example", "risk@bank.example"))
	}
	host, port := startSilentServer(t)
	smtpOptions := SMTP{Host: host, Port: port, From: "mizan@bank.example"}
	deliver(t, openChannels(t, Options{SMTP: smtpOptions}, bounds{connect: patience, attempt: shortBound}), emails("ops@bank.example")).
		wantTimedOut(t, "e-mail: ", emails("ops@bank.example"))
	smtpOptions.TLS = TLS
	deliver(t, openChannels(t, Options{SMTP: smtpOptions}, bounds{connect: shortBound, attempt: patience}), emails("ops@bank.example")).
		want(t, 0, "e-mail: no connection in time", emails("ops@bank.example"))
	smtpOptions.Host, smtpOptions.Port = unusedAddress(t)
	deliver(t, openChannels(t, Options{SMTP: smtpOptions}), emails("ops@bank.example")).want(t, 0, "e-mail: not connected", emails("ops@bank.example"))
}

func TestEndlessGreetingFails(t *testing.T) {
	host, port := startEndlessGreeting(t)
	o := SMTP{Host: host, Port: port, From: "mizan@bank.example", TLS: Plain}
	deliver(t, openChannels(t, Options{SMTP: o}), emails("ops@bank.example")).want(t, 0, "e-mail: connection broken", emails("ops@bank.example"))
}
