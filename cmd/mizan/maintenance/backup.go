package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/internal/progress"
	"mizan/internal/secret"
	"mizan/posting/store"
	"mizan/snapshots/backup"
)

// BackupCommands are the subcommands of `mizan backup`. Without a subcommand, `mizan backup` takes a backup.
type BackupCommands struct {
	Take   takeBackupCommand   `cmd:"" default:"withargs" help:"Take a backup of a running server."`
	Verify verifyBackupCommand `cmd:"" help:"Verify a backup and the backups that it builds on."`
}

// Help returns the text that kong shows above the list of both subcommands.
func (BackupCommands) Help() string {
	return "mizan backup --to DIR|FILE [flags] is short for mizan backup take --to DIR|FILE [flags]; mizan backup take --help lists the flags."
}

// takeBackupCommand is the command `mizan backup take`, or `mizan backup` for short.
type takeBackupCommand struct {
	client.BackupFlags
	To      string  `name:"to" required:"" placeholder:"DIR|FILE" help:"A directory, in which the backup gets a name with its time, or the path of a new file."`
	Since   *string `name:"since" placeholder:"DIR|FILE" help:"Back up only the changes since an earlier backup: its file, or a directory of backups, of which the newest is used."`
	Keyring *string `name:"keyring" placeholder:"FILE" help:"The server's keyring; with it, the whole backup is verified before the file gets its name."`
	JSON    bool    `name:"json" help:"Print a description of the backup as a JSON object."`
}

// Run implements the command. The backup file has a temporary name until the backup is complete.
func (c *takeBackupCommand) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	if err := refuseEmpty(flag{"to", &c.To}, flag{"since", c.Since}, flag{"keyring", c.Keyring}); err != nil {
		return err
	}
	var keyring backup.Sealer
	if c.Keyring != nil {
		loaded, err := secret.LoadSealingKeyring(*c.Keyring)
		if err != nil {
			return cli.BadConfiguration("keyring: " + err.Error())
		}
		keyring = loaded
	}
	meter := s.Progress("backup")
	body, err := c.requestBody(progress.With(ctx, meter), keyring)
	meter.End()
	if err != nil {
		return err
	}
	dir, path, err := c.destination()
	if err != nil {
		return err
	}
	if err := backup.RemoveUnfinished(dir); err != nil {
		return cli.BadConfiguration("to: " + err.Error())
	}
	file, err := backup.CreateFile(dir)
	if err != nil {
		return cli.BadConfiguration("to: " + err.Error())
	}
	header, path, err := receive(ctx, s, &c.BackupFlags, file, body, dir, path, keyring)
	if err = errors.Join(err, file.Close()); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // report the interruption, which caused the error
		}
		return backupFault(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if c.JSON {
		result := describeBackup(&header)
		result.Path, result.Bytes = path, info.Size()
		return printJSON(s, result)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s, of %s, group %d, %d bytes\n", path, header.Kind(), header.TakenAt.Format(time.RFC3339Nano), header.Group, info.Size())
	return err
}

// receive writes the backup to a temporary file, verifies the file and renames it. If keyring is nil, receive verifies only the
// parts of the backup that need no key. If path is empty, the file's name is derived from the backup's header.
func receive(ctx context.Context, s *cli.Streams, from *client.BackupFlags, file *backup.File, body []byte, dir, path string, keyring backup.Sealer) (header backup.Header, finalPath string, err error) {
	if err := from.Take(ctx, "backup", s, body, file); err != nil {
		return header, path, err
	}
	meter := s.Progress("backup")
	defer meter.End()
	ctx = progress.With(ctx, meter)
	if keyring != nil {
		header, err = backup.Read(ctx, file.Name(), keyring)
	} else {
		header, err = backup.CheckWithoutKeys(ctx, file.Name())
	}
	if err != nil {
		return header, path, err
	}
	if path == "" {
		path = filepath.Join(dir, backup.FileName(&header))
	}
	return header, path, file.Keep(path)
}

// requestBody returns the body of the request for a backup. Without --since, the request asks for a full backup. With --since,
// it asks for an increment, which contains only the changes since an earlier backup (the base). requestBody first reads the
// whole base, because an increment to a damaged base can't be restored.
func (c *takeBackupCommand) requestBody(ctx context.Context, keyring backup.Sealer) ([]byte, error) {
	if c.Since == nil {
		return []byte("{}"), nil
	}
	header, err := backup.ReadBase(ctx, *c.Since, keyring)
	if err != nil {
		return nil, sourceFault("since", err)
	}
	return json.Marshal(map[string]any{"since": header.Base()})
}

// destination returns the directory for the backup. If --to names a file, it also returns the file's path.
func (c *takeBackupCommand) destination() (dir, path string, err error) {
	info, err := os.Stat(c.To)
	if _, linkErr := os.Lstat(c.To); errors.Is(err, fs.ErrNotExist) && linkErr == nil {
		return "", "", cli.BadConfiguration("to: " + c.To + " is a link that leads nowhere")
	}
	switch {
	case err == nil && info.IsDir():
		return c.To, "", nil
	case err == nil:
		return "", "", cli.BadConfiguration("to: " + c.To + " is there already")
	case !errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(c.To, "/"):
		return "", "", cli.BadConfiguration("to: " + err.Error())
	}
	if strings.HasPrefix(filepath.Base(c.To), ".") {
		return "", "", cli.BadConfiguration("to: " + c.To + ": a backup whose name begins with a dot would not be found later")
	}
	return filepath.Dir(c.To), c.To, nil
}

// verifyBackupCommand is the command `mizan backup verify`.
type verifyBackupCommand struct {
	From    string  `name:"from" required:"" placeholder:"DIR|FILE" help:"A backup, or a directory of backups."`
	At      *string `name:"at" placeholder:"TIME" help:"With a directory: use the newest backup that was taken at this time or before (RFC 3339)."`
	Keyring string  `name:"keyring" required:"" placeholder:"FILE" help:"The keyring of the backup's server."`
	JSON    bool    `name:"json" help:"Print a description of the backup as a JSON object."`
}

// Run implements the command.
func (c *verifyBackupCommand) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	if err := refuseEmpty(flag{"from", &c.From}, flag{"at", c.At}, flag{"keyring", &c.Keyring}); err != nil {
		return err
	}
	at, keyring, err := parseSourceFlags(c.At, c.Keyring)
	if err != nil {
		return err
	}
	meter := s.Progress("backup verify")
	result, err := backup.Verify(progress.With(ctx, meter), c.From, at, keyring)
	meter.End()
	if err != nil {
		return sourceFault("from", err)
	}
	warnUnused(s, result)
	if c.JSON {
		return printJSON(s, describeRestored(result))
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s, of %s, group %d, %d rows from %d backups: whole\n",
		result.Header.ID, result.Header.Kind(), result.Header.TakenAt.Format(time.RFC3339Nano), result.Header.Group, result.Rows, result.UsedBackups)
	return err
}

// backupJSON describes a backup in the command's JSON output.
type backupJSON struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	TakenAt time.Time `json:"taken_at"`
	Group   uint64    `json:"group"`
	Path    string    `json:"path,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	Rows    uint64    `json:"rows,omitempty"`
	Backups int       `json:"backups,omitempty"` // number of backups that were read: this backup and the earlier ones on which it builds
}

func describeBackup(h *backup.Header) backupJSON {
	return backupJSON{ID: h.ID, Kind: h.Kind(), TakenAt: h.TakenAt, Group: h.Group}
}

func describeRestored(r *backup.RestoreResult) backupJSON {
	result := describeBackup(&r.Header)
	result.Rows, result.Backups = r.Rows, r.UsedBackups
	return result
}

// printJSON prints a value as one line.
func printJSON(s *cli.Streams, value any) error {
	encoder := json.NewEncoder(s.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// parseSourceFlags parses the flags that the commands restore and verify share.
func parseSourceFlags(at *string, keyringFile string) (time.Time, *secret.Keyring, error) {
	var instant time.Time
	if at != nil {
		var err error
		if instant, err = time.Parse(time.RFC3339Nano, *at); err != nil {
			return instant, nil, cli.BadConfiguration("at: is no time such as 2026-09-03T10:15:30Z")
		}
	}
	loaded, err := secret.LoadSealingKeyring(keyringFile)
	if err != nil {
		return instant, nil, cli.BadConfiguration("keyring: " + err.Error())
	}
	return instant, loaded, nil
}

// flag holds the name and the value of a command-line flag. If the flag was not given, value is nil.
type flag struct {
	name  string
	value *string
}

// refuseEmpty returns an error if a flag has an empty value. A script passes an empty value if one of its variables is not set.
// If such a flag were ignored, the command would not do what the script's author intended.
func refuseEmpty(flags ...flag) error {
	var lines []string
	for _, f := range flags {
		if f.value != nil && *f.value == "" {
			lines = append(lines, f.name+": is empty")
		}
	}
	if lines == nil {
		return nil
	}
	return cli.BadConfiguration(lines...)
}

// warnUnused prints a warning about each damaged backup in the directory that the command did not need.
func warnUnused(s *cli.Streams, result *backup.RestoreResult) {
	for _, err := range result.UnusedFaults {
		_, _ = fmt.Fprintln(s.Err, "mizan: warning: another backup, which was not needed: "+cli.OneLine(err.Error())) // if stderr can't be written, there is no place to report that
	}
}

// sourceFault works like backupFault. If the user's choice of the backup caused the error, the fault also names the flag.
func sourceFault(name string, err error) error {
	if errors.Is(err, backup.ErrChoice) {
		return cli.BadConfiguration(name + ": " + err.Error())
	}
	return backupFault(err)
}

// backupFault converts an error from taking or reading a backup to the fault that ends the process.
func backupFault(err error) error {
	var fault *cli.Fault
	var targetError *backup.TargetError
	switch {
	case errors.As(err, &fault):
		return err
	case errors.As(err, &targetError):
		return cli.BadConfiguration("data: " + err.Error())
	case errors.Is(err, fs.ErrExist):
		return cli.BadConfiguration("to: " + err.Error())
	case errors.Is(err, store.ErrLocked), store.IsOtherSchema(err):
		return cli.InUse("%v", err)
	case errors.Is(err, context.Canceled):
		return cli.StorageFault("it was interrupted; nothing is left of it")
	}
	return cli.StorageFault("%v", err)
}
