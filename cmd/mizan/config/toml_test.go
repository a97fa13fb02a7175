package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

func TestTOMLFileHasTheSameKeysAsFlags(t *testing.T) {
	path := testkit.WriteFile(t, "mizan.toml", `
# a comment
listen = "127.0.0.1:1" # another
rate-limit = 1_000
create_wait = '2s'
sandbox = true
"min-free" = """1GiB"""
trusted-proxies = [
  "10.0.0.0/8",
  "192.0.2.1", # the second
]
`)
	cfg, err := parse(t, "--config", path)
	if err != nil {
		t.Fatal(lines(err))
	}
	if cfg.Listen != "127.0.0.1:1" || cfg.RateLimit != 1000 || cfg.CreateWait != 2*time.Second || !cfg.Sandbox || cfg.MinFree != 1<<30 ||
		len(cfg.Proxies) != 2 || cfg.Proxies[1].String() != "192.0.2.1/32" {
		t.Errorf("%+v", cfg)
	}
	if cfg, err := parse(t, "--config", path, "--listen", "127.0.0.1:2"); err != nil || cfg.Listen != "127.0.0.1:2" {
		t.Errorf("a flag before the file: %+v, %v", cfg, err)
	}
}

func TestBadKeyOfAFileIsReportedWithItsLine(t *testing.T) {
	for name, content := range map[string]string{
		"mizan.toml": "sandbox = true\ncolour = \"red\"\n\nrate-limit = \"many\"\nclock = 1979-05-27\ncheck = true\ncheck = false\nlog.level = \"info\"\nconfig = \"x\"\n",
		"mizan.json": "{\"sandbox\": true,\n\"colour\": \"red\",\n\n\"rate-limit\": \"many\",\n\"clock\": null,\n\"check\": true,\n\"check\": false,\n\"log.level\": \"info\",\n\"config\": \"x\"}\n",
	} {
		path := testkit.WriteFile(t, name, content)
		_, err := parse(t, "--config", path)
		want := []string{
			"colour: unknown key in " + path + " line 2",
			"clock: has to be a string, a number, a boolean or a list of strings in " + path + " line 5",
			"check: given twice in " + path + " line 7",
			"log.level: unknown key in " + path + " line 8",
			"config: unknown key in " + path + " line 9",
			`rate-limit: "many" is not a number from 0 to 1000000 (in ` + path + " line 4)",
		}
		for i := range want {
			want[i] = "mizan: configuration: " + want[i]
		}
		if got := lines(err); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestTOMLFileIsFlat(t *testing.T) {
	for content, want := range map[string]string{
		"[server]\nlisten = \"x\"":        "line 1 begins a table",
		"\nsandbox = true\n[[a.b]]\n":     "line 3 begins a table",
		"sandbox = true\nlisten = x":      "line 2: ",
		"\n\nsandbox":                     "line 3: ",
		"sandbox = true check = true":     "line 1: ",
		"listen = \"127.0.0.1":            "line 1: ",
		"listen = \"a\\q\"":               "line 1: ",
		"trusted-proxies = [\"a\", \"b\"": "line 1: ",
		"{\"sandbox\": true}":             "line 1: ",
		"listen = \"\xff\"":               "line 1: ",
	} {
		path := testkit.WriteFile(t, "mizan.toml", content)
		wantConfigLine(t, content, path)
		_, err := parse(t, "--sandbox", "--config", path)
		if prefix := "mizan: configuration: config: " + path + " is not flat TOML: " + want; !strings.HasPrefix(lines(err)[0], prefix) {
			t.Errorf("%q: %q, want it to begin %q", content, lines(err)[0], prefix)
		}
	}
	if _, err := parse(t, "--sandbox", "--config", testkit.WriteFile(t, "mizan.toml", "# nothing\n")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// FuzzConfigFile checks that no content of a configuration file causes a panic, and that every entry has a line number in the
// file.
func FuzzConfigFile(f *testing.F) {
	for _, seed := range []string{
		"a = 1\nb.c = [\"x\", 'y']\n", "a = \"\"\"\nx\"\"\"", "[t]\n", "a = {b = 1}", "a = [1, [2]]", "a = ", "=", "\"", "a = 'x", "#\r\n\r",
		`{"a": 1, "b": [true]}`, "{\n\"a\"", "{}x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, read := range []func([]byte) ([]fileEntry, error){readTOML, readJSON} {
			entries, err := read(slices.Clone(content))
			if err != nil && entries != nil {
				t.Errorf("%q: %d entries and %v", content, len(entries), err)
			}
			for _, entry := range entries {
				if entry.line < 1 || entry.line > 1+strings.Count(string(content), "\n") {
					t.Errorf("%q: %+v", content, entry)
				}
			}
		}
	})
}

// packagedFile returns the configuration file of the Debian package.
func packagedFile(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "tools", "deb", "mizan.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The Debian package's configuration file is accepted if the keyring and the token file exist. The installation of the package
// creates these two files.
func TestPackagedConfigurationIsComplete(t *testing.T) {
	content := packagedFile(t)
	keyring, token := testkit.WriteFile(t, "keyring", "{}"), testkit.WriteFile(t, "token", "mza_"+strings.Repeat("x", 40))
	for inPackage, here := range map[string]string{`"/etc/mizan/keyring"`: keyring, `"/etc/mizan/admin-token"`: token} {
		if !strings.Contains(content, inPackage) {
			t.Errorf("tools/deb/mizan.toml doesn't name %s", inPackage)
		}
		content = strings.ReplaceAll(content, inPackage, fmt.Sprintf("%q", here))
	}
	cfg, err := parse(t, "--config", testkit.WriteFile(t, "mizan.toml", content))
	if err != nil {
		t.Fatal(strings.Join(lines(err), "\n"))
	}
	if cfg.Dir != "/var/lib/mizan" || cfg.TLS != "auto" || cfg.Sandbox || cfg.Listen != "127.0.0.1:8443" {
		t.Errorf("%+v", cfg)
	}
}

// commentedSetting matches a line with a setting that is commented out.
var commentedSetting = regexp.MustCompile(`(?m)^#([a-z-]+ = )`)

// The Debian package's configuration file has settings that are commented out. If an operator removes the comment sign, each
// must be accepted: its key exists, and its value has the right format.
func TestCommentedSettingsOfThePackageExist(t *testing.T) {
	content := packagedFile(t)
	if len(commentedSetting.FindAllString(content, -1)) < 10 {
		t.Error("tools/deb/mizan.toml shows less than ten settings as comments")
	}
	for _, line := range commentedSetting.FindAllString(content, -1) {
		whole := content[strings.Index(content, line)+1:]
		whole, _, _ = strings.Cut(whole, "\n")
		entries, err := readTOML([]byte(whole))
		if err != nil || len(entries) != 1 || !entries[0].isText {
			t.Errorf("%s: %v", whole, err)
			continue
		}
		if !slices.ContainsFunc(Keys(&Flags{}), func(k Key) bool { return k.Name == entries[0].key }) {
			t.Errorf("%s: there is no such key", whole)
		}
	}
}
