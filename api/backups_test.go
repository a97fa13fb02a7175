package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/api"
	"mizan/api/admin"
	"mizan/ledger"
	"mizan/snapshots/backup"
)

const backupsPath = "/api/v1/backups"

// backups returns a function that takes backups of the server, as the program does.
func (h *fixture) backups() func(*admin.BackupBase) (io.ReadCloser, error) {
	quiet := backup.Options{Journal: h.Journal, Keyring: h.Keyring, Clock: h.Clock, Data: h.Dir}
	service := backup.New(quiet)
	return func(since *admin.BackupBase) (io.ReadCloser, error) {
		return service.Stream((*backup.Base)(since))
	}
}

// takeBackup returns the path of a new backup.
func (h *fixture) takeBackup(body string) string {
	h.t.Helper()
	a := h.admin().post(backupsPath, body)
	if a.status != http.StatusOK || a.header.Get("content-type") != "application/octet-stream" {
		h.t.Fatalf("a backup is answered with %d %s: %.200s", a.status, a.header.Get("content-type"), a.body)
	}
	path := filepath.Join(h.t.TempDir(), "taken"+backup.Suffix)
	must(h.t, os.WriteFile(path, []byte(a.body), 0o600))
	return path
}

func TestBackupNeedsTheAdminToken(t *testing.T) {
	h := newFixture(t)
	full := h.takeBackup(`{}`)
	header, err := backup.CheckTransfer(t.Context(), full)
	must(t, err)
	if header.Kind() != "full" {
		t.Errorf("the backup is %s", header.Kind())
	}
	_, err = backup.Read(t.Context(), full, h.Keyring)
	must(t, err)

	base, err := json.Marshal(map[string]any{"since": header.Base()})
	must(t, err)
	h.list("country", "KP").want(http.StatusCreated, "")
	next := h.takeBackup(string(base))
	grown, err := backup.CheckTransfer(t.Context(), next)
	must(t, err)
	if grown.Kind() != "incremental" || grown.Since.ID != header.ID || grown.Group <= header.Group {
		t.Errorf("the increment is %+v", grown)
	}
	smaller, err := os.Stat(next)
	must(t, err)
	whole, err := os.Stat(full)
	must(t, err)
	if smaller.Size() >= whole.Size() {
		t.Errorf("the increment has %d bytes, the full one %d", smaller.Size(), whole.Size())
	}
}

func TestBackupWithAnInvalidSinceIsRefused(t *testing.T) {
	h := newFixture(t)
	const id = `"id":"3d560634-e283-41f4-8987-8974726a90a5"`
	zeros := string(bytes.Repeat([]byte{'0'}, 64))
	for name, since := range map[string]string{
		"a text":         `"yesterday"`,
		"nothing in it":  `{}`,
		"no hash":        `{` + id + `,"group":1,"depth":1}`,
		"a negative":     `{` + id + `,"group":-1,"depth":1,"group_hash":"` + zeros + `"}`,
		"another chain":  `{` + id + `,"group":1,"depth":1,"group_hash":"` + zeros + `"}`,
		"a later group":  `{` + id + `,"group":9007199254740993,"depth":1,"group_hash":"` + zeros + `"}`,
		"an endless one": `{` + id + `,"group":1,"depth":9007199254740993,"group_hash":"` + zeros + `"}`,
	} {
		a := h.admin().post(backupsPath, `{"since":`+since+`}`)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"field":"since"`) {
			t.Errorf("%s: %d %.200s", name, a.status, a.body)
		}
	}
}

// A misspelt since is refused, and no full backup is taken instead.
func TestBackupRefusesUnknownFields(t *testing.T) {
	h := newFixture(t)
	for field, body := range map[string]string{"sinse": `{"sinse":{}}`, "params": `{"params":{"since":null}}`} {
		a := h.admin().post(backupsPath, body)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %.200s", body, a.status, a.body)
		}
	}
	h.takeBackup(`{"since":null}`)
}

// If a backup breaks off, the answer is incomplete.
func TestFailedBackupClosesTheConnectionUnfinished(t *testing.T) {
	broken := errors.New("broken")
	h := newFixture(t, func(cfg *api.Config) {
		cfg.Backup = func(*admin.BackupBase) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 10_000)), failing{broken})), nil
		}
	})
	request, err := http.NewRequest("POST", h.base()+backupsPath, strings.NewReader(`{}`))
	must(t, err)
	request.Header.Set("content-type", "application/json")
	for name, value := range h.admin().headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	must(t, err)
	defer func() { must(t, response.Body.Close()) }()
	if n, err := io.Copy(io.Discard, response.Body); err == nil || response.StatusCode != http.StatusOK {
		t.Errorf("%d bytes of a backup that broke off came as a whole answer of status %d", n, response.StatusCode)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestConcurrentBackupIsAConflict(t *testing.T) {
	h := newFixture(t, func(cfg *api.Config) {
		cfg.Backup = func(*admin.BackupBase) (io.ReadCloser, error) {
			return nil, ledger.Refuse("test", ledger.Conflict, "another backup is under way")
		}
	})
	h.admin().post(backupsPath, `{}`).want(http.StatusConflict, `{"error":"conflict","message":"another backup is under way"}`)
}
