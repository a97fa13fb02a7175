package config

import (
	"fmt"
	"strings"
	"testing"

	"mizan/actors/notifier/operators"
	"mizan/internal/testkit"
)

func TestOperatorChannelsAreParsed(t *testing.T) {
	token := testkit.WriteFile(t, "token", "123456:AbC-d_e\n")
	pass := testkit.WriteFile(t, "pass", "a pass word\r\n")
	cfg, err := parse(t, "--sandbox", "--telegram-token-file", token, "--telegram-url", "http://127.0.0.1:8081/",
		"--smtp-address", "mail.bank.example:587", "--smtp-from", "Mizan <mizan@bank.example>", "--smtp-user", "mizan", "--smtp-pass-file", pass)
	if err != nil {
		t.Fatal(err)
	}
	want := operators.Options{
		TelegramURL: "http://127.0.0.1:8081", TelegramToken: "123456:AbC-d_e",
		SMTP: operators.SMTP{Host: "mail.bank.example", Port: 587, From: "Mizan <mizan@bank.example>", User: "mizan", Password: "a pass word", TLS: operators.StartTLS},
	}
	if cfg.Operators != want {
		t.Errorf("%+v %q %q", cfg.Operators, string(cfg.Operators.TelegramToken), string(cfg.Operators.SMTP.Password))
	}
	if shown := fmt.Sprintf("%+v", cfg.Operators); strings.Contains(shown, "AbC") || strings.Contains(shown, "pass word") {
		t.Errorf("the configuration shows %s", shown)
	}
	cfg, err = parse(t, "--sandbox")
	if err != nil || cfg.Operators != (operators.Options{TelegramURL: operators.DefaultTelegramURL}) {
		t.Errorf("a channel is configured by default: %+v, %v", cfg.Operators, err)
	}
}

func TestContradictoryOperatorKeysAreRefused(t *testing.T) {
	keyring := testkit.WriteFile(t, "keyring", "{}")
	token, pass := testkit.WriteFile(t, "token", "1:x"), testkit.WriteFile(t, "pass", "p")
	mailArgs := func(extraArgs ...string) []string {
		return append([]string{"--smtp-address", "mail.bank.example:25", "--smtp-from", "mizan@bank.example"}, extraArgs...)
	}
	for name, c := range map[string]struct {
		args []string
		want []string // the beginnings of the expected error lines
	}{
		"no keys of channels":                           {nil, nil},
		"all keys of e-mail":                            {mailArgs("--smtp-user", "u", "--smtp-pass-file", pass, "--smtp-tls", "tls"), nil},
		"a Telegram URL without a token":                {[]string{"--telegram-url", "https://telegram.example"}, []string{"telegram-url: only goes with"}},
		"plain HTTP to another host":                    {[]string{"--telegram-token-file", token, "--telegram-url", "http://telegram.example"}, []string{"telegram-url: has to be https"}},
		"plain HTTP to a loopback address":              {[]string{"--telegram-token-file", token, "--telegram-url", "http://[::1]"}, nil},
		"plain HTTP to localhost":                       {[]string{"--telegram-token-file", token, "--telegram-url", "http://localhost:8081"}, nil},
		"a Telegram URL with a password":                {[]string{"--telegram-token-file", token, "--telegram-url", "https://u:CANARY@telegram.example"}, []string{"telegram-url: has to be a scheme and a host only"}},
		"a Telegram URL with a password and no host":    {[]string{"--telegram-token-file", token, "--telegram-url", "https://u:CANARY@"}, []string{"telegram-url: is not an https:// address"}},
		"a Telegram URL without a scheme":               {[]string{"--telegram-token-file", token, "--telegram-url", "u:CANARY@telegram.example"}, []string{"telegram-url: is not an https:// address"}},
		"a Telegram URL with a path":                    {[]string{"--telegram-token-file", token, "--telegram-url", "https://telegram.example/x"}, []string{"telegram-url: "}},
		"a malformed token":                             {[]string{"--telegram-token-file", testkit.WriteFile(t, "token", "1:CANARY/../x")}, []string{"telegram-token-file: "}},
		"an empty token":                                {[]string{"--telegram-token-file", testkit.WriteFile(t, "token", "\n")}, []string{"telegram-token-file: "}},
		"a token of two lines":                          {[]string{"--telegram-token-file", testkit.WriteFile(t, "token", "1:CANARY\n1:x")}, []string{"telegram-token-file: "}},
		"a missing token file":                          {[]string{"--telegram-token-file", "/nonexistent"}, []string{"telegram-token-file: open"}},
		"a password that is too long":                   {mailArgs("--smtp-user", "u", "--smtp-pass-file", testkit.WriteFile(t, "pass", strings.Repeat("CANARY", 1000))), []string{"smtp-pass-file: "}},
		"e-mail without a server":                       {[]string{"--smtp-from", "a@b.example", "--smtp-user", "u", "--smtp-pass-file", pass, "--smtp-tls", "tls"}, []string{"smtp-from: only", "smtp-user: only", "smtp-pass-file: only", "smtp-tls: only"}},
		"e-mail without a sender":                       {[]string{"--smtp-address", "mail.bank.example:25"}, []string{"smtp-from: is required"}},
		"a malformed sender":                            {[]string{"--smtp-address", "mail.bank.example:25", "--smtp-from", "mizan"}, []string{"smtp-from: "}},
		"a server without a port":                       {[]string{"--smtp-address", "mail.bank.example", "--smtp-from", "a@b.example"}, []string{"smtp-address: "}},
		"a server with port zero":                       {[]string{"--smtp-address", "mail.bank.example:0", "--smtp-from", "a@b.example"}, []string{"smtp-address: "}},
		"a server with a port too high":                 {[]string{"--smtp-address", "mail.bank.example:65536", "--smtp-from", "a@b.example"}, []string{`smtp-address: the port of "mail.bank.example:65536" is no number from 0 to 65535`}},
		"a server without a host":                       {[]string{"--smtp-address", ":25", "--smtp-from", "a@b.example"}, []string{"smtp-address: "}},
		"a user without a password":                     {mailArgs("--smtp-user", "u"), []string{"smtp-pass-file: is required"}},
		"a password without a user":                     {mailArgs("--smtp-pass-file", pass), []string{"smtp-user: is required"}},
		"an unknown value of smtp-tls":                  {mailArgs("--smtp-tls", "ssl"), []string{"smtp-tls: "}},
		"e-mail without TLS":                            {mailArgs("--smtp-tls", "off"), []string{"smtp-tls: off needs a loopback"}},
		"e-mail without TLS to a loopback address":      {[]string{"--smtp-address", "127.0.0.1:25", "--smtp-from", "a@b.example", "--smtp-tls", "off"}, nil},
		"e-mail without TLS in a sandbox":               {append([]string{"--sandbox"}, mailArgs("--smtp-tls", "off")...), nil},
		"e-mail without TLS and with a password":        {[]string{"--smtp-address", "[::1]:25", "--smtp-from", "a@b.example", "--smtp-tls", "off", "--smtp-user", "u", "--smtp-pass-file", pass}, []string{"smtp-tls: off does not go"}},
		"e-mail without TLS and a bad value of sandbox": {append([]string{"--sandbox=perhaps"}, mailArgs("--smtp-tls", "off")...), []string{"sandbox: "}},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if len(args) == 0 || !strings.HasPrefix(args[0], "--sandbox") {
				args = append([]string{"--tls", "off", "--keyring", keyring}, args...)
			}
			_, err := parse(t, args...)
			got := lines(err)
			if len(got) != len(c.want) || (err != nil) != (len(c.want) > 0) {
				t.Fatalf("lines %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], "mizan: configuration: "+want) || strings.Contains(got[i], "CANARY") {
					t.Errorf("line %q, want %q", got[i], want)
				}
			}
		})
	}
}
