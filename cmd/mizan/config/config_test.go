package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"mizan/api/accesslog"
	"mizan/cmd/mizan/cli"
	"mizan/internal/testkit"
)

// parse reads flags as the command `mizan serve` does.
func parse(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var commandLine struct {
		Serve Flags `cmd:""`
	}
	parser, err := kong.New(&commandLine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	return commandLine.Serve.Read()
}

func lines(err error) []string {
	var fault *cli.Fault
	if !errors.As(err, &fault) {
		return nil
	}
	return fault.Lines
}

func TestAbsentKeysHaveTheirDefaults(t *testing.T) {
	cfg, err := parse(t, "--sandbox")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Dir != "./data" || cfg.Listen != "127.0.0.1:8443" || cfg.TLS != "auto" || cfg.ManualClock || cfg.MinFree != 512<<20 ||
		cfg.RateLimit != 0 || cfg.CreateWait != 10*time.Second || cfg.ProviderWait != 10*time.Second ||
		cfg.ActionTTL != 30*time.Minute || !cfg.PrivateHooks || cfg.Check || cfg.MetricsAddress != "" {
		t.Errorf("defaults are %+v", cfg)
	}
}

func TestFlagBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	path := testkit.WriteFile(t, "mizan.json", `{"rate-limit": 1, "create_wait": "1s", "provider-timeout": "1s", "trusted-proxies": ["10.0.0.0/8", "192.0.2.1"]}`)
	t.Setenv("MIZAN_RATE_LIMIT", "2")
	t.Setenv("MIZAN_CREATE_WAIT", "2s")
	cfg, err := parse(t, "--sandbox", "--config", path, "--rate-limit", "3")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.RateLimit != 3 {
		t.Errorf("rate-limit is %d, want the flag's 3", cfg.RateLimit)
	}
	if cfg.CreateWait != 2*time.Second {
		t.Errorf("create-wait is %v, want the environment's 2s", cfg.CreateWait)
	}
	if cfg.ProviderWait != time.Second {
		t.Errorf("provider-timeout is %v, want the file's 1s", cfg.ProviderWait)
	}
	if cfg.ActionTTL != 30*time.Minute {
		t.Errorf("action-ttl is %v, want the default 30m", cfg.ActionTTL)
	}
	if len(cfg.Proxies) != 2 || cfg.Proxies[1].String() != "192.0.2.1/32" {
		t.Errorf("trusted-proxies are %v", cfg.Proxies)
	}
}

func TestEveryKeyCanBeSetByEnvironment(t *testing.T) {
	for _, key := range Keys(&Flags{}) {
		t.Run(key.Name, func(t *testing.T) {
			variable := "MIZAN_" + strings.ToUpper(strings.ReplaceAll(key.Name, "-", "_"))
			t.Setenv(variable, "mark")
			var commandLine struct {
				Serve Flags `cmd:""`
			}
			parser, err := kong.New(&commandLine)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse([]string{"serve"}); err != nil {
				t.Fatal(err)
			}
			for _, got := range Keys(&commandLine.Serve) {
				if isSet := got.Raw == "mark"; isSet != (got.Name == key.Name) {
					t.Errorf("%s set: %s is %q", variable, got.Name, got.Raw)
				}
			}
		})
	}
}

func TestToggleTakesAValue(t *testing.T) {
	for value, want := range map[string]bool{"--sandbox": true, "--sandbox=true": true, "--sandbox=1": true} {
		if cfg, err := parse(t, value); err != nil || cfg.Sandbox != want {
			t.Errorf("%s: %+v, %v", value, cfg, err)
		}
	}
	cfg, err := parse(t, "--sandbox", "--allow-private-webhooks=false")
	if err != nil || cfg.PrivateHooks {
		t.Errorf("--allow-private-webhooks=false: %+v, %v", cfg, err)
	}
}

func TestAccessLogDependsOnTheSandbox(t *testing.T) {
	keyring := testkit.WriteFile(t, "keyring", "{}")
	production := []string{"--tls", "off", "--keyring", keyring}
	for _, c := range []struct {
		args []string
		want accesslog.Mode
	}{
		{[]string{"--sandbox"}, accesslog.All},
		{production, accesslog.Errors},
		{[]string{"--sandbox", "--access-log", "errors"}, accesslog.Errors},
		{append([]string{"--access-log", "all"}, production...), accesslog.All},
		{append([]string{"--access-log", "off"}, production...), accesslog.Off},
	} {
		if cfg, err := parse(t, c.args...); err != nil || cfg.AccessLog != c.want {
			t.Errorf("%v: %+v, %v; want %v", c.args, cfg, err, c.want)
		}
	}
	_, err := parse(t, "--sandbox", "--access-log", "some")
	if got := lines(err); len(got) != 1 || got[0] != `mizan: configuration: access-log: "some" is not one of all, errors, off` {
		t.Errorf("lines %q", got)
	}
}

func TestProfilesNeedTheMetricsAddress(t *testing.T) {
	if cfg, err := parse(t, "--sandbox", "--metrics-listen", "127.0.0.1:0", "--pprof"); err != nil || !cfg.Profiles {
		t.Errorf("%+v, %v", cfg, err)
	}
	_, err := parse(t, "--sandbox", "--pprof")
	if got := lines(err); len(got) != 1 || got[0] != "mizan: configuration: pprof: only goes with --metrics-listen" {
		t.Errorf("lines %q", got)
	}
}

func TestEveryBadKeyIsReportedAtOnce(t *testing.T) {
	path := testkit.WriteFile(t, "mizan.json", `{"action-ttl": "never", "colour": "red", "data": null, "check": 1, "check": 1, "config": "x"}`)
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
	for value, want := range map[string]time.Duration{"24h": 24 * time.Hour, "86400": 24 * time.Hour, "87600h": 87600 * time.Hour} {
		if cfg, err := parse(t, "--sandbox", "--delivery-retention="+value); err != nil || cfg.DeliveryRetention != want {
			t.Errorf("%s: %+v, %v", value, cfg, err)
		}
	}
	for _, value := range []string{"23h59m59s", "86399", "87600h1s", "0", "-24h", "30d"} {
		_, err := parse(t, "--sandbox", "--delivery-retention="+value)
		want := `mizan: configuration: delivery-retention: "` + value + `" is not a duration such as 720h, at least 24h0m0s and up to 87600h0m0s`
		if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %v", value, got)
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

func TestContradictoryConfigKeysAreRefused(t *testing.T) {
	keyring := testkit.WriteFile(t, "keyring", "{}")
	tests := []struct {
		name string
		args []string
		want []string // the beginnings of the expected error lines
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

func TestBytesAndDurationsAreParsed(t *testing.T) {
	for raw, want := range map[string]uint64{"0": 0, "1": 1, "2KiB": 2 << 10, "3MiB": 3 << 20, "4GiB": 4 << 30} {
		if cfg, err := parse(t, "--sandbox", "--min-free", raw); err != nil || cfg.MinFree != want {
			t.Errorf("--min-free %s: %v", raw, err)
		}
	}
	for _, raw := range []string{"-1", "1.5MiB", "1MB", "9223372036854775807GiB", "MiB"} {
		if _, err := parse(t, "--sandbox", "--min-free="+raw); err == nil {
			t.Errorf("--min-free %s was taken", raw)
		}
	}
	for raw, want := range map[string]time.Duration{"7": 7 * time.Second, "90s": 90 * time.Second, "24h": 24 * time.Hour} {
		if cfg, err := parse(t, "--sandbox", "--create-wait", raw); err != nil || cfg.CreateWait != want {
			t.Errorf("--create-wait %s: %v", raw, err)
		}
	}
	for _, raw := range []string{"0", "0s", "-1s", "25h", "ten"} {
		if _, err := parse(t, "--sandbox", "--create-wait="+raw); err == nil {
			t.Errorf("--create-wait %s was taken", raw)
		}
	}
}

func TestAdminTokenFileHoldsOneToken(t *testing.T) {
	token := "mza_" + strings.Repeat("x", 40)
	cfg, err := parse(t, "--sandbox", "--admin-token-file", testkit.WriteFile(t, "token", token+"\n"))
	if err != nil || cfg.AdminToken != token {
		t.Errorf("a token with a line end: %v", err)
	}
	for name, content := range map[string]string{
		"empty": "", "short": "hunter2", "two": token + " " + token, "binary": token + "\x00", "long": strings.Repeat("x", 600),
	} {
		_, err := parse(t, "--sandbox", "--admin-token-file", testkit.WriteFile(t, "token", content))
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
		wantConfigLine(t, name, testkit.WriteFile(t, "mizan.json", content))
	}
	wantConfigLine(t, "a directory", t.TempDir())
	wantConfigLine(t, "nothing", filepath.Join(t.TempDir(), "two\nlines"))
	wantConfigLine(t, "no name", "")
	if _, err := parse(t, "--sandbox", "--config", testkit.WriteFile(t, "mizan.json", " {} \n")); err != nil {
		t.Errorf("an empty object: %v", err)
	}
}

// wantConfigLine checks that a bad configuration file is reported in one line, with and without --sandbox. No
// required key is reported as missing, because the file might have set it. A bad flag is still reported.
func wantConfigLine(t *testing.T, name, path string) {
	t.Helper()
	const prefix = "mizan: configuration: config: "
	for _, flags := range [][]string{{"--sandbox"}, {"--clock", "manual"}, {"--tls", "off", "--listen", ":1"}} {
		_, err := parse(t, append(flags, "--config", path)...)
		if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], prefix) || strings.ContainsAny(got[0], "\n\r") {
			t.Errorf("%s: %q, want one line about config", name, got)
		}
	}
	_, err := parse(t, "--rate-limit", "many", "--config", path)
	if got := lines(err); len(got) != 2 || countFunc(got, func(line string) bool { return strings.HasPrefix(line, "mizan: configuration: rate-limit: ") }) != 1 {
		t.Errorf("%s: %q, want a line about config and one about rate-limit", name, got)
	}
}

// TestBadConfigKeyIsReportedOnce tests keys with two faults, and keys that only seem bad because of
// another key's fault.
func TestBadConfigKeyIsReportedOnce(t *testing.T) {
	keyring := testkit.WriteFile(t, "keyring", "{}")
	for name, c := range map[string]struct {
		content string
		args    []string
		want    []string // the keys that must be reported
	}{
		"a bad key twice":             {`{"check": null, "check": null, "check": 1}`, []string{"--sandbox"}, []string{"check"}},
		"bad values of required keys": {`{"keyring": null, "tls_cert": {}, "tls_key": null}`, nil, []string{"keyring", "tls-cert", "tls-key"}},
		"sandbox":                     {`{"sandbox": "perhaps", "clock": "manual"}`, nil, []string{"sandbox"}},
		"two bad networks":            {`{"trusted-proxies": ["a", "b"], "tls": "off", "listen": ":80"}`, []string{"--sandbox"}, []string{"trusted-proxies"}},
		"a key of two lines":          {`{"a\nb": 1}`, []string{"--sandbox"}, []string{"a; b"}},
		"a path of two lines":         {`{"keyring": "/nonexistent/a\nb"}`, []string{"--sandbox"}, []string{"keyring"}},
		"a bad value of tls":          {`{"tls": "maybe", "base-url": "http://a"}`, []string{"--keyring", keyring}, []string{"tls"}},
	} {
		_, err := parse(t, append(c.args, "--config", testkit.WriteFile(t, "mizan.json", c.content))...)
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

// TestEveryKeyIsDocumented checks that the table in docs/operations.md has a row for each configuration key, with the key's
// environment variable and default.
func TestEveryKeyIsDocumented(t *testing.T) {
	var rows []string
	for line := range strings.Lines(testkit.ReadDoc(t, "operations.md")) {
		if strings.HasPrefix(line, "| `--") {
			rows = append(rows, line)
		}
	}
	list := Keys(&Flags{})
	if len(rows) != len(list) {
		t.Errorf("%d rows for %d keys", len(rows), len(list))
	}
	for _, key := range list {
		want := []string{"`MIZAN_" + strings.ToUpper(strings.ReplaceAll(key.Name, "-", "_")) + "`"}
		if key.Standard != "" {
			want = append(want, "`"+key.Standard+"`")
		}
		documented := slices.ContainsFunc(rows, func(row string) bool {
			namesKey := strings.HasPrefix(row, "| `--"+key.Name+"`") || strings.HasPrefix(row, "| `--"+key.Name+" ")
			return namesKey && !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(row, w) })
		})
		if !documented {
			t.Errorf("docs/operations.md has no row for --%s with %q", key.Name, want)
		}
	}
}

func TestASimulatorURLIsForASandboxWithTheRealClock(t *testing.T) {
	const address = "http://127.0.0.1:8444"
	cfg, err := parse(t, "--sandbox", "--simulator-url", address+"/")
	if err != nil || cfg.SimulatorURL != address {
		t.Errorf("%+v, %v", cfg, err)
	}
	keyring := testkit.WriteFile(t, "keyring", "{}")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tls", "off", "--keyring", keyring, "--simulator-url", address}, "needs --sandbox"},
		{[]string{"--sandbox", "--clock", "manual", "--simulator-url", address}, "does not go with --clock manual, because mizan simulator has the real clock"},
		{[]string{"--sandbox", "--simulator-url", "http://127.0.0.1"}, "is not of the form http://HOST:PORT"},
		{[]string{"--sandbox", "--simulator-url", "https://127.0.0.1:8444"}, "is not of the form http://HOST:PORT"},
		{[]string{"--sandbox", "--simulator-url", "http://192.0.2.1:8444"}, "has to name an address of this machine, such as 127.0.0.1, because the connection is not encrypted"},
		{[]string{"--sandbox", "--simulator-url="}, "is empty"},
	} {
		if _, err := parse(t, c.args...); !slices.Equal(lines(err), []string{"mizan: configuration: simulator-url: " + c.want}) {
			t.Errorf("%v: %q, want %q", c.args, lines(err), c.want)
		}
	}
	t.Setenv("MIZAN_SIMULATOR_URL", address)
	if cfg, err := parse(t, "--sandbox"); err != nil || cfg.SimulatorURL != address {
		t.Errorf("by the environment: %+v, %v", cfg, err)
	}
}
