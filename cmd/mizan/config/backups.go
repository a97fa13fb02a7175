package config

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Bounds of the settings for scheduled backups.
const (
	minBackupEvery = time.Minute
	maxBackupEvery = 30 * 24 * time.Hour
	maxBackupKeep  = 100_000
)

// Schedule says when the server itself takes backups, and in which directory it stores them.
type Schedule struct {
	Dir   string // empty: the server takes no scheduled backups
	Every time.Duration
	Keep  int    // number of backups to keep
	Rate  uint64 // maximum rate in bytes per second, also for backups that clients request; 0: no maximum
}

// backupSchedule reads the settings for backups.
func (r *reader) backupSchedule() Schedule {
	schedule := Schedule{
		Dir: r.text("backup-dir"), Every: r.durationBetween("backup-every", "1h", minBackupEvery, maxBackupEvery),
		Rate: r.bytes("backup-rate"),
	}
	var err error
	if schedule.Keep, err = strconv.Atoi(r.text("backup-keep")); r.text("backup-keep") != "" && (err != nil || schedule.Keep < 1 || schedule.Keep > maxBackupKeep) {
		r.reportBad("backup-keep", "%q is not a number from 1 to %d", r.text("backup-keep"), maxBackupKeep)
	}
	if schedule.Dir != "" {
		if info, err := os.Stat(schedule.Dir); err != nil {
			r.reportBad("backup-dir", "%v", err)
		} else if !info.IsDir() {
			r.reportBad("backup-dir", "%s is no directory", schedule.Dir)
		} else if isWithin(schedule.Dir, r.text("data")) {
			r.reportBad("backup-dir", "%s is in the data directory, and would be lost with it", schedule.Dir)
		}
	} else if !r.fileUnreadable {
		for _, name := range []string{"backup-every", "backup-keep"} {
			if r.settings[name].IsSet {
				r.reportBad(name, "only goes with --backup-dir")
			}
		}
	}
	return schedule
}

// isWithin tells whether dir is the directory other or a directory below it.
func isWithin(dir, other string) bool {
	resolve := func(path string) (string, error) {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	inner, err := resolve(dir)
	if err != nil {
		return false
	}
	outer, err := resolve(other)
	if err != nil {
		return false // if the data directory is missing, the server creates it at its start, so dir can't be in it
	}
	relative, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(relative)
}
