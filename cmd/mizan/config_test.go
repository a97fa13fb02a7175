package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// parse reads a command line as run does.
func parse(t *testing.T, args ...string) (*config, error) {
	t.Helper()
	var c struct {
		Serve serveCommand `cmd:""`
	}
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	return c.Serve.configuration()
}

func lines(err error) []string {
	var f *fault
	if !errors.As(err, &f) {
		return nil
	}
	return f.lines
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	cfg, err := parse(t, "--sandbox")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.dir != "./data" || cfg.listen != "127.0.0.1:8443" || cfg.tls != "auto" || cfg.manual || cfg.minFree != 512<<20 ||
		cfg.rateLimit != 0 || cfg.createWait != 10*time.Second || cfg.providerWait != 10*time.Second ||
		cfg.actionTTL != 30*time.Minute || !cfg.privateHooks || cfg.check || cfg.metricsAddress != "" {
		t.Errorf("defaults are %+v", cfg)
	}
}

func TestFlagBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	path := file(t, "mizan.json", `{"rate-limit": 1, "create_wait": "1s", "provider-timeout": "1s", "trusted-proxies": ["10.0.0.0/8", "192.0.2.1"]}`)
	t.Setenv("MIZAN_RATE_LIMIT", "2")
	t.Setenv("MIZAN_CREATE_WAIT", "2s")
	cfg, err := parse(t, "--sandbox", "--config", path, "--rate-limit", "3")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.rateLimit != 3 {
		t.Errorf("rate-limit is %d, want the flag's 3", cfg.rateLimit)
	}
	if cfg.createWait != 2*time.Second {
		t.Errorf("create-wait is %v, want the environment's 2s", cfg.createWait)
	}
	if cfg.providerWait != time.Second {
		t.Errorf("provider-timeout is %v, want the file's 1s", cfg.providerWait)
	}
	if cfg.actionTTL != 30*time.Minute {
		t.Errorf("action-ttl is %v, want the default 30m", cfg.actionTTL)
	}
	if len(cfg.proxies) != 2 || cfg.proxies[1].String() != "192.0.2.1/32" {
		t.Errorf("trusted-proxies are %v", cfg.proxies)
	}
}

func TestEnvironmentReachesEveryKey(t *testing.T) {
	for _, k := range keys(&serveCommand{}) {
		t.Run(k.name, func(t *testing.T) {
			variable := "MIZAN_" + strings.ToUpper(strings.ReplaceAll(k.name, "-", "_"))
			t.Setenv(variable, "mark")
			var c struct {
				Serve serveCommand `cmd:""`
			}
			parser, err := kong.New(&c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse([]string{"serve"}); err != nil {
				t.Fatal(err)
			}
			for _, got := range keys(&c.Serve) {
				if given := got.raw == "mark"; given != (got.name == k.name) {
					t.Errorf("%s set: %s is %q", variable, got.name, got.raw)
				}
			}
		})
	}
}

func TestToggleTakesAValue(t *testing.T) {
	for value, want := range map[string]bool{"--sandbox": true, "--sandbox=true": true, "--sandbox=1": true} {
		if cfg, err := parse(t, value); err != nil || cfg.sandbox != want {
			t.Errorf("%s: %+v, %v", value, cfg, err)
		}
	}
	cfg, err := parse(t, "--sandbox", "--allow-private-webhooks=false")
	if err != nil || cfg.privateHooks {
		t.Errorf("--allow-private-webhooks=false: %+v, %v", cfg, err)
	}
}

func TestEveryBadKeyIsReportedAtOnce(t *testing.T) {
	path := file(t, "mizan.json", `{"action-ttl": "never", "colour": "red", "data": null, "check": 1, "check": 1, "config": "x"}`)
	t.Setenv("MIZAN_CREATE_WAIT", "-1s")
	_, err := parse(t, "--config", path, "--tls", "maybe", "--listen", "8443", "--clock", "stopped", "--rate-limit=-1",
		"--min-free", "much", "--provider-timeout", "0", "--trusted-proxies", "10.0.0.0/99", "--sandbox=perhaps",
		"--log-level", "loud", "--metrics-listen", "x:99999", "--base-url", "https://a/b", "--keyring", "/nonexistent/keyring",
		"--admin-token-file", "/nonexistent/token", "--log-format", "")
	got := lines(err)
	for _, name := range []string{
		"action-ttl", "colour", "data", "check", "config", "create-wait", "tls", "listen", "clock", "rate-limit", "min-free",
		"provider-timeout", "trusted-proxies", "sandbox", "log-level", "metrics-listen", "base-url", "keyring",
		"admin-token-file", "log-format",
	} {
		prefix := "mizan: configuration: " + name + ": "
		if n := countFunc(got, func(line string) bool { return strings.HasPrefix(line, prefix) }); n != 1 {
			t.Errorf("%d lines for %s, want 1", n, name)
		}
	}
	if len(got) != 20 {
		t.Errorf("%d lines, want 20:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, line := range got {
		if strings.ContainsAny(line, "\n\r") {
			t.Errorf("%q is more than one line", line)
		}
	}
}

func TestDeliveriesAreKeptForADayAtLeastAndTenYearsAtMost(t *testing.T) {
	for said, want := range map[string]time.Duration{"24h": 24 * time.Hour, "86400": 24 * time.Hour, "87600h": 87600 * time.Hour} {
		if cfg, err := parse(t, "--sandbox", "--delivery-retention="+said); err != nil || cfg.retention != want {
			t.Errorf("%s: %+v, %v", said, cfg, err)
		}
	}
	for _, said := range []string{"23h59m59s", "86399", "87600h1s", "0", "-24h", "30d"} {
		_, err := parse(t, "--sandbox", "--delivery-retention="+said)
		want := `mizan: configuration: delivery-retention: "` + said + `" is not a duration such as 720h, at least 24h0m0s and up to 87600h0m0s`
		if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %v", said, got)
		}
	}
	_, err := parse(t, "--sandbox", "--action-ttl", "24h1s")
	want := `mizan: configuration: action-ttl: "24h1s" is not a duration such as 10s, above 0s and up to 24h0m0s`
	if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%v", got)
	}
}

func countFunc(list []string, fn func(string) bool) (n int) {
	for _, s := range list {
		if fn(s) {
			n++
		}
	}
	return n
}

func TestKeysAgainstEachOther(t *testing.T) {
	keyring := file(t, "keyring", "{}")
	tests := []struct {
		name string
		args []string
		want []string // beginnings of the lines after the prefix
	}{
		{"production needs a certificate and a keyring", nil, []string{"tls-cert: is required", "tls-key: is required", "keyring: is required"}},
		{"certificate without files", []string{"--sandbox", "--tls-cert", "x", "--tls-key", "y"}, []string{"tls-cert: only goes", "tls-key: only goes"}},
		{"certificate that is not there", []string{"--keyring", keyring, "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"}, []string{"tls-cert: open"}},
		{"plain HTTP for everybody", []string{"--sandbox", "--tls", "off", "--listen", "0.0.0.0:80"}, []string{"tls: off needs"}},
		{"plain HTTP for everybody, no host", []string{"--sandbox", "--tls", "off", "--listen", ":80"}, []string{"tls: off needs"}},
		{"plain HTTP on loopback", []string{"--sandbox", "--tls", "off", "--listen", "[::1]:80"}, nil},
		{"plain HTTP on all of 127/8", []string{"--sandbox", "--tls", "off", "--listen", "127.8.9.1:80"}, nil},
		{"plain HTTP behind a proxy", []string{"--sandbox", "--tls", "off", "--listen", ":80", "--trusted-proxies", "10.0.0.0/8"}, nil},
		{"manual clock in production", []string{"--tls", "off", "--keyring", keyring, "--clock", "manual"}, []string{"clock: manual needs"}},
		{"base URL without TLS", []string{"--sandbox", "--base-url", "http://a"}, []string{"base-url: has to be https"}},
		{"base URL without TLS, behind a proxy", []string{"--tls", "off", "--keyring", keyring, "--base-url", "http://a"}, []string{"base-url: has to be https"}},
		{"base URL of a sandbox without TLS", []string{"--sandbox", "--tls", "off", "--base-url", "http://a"}, nil},
		{"base URL with a user", []string{"--sandbox", "--base-url", "https://me@a"}, []string{"base-url: "}},
		{"base URL with a query", []string{"--sandbox", "--base-url", "https://a/?x"}, []string{"base-url: "}},
		{"base URL with a slash", []string{"--sandbox", "--base-url", "https://a:1/"}, nil},
		{"metrics on the same port", []string{"--sandbox", "--metrics-listen", "127.0.0.1:8443"}, []string{"metrics-listen: is the"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.args...)
			got := lines(err)
			if len(got) != len(tt.want) || (err != nil) != (len(tt.want) > 0) {
				t.Fatalf("lines %q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], "mizan: configuration: "+want) {
					t.Errorf("line %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestBytesAndDurations(t *testing.T) {
	for raw, want := range map[string]uint64{"0": 0, "1": 1, "2KiB": 2 << 10, "3MiB": 3 << 20, "4GiB": 4 << 30} {
		if cfg, err := parse(t, "--sandbox", "--min-free", raw); err != nil || cfg.minFree != want {
			t.Errorf("--min-free %s: %v", raw, err)
		}
	}
	for _, raw := range []string{"-1", "1.5MiB", "1MB", "9223372036854775807GiB", "MiB"} {
		if _, err := parse(t, "--sandbox", "--min-free="+raw); err == nil {
			t.Errorf("--min-free %s was taken", raw)
		}
	}
	for raw, want := range map[string]time.Duration{"7": 7 * time.Second, "90s": 90 * time.Second, "24h": 24 * time.Hour} {
		if cfg, err := parse(t, "--sandbox", "--create-wait", raw); err != nil || cfg.createWait != want {
			t.Errorf("--create-wait %s: %v", raw, err)
		}
	}
	for _, raw := range []string{"0", "0s", "-1s", "25h", "ten"} {
		if _, err := parse(t, "--sandbox", "--create-wait="+raw); err == nil {
			t.Errorf("--create-wait %s was taken", raw)
		}
	}
}

func TestAdminTokenFile(t *testing.T) {
	token := "mza_" + strings.Repeat("x", 40)
	cfg, err := parse(t, "--sandbox", "--admin-token-file", file(t, "token", token+"\n"))
	if err != nil || cfg.adminToken != token {
		t.Errorf("a token with a line end: %v", err)
	}
	for name, content := range map[string]string{
		"empty": "", "short": "hunter2", "two": token + " " + token, "binary": token + "\x00", "long": strings.Repeat("x", 600),
	} {
		_, err := parse(t, "--sandbox", "--admin-token-file", file(t, "token", content))
		if err == nil {
			t.Errorf("%s token was taken", name)
		} else if content != "" && strings.Contains(err.Error(), content) {
			t.Errorf("the %s token is part of the message", name)
		}
	}
}

func TestConfigFileIsOneFlatObject(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "a list": "[]", "cut off": `{"data": "x"`, "two objects": "{}{}", "not JSON": "data: x",
		"cut off behind bad keys": `{"data": null, "colour": 1, "check": 1, "check": 1`,
	} {
		wantConfigLine(t, name, file(t, "mizan.json", content))
	}
	wantConfigLine(t, "a directory", t.TempDir())
	wantConfigLine(t, "nothing", filepath.Join(t.TempDir(), "two\nlines"))
	wantConfigLine(t, "no name", "")
	if _, err := parse(t, "--sandbox", "--config", file(t, "mizan.json", " {} \n")); err != nil {
		t.Errorf("an empty object: %v", err)
	}
}

// wantConfigLine wants one line, also where the file could have said what is
// required: with and without --sandbox. What a flag says wrong is still told.
func wantConfigLine(t *testing.T, name, path string) {
	t.Helper()
	const mark = "mizan: configuration: config: "
	for _, flags := range [][]string{{"--sandbox"}, {"--clock", "manual"}, {"--tls", "off", "--listen", ":1"}} {
		_, err := parse(t, append(flags, "--config", path)...)
		if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], mark) || strings.ContainsAny(got[0], "\n\r") {
			t.Errorf("%s: %q, want one line about config", name, got)
		}
	}
	_, err := parse(t, "--rate-limit", "many", "--config", path)
	if got := lines(err); len(got) != 2 || countFunc(got, func(line string) bool { return strings.HasPrefix(line, "mizan: configuration: rate-limit: ") }) != 1 {
		t.Errorf("%s: %q, want a line about config and one about rate-limit", name, got)
	}
}

// TestABadKeyHasOneLine is about keys that are wrong in two ways, and about
// others that look wrong only because of it.
func TestABadKeyHasOneLine(t *testing.T) {
	keyring := file(t, "keyring", "{}")
	for name, c := range map[string]struct {
		content string
		args    []string
		want    []string // the keys
	}{
		"bad and twice":       {`{"check": null, "check": null, "check": 1}`, []string{"--sandbox"}, []string{"check"}},
		"bad, and required":   {`{"keyring": null, "tls_cert": {}, "tls_key": null}`, nil, []string{"keyring", "tls-cert", "tls-key"}},
		"sandbox":             {`{"sandbox": "perhaps", "clock": "manual"}`, nil, []string{"sandbox"}},
		"two networks":        {`{"trusted-proxies": ["a", "b"], "tls": "off", "listen": ":80"}`, []string{"--sandbox"}, []string{"trusted-proxies"}},
		"a key of two lines":  {`{"a\nb": 1}`, []string{"--sandbox"}, []string{"a; b"}},
		"a path of two lines": {`{"keyring": "/nonexistent/a\nb"}`, []string{"--sandbox"}, []string{"keyring"}},
		"no TLS is known":     {`{"tls": "maybe", "base-url": "http://a"}`, []string{"--keyring", keyring}, []string{"tls"}},
	} {
		_, err := parse(t, append(c.args, "--config", file(t, "mizan.json", c.content))...)
		got := lines(err)
		for i, line := range got {
			if len(got) != len(c.want) || !strings.HasPrefix(line, "mizan: configuration: "+c.want[i]+": ") || strings.ContainsAny(line, "\n\r") {
				t.Errorf("%s: %q, want a line each for %q", name, got, c.want)
				break
			}
		}
		if len(got) == 0 {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}

func operationsPage(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestEveryKeyIsDocumented wants a row of the table in docs/operations.md for
// each key, with its variable and its default.
func TestEveryKeyIsDocumented(t *testing.T) {
	var rows []string
	for line := range strings.Lines(operationsPage(t)) {
		if strings.HasPrefix(line, "| `--") {
			rows = append(rows, line)
		}
	}
	list := keys(&serveCommand{})
	if len(rows) != len(list) {
		t.Errorf("%d rows for %d keys", len(rows), len(list))
	}
	for _, k := range list {
		want := []string{"`MIZAN_" + strings.ToUpper(strings.ReplaceAll(k.name, "-", "_")) + "`"}
		if k.standard != "" {
			want = append(want, "`"+k.standard+"`")
		}
		documented := slices.ContainsFunc(rows, func(row string) bool {
			named := strings.HasPrefix(row, "| `--"+k.name+"`") || strings.HasPrefix(row, "| `--"+k.name+" ")
			return named && !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(row, w) })
		})
		if !documented {
			t.Errorf("docs/operations.md has no row for --%s with %q", k.name, want)
		}
	}
}

// A payer's link holds a token: it is never of plain HTTP outside the sandbox.
func TestLinksOutsideTheSandboxAreHTTPS(t *testing.T) {
	for _, c := range []struct {
		cfg           config
		address, want string
	}{
		{config{sandbox: true}, "http://127.0.0.1:80", "http://127.0.0.1:80"},
		{config{sandbox: true}, "https://127.0.0.1:80", "https://127.0.0.1:80"},
		{config{}, "http://127.0.0.1:80", "https://127.0.0.1:80"},
		{config{}, "https://localhost:80", "https://localhost:80"},
		{config{baseURL: "https://pay.bank.example"}, "http://127.0.0.1:80", "https://pay.bank.example"},
		{config{sandbox: true, baseURL: "http://a"}, "http://127.0.0.1:80", "http://a"},
	} {
		if got := publicURL(&c.cfg, c.address); got != c.want {
			t.Errorf("%+v at %s: %s, want %s", c.cfg, c.address, got, c.want)
		}
	}
}
