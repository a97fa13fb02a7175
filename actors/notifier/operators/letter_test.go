package operators

import (
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
)

var letterOfTest = Email{Subject: "Квитанция: 12,50 $, Café", Text: "Спасибо за оплату.\n\nhttps://pay.example/pay/a/receipt?token=" + strings.Repeat("b", 200) + "\n"}

// A letter arrives as it was written: in plain text, in every script, with the configured sender, to one address.
func TestLetterArrivesAsWritten(t *testing.T) {
	certificate, roots := newCertificate(t)
	server := newSMTPServer(t, StartTLS, &certificate)
	channels := openChannels(t, Options{SMTP: server.options(StartTLS), Roots: roots})
	if !channels.SendsMail() {
		t.Error("no mail is sent")
	}
	channels.Mail(t.Context(), "payer@customer.example", letterOfTest).want(t, 0, "", Contacts{})
	letters := server.receivedLetters()
	if len(letters) != 1 || letters[0].to != "payer@customer.example" || letters[0].from != "mizan@bank.example" {
		t.Fatalf("%+v", letters)
	}
	parsed, err := mail.ReadMessage(strings.NewReader(letters[0].body))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	if err != nil || subject != letterOfTest.Subject {
		t.Errorf("the subject is %q (%v)", subject, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if text := strings.ReplaceAll(string(body), "\r\n", "\n"); err != nil || text != letterOfTest.Text {
		t.Errorf("the text is %q (%v)", text, err)
	}
	for header, want := range map[string]string{
		"To": "<payer@customer.example>", "From": `"Mizan" <mizan@bank.example>`, "Cc": "", "Bcc": "", "Auto-Submitted": "auto-generated",
		"Content-Type": "text/plain; charset=UTF-8",
	} {
		if value := parsed.Header.Get(header); value != want {
			t.Errorf("%s is %q, want %q", header, value, want)
		}
	}
}

// Neither an address nor a subject can add a header or a receiver.
func TestLetterTakesNoFurtherHeaders(t *testing.T) {
	server := newSMTPServer(t, Plain, nil)
	channels := openChannels(t, Options{SMTP: server.options(Plain)})
	const added = "\r\nBcc: other@customer.example"
	channels.Mail(t.Context(), "payer@customer.example"+added, letterOfTest).want(t, 0, "e-mail: "+invalidAddress, Contacts{})
	channels.Mail(t.Context(), "payer@customer.example", Email{Subject: "Receipt" + added, Text: "t"}).want(t, 0, "", Contacts{})
	letters := server.receivedLetters()
	if len(letters) != 1 || letters[0].to != "payer@customer.example" {
		t.Fatalf("%+v", letters)
	}
	parsed, err := mail.ReadMessage(strings.NewReader(letters[0].body))
	if err != nil || parsed.Header.Get("Bcc") != "" || parsed.Header.Get("To") != "<payer@customer.example>" {
		t.Errorf("%v: %+v", err, parsed.Header)
	}
}

// A refused letter is a failed attempt with the server's code, without the address and the server's words.
func TestRefusedLetterIsAFailedAttempt(t *testing.T) {
	server := newSMTPServer(t, Plain, nil, func(s *smtpServer) { s.refusals["full@customer.example"] = 452 })
	channels := openChannels(t, Options{SMTP: server.options(Plain)})
	channels.Mail(t.Context(), "full@customer.example", letterOfTest).want(t, 452, "e-mail: the server refused with 452 4.1.1", Contacts{})
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if a := channels.Mail(stopped, "payer@customer.example", letterOfTest); !strings.Contains(a.Failure, interrupted) {
		t.Errorf("after the stop: %+v", a)
	}
}

// An address with letters beyond ASCII is only sent to a server that has offered to take such addresses.
func TestAddressBeyondASCIINeedsSMTPUTF8(t *testing.T) {
	for _, address := range []string{"пётр@customer.example", "payer@почта.example"} {
		plain := newSMTPServer(t, Plain, nil)
		openChannels(t, Options{SMTP: plain.options(Plain)}).Mail(t.Context(), address, letterOfTest).want(t, 0, "e-mail: "+noUTF8, Contacts{})
		if letters := plain.receivedLetters(); len(letters) != 0 {
			t.Errorf("sent to %q, and the server offers no SMTPUTF8", letters[0].to)
		}
		international := newSMTPServer(t, Plain, nil, func(s *smtpServer) { s.hasUTF8 = true })
		openChannels(t, Options{SMTP: international.options(Plain)}).Mail(t.Context(), address, letterOfTest).want(t, 0, "", Contacts{})
		if letters := international.receivedLetters(); len(letters) != 1 || letters[0].to != address || !letters[0].isUTF8 {
			t.Errorf("to %q: %+v", address, letters)
		}
	}
	// One such address does not keep the e-mail from the other addresses.
	server := newSMTPServer(t, Plain, nil)
	deliver(t, openChannels(t, Options{SMTP: server.options(Plain)}), emails("ops@bank.example", "пётр@bank.example"))
	if letters := server.receivedLetters(); len(letters) != 1 || letters[0].to != "ops@bank.example" {
		t.Errorf("%+v", letters)
	}
}

func TestLetterNeedsAServer(t *testing.T) {
	channels := openChannels(t, Options{})
	if channels.SendsMail() {
		t.Error("mail is sent")
	}
	channels.Mail(t.Context(), "payer@customer.example", letterOfTest).want(t, 0, noServer, Contacts{})
}

// Letters to payers take no places of attempts to reach recipients.
func TestLettersAreBoundedApart(t *testing.T) {
	server := newSMTPServer(t, Plain, nil)
	channels := openChannels(t, Options{SMTP: server.options(Plain)})
	for range MaxMails {
		channels.mails <- struct{}{} // takes the place of an e-mail that hangs
	}
	deliver(t, channels, emails("ops@bank.example")).want(t, 0, "", Contacts{})
	stopped, stop := context.WithCancel(context.Background())
	stop()
	channels.Mail(stopped, "payer@customer.example", letterOfTest).want(t, 0, "e-mail: "+interrupted, Contacts{})
	if n := len(server.receivedLetters()); n != 1 {
		t.Errorf("%d letters came", n)
	}
}
