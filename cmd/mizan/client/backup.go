package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// BackupFlags say which server, and as whom, for a command that takes a backup.
// What they name, and where it comes from without them, is as of all that administers; a
// backup is of all organizations.
type BackupFlags struct {
	URL       *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile *string `name:"token-file" placeholder:"FILE" help:"File with the admin token; - is stdin ($MIZAN_ADMIN_TOKEN has the token itself)."`
	CAFile    *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Sandbox   string  `name:"sandbox" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// Bounds of a backup that is on its way.
const (
	backupStall   = 2 * time.Minute // without a byte
	maxBackupFail = 64 << 10        // bytes of an answer that is none
)

// Take asks for a backup with this body and copies it to out as it comes. The name
// is the command's. The error is a *Fault; what has come by then is no backup.
func (f *BackupFlags) Take(ctx context.Context, name string, s *Streams, body []byte, out io.Writer) error {
	e := Command{Name: name, Streams: s}
	way, nobody := AdminFlags{URL: f.URL, TokenFile: f.TokenFile, CAFile: f.CAFile, Sandbox: f.Sandbox}, ""
	way.Organization = &nobody // whatever the environment says
	d, err := way.Open()
	if err != nil {
		return e.Misused("%v", err)
	}
	stalled := errors.New("nothing came for " + backupStall.String())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(backupStall, func() { cancel(stalled) })
	defer watch.Stop()
	because := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return e.Failed("%s: %v", d.Base, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Base+basePath+"/backups", bytes.NewReader(body))
	if err != nil {
		return e.Misused("%v", err)
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	request.Header.Set("Content-Type", "application/json")
	d.http.Timeout = 0 // a backup takes as long as it does
	response, err := d.http.Do(request)
	if err != nil {
		return because(inner(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		a := &Reply{Status: response.StatusCode, Header: response.Header}
		if a.Body, err = io.ReadAll(io.LimitReader(response.Body, maxBackupFail)); err != nil {
			return because(err)
		}
		_, err := e.Check(a)
		if err == nil {
			err = e.Failed("%s: the answer is no backup: status %d", d.Base, a.Status)
		}
		return err
	}
	to := &keptWriter{to: out}
	if _, err := io.Copy(to, &watched{response.Body, watch}); err != nil {
		if to.failed != nil {
			return e.Failed("%v", to.failed)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return because(errors.New("the server broke off the backup"))
		}
		return because(fmt.Errorf("the backup broke off: %w", err))
	}
	return nil
}

// watched puts the end off with every piece that comes.
type watched struct {
	io.Reader
	end *time.Timer
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.end.Reset(backupStall)
	}
	return n, err
}

// keptWriter remembers that it was writing that failed.
type keptWriter struct {
	to     io.Writer
	failed error
}

// Write implements io.Writer.
func (w *keptWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.failed = err
	return n, err
}
