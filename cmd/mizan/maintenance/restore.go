package maintenance

import (
	"fmt"
	"log/slog"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving"
	"mizan/internal/progress"
	"mizan/snapshots/backup"
)

// RestoreCommand is the command `mizan restore`.
type RestoreCommand struct {
	From    string  `name:"from" required:"" placeholder:"DIR|FILE" help:"A backup, or a directory of backups."`
	At      *string `name:"at" placeholder:"TIME" help:"With a directory: use the newest backup that was taken at this time or before (RFC 3339)."`
	Data    string  `name:"data" required:"" placeholder:"NEWDIR" help:"The data directory to create; it must be absent or empty."`
	Keyring string  `name:"keyring" required:"" placeholder:"FILE" help:"The keyring of the server that was backed up."`
	JSON    bool    `name:"json" help:"Print the checker's report and what was restored as JSON, one object a line."`
}

// Run implements the command. It restores the backup and prints the checker's report. If the report has no findings, the last
// line names the time of the restored backup.
func (c *RestoreCommand) Run(s *cli.Streams) error {
	if err := refuseEmpty(flag{"from", &c.From}, flag{"at", c.At}, flag{"data", &c.Data}, flag{"keyring", &c.Keyring}); err != nil {
		return err
	}
	serving.LimitMemory()
	ctx, stop := cli.SignalContext()
	defer stop()
	at, keyring, err := parseSourceFlags(c.At, c.Keyring)
	if err != nil {
		return err
	}
	meter := s.Progress("restore")
	result, err := backup.Restore(progress.With(ctx, meter), backup.RestoreConfig{
		From: c.From, At: at, Data: c.Data, Keyring: keyring, KeyringID: keyring.Identity(), Log: slog.New(slog.DiscardHandler),
	})
	meter.End()
	if result != nil && result.Report != nil {
		write := result.Report.WriteTo
		if c.JSON {
			write = result.Report.WriteJSON
		}
		if _, reportErr := write(s.Out); reportErr != nil && err == nil {
			err = reportErr // the directory was restored, but the report could not be written
		}
	}
	if err != nil {
		return sourceFault("from", err)
	}
	warnUnused(s, result)
	if c.JSON {
		restored := describeRestored(result)
		restored.Path = c.Data
		return printJSON(s, restored)
	}
	_, err = fmt.Fprintf(s.Out, "mizan: restored %s to %s, group %d: %d rows from %d backups\n",
		c.Data, result.Header.TakenAt.Format(time.RFC3339Nano), result.Header.Group, result.Rows, result.UsedBackups)
	return err
}
