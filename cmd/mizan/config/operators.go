package config

import (
	"net"
	"net/mail"
	"regexp"
	"strconv"
	"strings"

	"mizan/actors/notifier/operators"
	"mizan/cmd/mizan/cli"
	"mizan/internal/secret"
)

// maxSecret is the maximum size in bytes of a file with a token or a password.
const maxSecret = 1024

// botTokenPattern matches a token for Telegram's Bot API. Tokens are checked because they become part of URLs.
var botTokenPattern = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`)

// operators reads the settings for messages to operators, which are sent by Telegram and by e-mail. Both channels are optional.
func (r *reader) operators(sandbox bool) operators.Options {
	o := operators.Options{TelegramURL: r.telegramURL(), TelegramToken: r.secret("telegram-token-file")}
	switch isGiven := r.settings["telegram-token-file"].IsSet; {
	case isGiven && o.TelegramToken != "" && !botTokenPattern.MatchString(string(o.TelegramToken)):
		r.reportBad("telegram-token-file", "%s does not hold a bot's token", r.text("telegram-token-file"))
	case !isGiven && r.settings["telegram-url"].IsSet && !r.fileUnreadable:
		r.reportBad("telegram-url", "only goes with --telegram-token-file")
	}
	o.SMTP = r.smtp(sandbox)
	return o
}

func (r *reader) telegramURL() string {
	address := r.origin("telegram-url")
	if host, isPlain := strings.CutPrefix(address, "http://"); isPlain && !IsLoopback(addMissingPort(host)) {
		r.reportBad("telegram-url", "has to be https unless it is on this machine: the token is part of each request")
		return ""
	}
	return address
}

// addMissingPort adds port 80 to a host that has no port.
func addMissingPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80")
}

// smtp reads the settings for e-mail and checks that they are compatible.
func (r *reader) smtp(sandbox bool) operators.SMTP {
	host, port := r.smtpAddress()
	smtp := operators.SMTP{
		Host: host, Port: port, From: r.sender("smtp-from"), User: r.text("smtp-user"), Password: r.secret("smtp-pass-file"),
		TLS: operators.TLSMode(r.oneOf("smtp-tls", "", string(operators.StartTLS), string(operators.TLS), string(operators.Plain))),
	}
	if r.fileUnreadable {
		return smtp
	}
	if !r.settings["smtp-address"].IsSet {
		for _, name := range []string{"smtp-from", "smtp-user", "smtp-pass-file", "smtp-tls"} {
			if r.settings[name].IsSet {
				r.reportBad(name, "only goes with --smtp-address")
			}
		}
		return operators.SMTP{}
	}
	if !r.settings["smtp-from"].IsSet {
		r.reportBad("smtp-from", "is required with --smtp-address")
	}
	switch user, pass := r.settings["smtp-user"].IsSet, r.settings["smtp-pass-file"].IsSet; {
	case user && !pass:
		r.reportBad("smtp-pass-file", "is required with --smtp-user")
	case pass && !user:
		r.reportBad("smtp-user", "is required with --smtp-pass-file")
	case user && smtp.TLS == operators.Plain:
		r.reportBad("smtp-tls", "off does not go with --smtp-user: the password would be sent in the open")
	}
	if smtp.TLS == operators.Plain && host != "" && !sandbox && !r.reported["sandbox"] && !IsLoopback(net.JoinHostPort(host, strconv.Itoa(port))) {
		r.reportBad("smtp-tls", "off needs a loopback --smtp-address, or --sandbox")
	}
	return smtp
}

func (r *reader) smtpAddress() (host string, port int) {
	raw := r.address("smtp-address")
	if raw == "" {
		return "", 0
	}
	host, digits, _ := net.SplitHostPort(raw) // r.address has checked that raw is HOST:PORT
	port, _ = strconv.Atoi(digits)
	if host == "" || port == 0 {
		r.reportBad("smtp-address", "%q has no host, or its port is no number from 1 to 65535", raw)
		return "", 0
	}
	return host, port
}

// sender reads the sender of e-mail: an address, or a name and an address.
func (r *reader) sender(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	if _, err := mail.ParseAddress(raw); err != nil {
		r.reportBad(name, "%q is not an e-mail address", raw)
		return ""
	}
	return raw
}

// secret reads a file that contains a secret in one line. No error message contains the secret.
func (r *reader) secret(name string) secret.Text {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	content, err := cli.ReadFile(raw, maxSecret)
	if err != nil {
		r.reportBad(name, "%v", err)
		return ""
	}
	line := strings.TrimRight(string(content), "\r\n")
	if line == "" || strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		r.reportBad(name, "%s has to hold one line", raw)
		return ""
	}
	return secret.Text(line)
}
