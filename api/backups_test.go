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

// backups returns the function with which the server of the mizan binary takes backups.
func (f *fixture) backups() func(*admin.BackupBase) (io.ReadCloser, error) {
	options := backup.Options{Journal: f.Journal, Keyring: f.Keyring, Clock: f.Clock, Data: f.Dir}
	service := backup.New(options)
	return func(since *admin.BackupBase) (io.ReadCloser, error) {
		return service.Stream((*backup.Base)(since))
	}
}

// takeBackup requests a backup, writes it to a file and returns the file's path.
func (f *fixture) takeBackup(body string) string {
	f.t.Helper()
	r := f.admin().post(backupsPath, body)
	if r.status != http.StatusOK || r.header.Get("content-type") != "application/octet-stream" {
		f.t.Fatalf("a backup gets %d %s: %.200s", r.status, r.header.Get("content-type"), r.body)
	}
	path := filepath.Join(f.t.TempDir(), "taken"+backup.Suffix)
	must(f.t, os.WriteFile(path, []byte(r.body), 0o600))
	return path
}

func TestBackupNeedsTheAdminToken(t *testing.T) {
	f := newFixture(t)
	fullPath := f.takeBackup(`{}`)
	header, err := backup.CheckWithoutKeys(t.Context(), fullPath)
	must(t, err)
	if header.Kind() != "full" {
		t.Errorf("the backup is %s", header.Kind())
	}
	_, err = backup.Read(t.Context(), fullPath, f.Keyring)
	must(t, err)

	request, err := json.Marshal(map[string]any{"since": header.Base()})
	must(t, err)
	f.addToBlocklist("country", "KP").want(http.StatusCreated, "")
	incrementPath := f.takeBackup(string(request))
	incrementHeader, err := backup.CheckWithoutKeys(t.Context(), incrementPath)
	must(t, err)
	if incrementHeader.Kind() != "incremental" || incrementHeader.Since.ID != header.ID || incrementHeader.Group <= header.Group {
		t.Errorf("the increment is %+v", incrementHeader)
	}
	incrementInfo, err := os.Stat(incrementPath)
	must(t, err)
	fullInfo, err := os.Stat(fullPath)
	must(t, err)
	if incrementInfo.Size() >= fullInfo.Size() {
		t.Errorf("the increment has %d bytes, the full one %d", incrementInfo.Size(), fullInfo.Size())
	}
}

func TestBackupWithAnInvalidSinceIsRefused(t *testing.T) {
	f := newFixture(t)
	const idField = `"id":"3d560634-e283-41f4-8987-8974726a90a5"`
	zeroHash := string(bytes.Repeat([]byte{'0'}, 64))
	for name, since := range map[string]string{
		"text":           `"yesterday"`,
		"empty object":   `{}`,
		"no hash":        `{` + idField + `,"group":1,"depth":1}`,
		"negative group": `{` + idField + `,"group":-1,"depth":1,"group_hash":"` + zeroHash + `"}`,
		"unknown backup": `{` + idField + `,"group":1,"depth":1,"group_hash":"` + zeroHash + `"}`,
		"later group":    `{` + idField + `,"group":9007199254740993,"depth":1,"group_hash":"` + zeroHash + `"}`,
		"endless depth":  `{` + idField + `,"group":1,"depth":9007199254740993,"group_hash":"` + zeroHash + `"}`,
	} {
		r := f.admin().post(backupsPath, `{"since":`+since+`}`)
		if r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, `"field":"since"`) {
			t.Errorf("%s: %d %.200s", name, r.status, r.body)
		}
	}
}

// A misspelt "since" is refused; the server must not take a full backup instead.
func TestBackupRefusesUnknownFields(t *testing.T) {
	f := newFixture(t)
	for field, body := range map[string]string{"sinse": `{"sinse":{}}`, "params": `{"params":{"since":null}}`} {
		r := f.admin().post(backupsPath, body)
		if r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %.200s", body, r.status, r.body)
		}
	}
	f.takeBackup(`{"since":null}`)
}

// If a backup fails after the response has begun, the response breaks off, so that the client sees the failure.
func TestFailedBackupClosesTheConnectionUnfinished(t *testing.T) {
	errBroken := errors.New("broken")
	f := newFixture(t, func(cfg *api.Config) {
		cfg.Backup = func(*admin.BackupBase) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 10_000)), failingReader{errBroken})), nil
		}
	})
	request, err := http.NewRequest("POST", f.base()+backupsPath, strings.NewReader(`{}`))
	must(t, err)
	request.Header.Set("content-type", "application/json")
	for name, value := range f.admin().headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	must(t, err)
	defer func() { must(t, response.Body.Close()) }()
	if n, err := io.Copy(io.Discard, response.Body); err == nil || response.StatusCode != http.StatusOK {
		t.Errorf("%d bytes of a backup that broke off came as a whole answer of status %d", n, response.StatusCode)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestConcurrentBackupIsAConflict(t *testing.T) {
	f := newFixture(t, func(cfg *api.Config) {
		cfg.Backup = func(*admin.BackupBase) (io.ReadCloser, error) {
			return nil, ledger.Refuse("test", ledger.Conflict, "another backup is under way")
		}
	})
	f.admin().post(backupsPath, `{}`).want(http.StatusConflict, `{"error":"conflict","message":"another backup is under way"}`)
}
