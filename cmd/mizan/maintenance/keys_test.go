package maintenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/internal/secret"
	"mizan/internal/testkit"
)

// newKeyring creates a keyring that is not in a data directory.
func newKeyring(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keyring", path))
	return path
}

// removeSealingKeys removes the sealing keys (for encryption) from a keyring's file. The file is then like one written by a
// release that had no sealing.
func removeSealingKeys(t *testing.T, path string) {
	t.Helper()
	fields := keyringFields(t, path)
	delete(fields, "sealing_keys")
	content, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func keyringFields(t *testing.T, path string) map[string]json.RawMessage {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// wantKeysList returns what `mizan keys list` must print for the keyring's file.
func wantKeysList(t *testing.T, path string) (lines string, count int) {
	t.Helper()
	keyring, err := secret.LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keyring.SealingKeys() {
		lines += fmt.Sprint(key.ID, " enabled")
		if key.IsPrimary {
			lines += " primary"
		}
		lines += "\n"
	}
	return lines, len(keyring.SealingKeys())
}

func TestKeysRotateAddsAPrimaryKey(t *testing.T) {
	path := newKeyring(t)
	keyringBefore, err := secret.LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := keyringFields(t, path)
	sealed, err := keyringBefore.Seal([]byte("text"), []byte("place"))
	if err != nil {
		t.Fatal(err)
	}
	output := testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "rotate", "--keyring", path))
	output += testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "rotate", "--keyring", path))
	want := regexp.MustCompile(`^mizan: ` + regexp.QuoteMeta(path) + `: key \d+ seals from .* sealed: 1\n` +
		`mizan: a running server keeps .*\n.* sealed: 2\n.*\n$`)
	if !want.MatchString(output) {
		t.Errorf("two rotations said\n%s", output)
	}
	list := testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "list", "--keyring", path))
	if lines, n := wantKeysList(t, path); list != lines || n != 3 || !regexp.MustCompile(`^\d+ enabled\n\d+ enabled\n\d+ enabled primary\n$`).MatchString(list) {
		t.Errorf("list says\n%s, want\n%s", list, lines)
	}
	keyringAfter, err := secret.LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := keyringAfter.Open(sealed, []byte("place")); err != nil || string(text) != "text" {
		t.Errorf("what was sealed before opens as %q, %v", text, err)
	}
	for name, value := range keyringFields(t, path) {
		if name != "sealing_keys" && !bytes.Equal(value, fields[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, word := range regexp.MustCompile(`[A-Za-z0-9+/=]{20,}`).FindAllString(output+list, -1) {
		for name, value := range keyringFields(t, path) {
			if bytes.Contains(value, []byte(word)) {
				t.Errorf("%s of %s was printed", word, name)
			}
		}
	}
}

// TestKeysRotateBesideARunningServer checks that the server works after a rotation, and that neither the running server nor its
// next start undoes the rotation.
func TestKeysRotateBesideARunningServer(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	path := filepath.Join(server.Dir, "keyring")
	testkit.Pay(t, server.Partner(), "before")
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "rotate", "--data", server.Dir))
	rotatedKeyring, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Pay(t, server.Partner(), "after")
	wantUnchanged := func(when string) {
		t.Helper()
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, rotatedKeyring) {
			t.Errorf("%s the keyring is another one, %v", when, err)
		}
	}
	wantUnchanged("beside the server")
	server.Stop()
	wantUnchanged("after the server's stop")
	server.Restart()
	wantUnchanged("after a start")
	testkit.Pay(t, server.Partner(), "with the new key")
	server.Kill()
	wantUnchanged("after a kill")
	if list := testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "list", "--data", server.Dir)); strings.Count(list, "\n") != 2 {
		t.Errorf("list says\n%s", list)
	}
}

func TestKeysCommandUsesTheServersKeyring(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	keyring, dir := newKeyring(t), t.TempDir()
	dataKeyring := filepath.Join(dir, "keyring")
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keyring", dataKeyring))
	keysOf := func(path string) string {
		lines, _ := wantKeysList(t, path)
		return lines
	}
	for _, c := range []struct {
		name, want string
		env, args  []string
	}{
		{"--data", dataKeyring, nil, []string{"--data", dir}},
		{"--keyring", keyring, nil, []string{"--keyring", keyring}},
		{"both", keyring, nil, []string{"--keyring", keyring, "--data", dir}},
		{"MIZAN_DATA", dataKeyring, []string{"MIZAN_DATA=" + dir}, nil},
		{"MIZAN_KEYRING", keyring, []string{"MIZAN_KEYRING=" + keyring}, []string{"--data", dir}},
		{"a flag over the environment", keyring, []string{"MIZAN_KEYRING=" + dataKeyring}, []string{"--keyring", keyring}},
	} {
		if list := testkit.WantQuietSuccess(t, testkit.Run(t, c.env, append([]string{"keys", "list"}, c.args...)...)); list != keysOf(c.want) {
			t.Errorf("%s: list says\n%s, want the keys of %s", c.name, list, c.want)
		}
	}
}

func TestKeysListReportsAKeyringWithoutSealingKeys(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	path := newKeyring(t)
	removeSealingKeys(t, path)
	r := testkit.Run(t, nil, "keys", "list", "--keyring", path)
	if testkit.WantOneLine(t, r.Stderr, "mizan: "+path+" holds no sealing key; "); r.Exit != 0 || r.Stdout != "" {
		t.Errorf("exit %d: %s", r.Exit, r.Stdout)
	}
	if output := testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keys", "rotate", "--keyring", path)); !strings.Contains(output, " sealed: 0\n") {
		t.Errorf("rotate said %s", output)
	}
	if _, n := wantKeysList(t, path); n != 1 {
		t.Errorf("there are %d keys", n)
	}
}

func TestUnreadableKeyringIsLeftUnchanged(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		exit          int
		want          string
	}{
		{"missing", "", 0, 2, "mizan: configuration: keyring: "},
		{"damaged", `{"version": 1}`, 0o600, 1, "mizan: storage: keyring"},
		{"open to others", `{"version": 1}`, 0o644, 1, "mizan: storage: keyring: "},
	} {
		path := filepath.Join(t.TempDir(), "keyring")
		if c.mode != 0 {
			if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range []string{"rotate", "list"} {
			r := testkit.Run(t, nil, "keys", command, "--data", filepath.Dir(path))
			if testkit.WantOneLine(t, r.Stderr, c.want); r.Exit != c.exit || r.Stdout != "" {
				t.Errorf("%s, %s: exit %d, want %d: %s", c.name, command, r.Exit, c.exit, r.Stdout)
			}
		}
		content, err := os.ReadFile(path)
		if c.mode == 0 && err == nil || c.mode != 0 && string(content) != c.content {
			t.Errorf("%s: the file is %q, %v", c.name, content, err)
		}
	}
	for _, args := range [][]string{{"--keyring", ""}, {"--data", ""}} {
		r := testkit.Run(t, nil, append([]string{"keys", "rotate"}, args...)...)
		if testkit.WantOneLine(t, r.Stderr, "mizan: configuration: "+args[0][2:]+": is empty"); r.Exit != 2 {
			t.Errorf("%v: exit %d", args, r.Exit)
		}
	}
}

// TestStartAddsMissingSealingKeys uses keyrings without sealing keys, as an older release made them. The server
// adds the keys to the keyring in its data directory, and never to one that the operator names.
func TestStartAddsMissingSealingKeys(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Stop()
	path := filepath.Join(s.Dir, "keyring")
	removeSealingKeys(t, path)
	s.Restart()
	testkit.Pay(t, s.Partner(), "")
	keysOfFirstStart, count := wantKeysList(t, path)
	s.Kill()
	s.Restart()
	if keysOfSecondStart, _ := wantKeysList(t, path); count != 1 || keysOfSecondStart != keysOfFirstStart {
		t.Errorf("the first start made %d keys:\n%s, after the second there are\n%s", count, keysOfFirstStart, keysOfSecondStart)
	}

	operatorKeyring := newKeyring(t)
	removeSealingKeys(t, operatorKeyring)
	serveArgs := []string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--tls", "off", "--keyring", operatorKeyring, "--log-level", "error"}
	r := testkit.Run(t, nil, serveArgs...)
	if testkit.WantOneLine(t, r.Stderr, "mizan: configuration: keyring: "); r.Exit != 2 || !strings.Contains(r.Stderr, "`mizan keys rotate --keyring "+operatorKeyring+"`") {
		t.Errorf("exit %d, want 2 and the advice: %s", r.Exit, r.Stderr)
	}
	if _, n := wantKeysList(t, operatorKeyring); n != 0 {
		t.Error("the operator's keyring was written")
	}
}
