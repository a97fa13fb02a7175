package power

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mizan/internal/testkit"
)

// takeBackups takes backups into the volume, one after the other, until ctx ends. It records those that were acknowledged.
func (c *campaign) takeBackups(ctx context.Context, limit int) {
	dir := filepath.Join(c.volume.Dir, "backups")
	for n := 0; ctx.Err() == nil && n < limit; n++ {
		_ = os.Mkdir(dir, 0o700) // the directory may exist; the backup command reports any other error
		path := filepath.Join(dir, "backup-"+strconv.FormatUint(c.volume.Operations(), 10)+".mizan")
		args := []string{"backup", "--sandbox", c.dir, "--to", path}
		if len(c.backups) > 0 && n%2 == 1 {
			args = append(args, "--since", c.backups[len(c.backups)-1])
		}
		if out, err := exec.CommandContext(ctx, testkit.Binary(c.t), args...).CombinedOutput(); err == nil {
			c.backups = append(c.backups, path)
		} else {
			if ctx.Err() == nil && !c.volume.IsOff() {
				c.t.Errorf("%v: %v %s", args, err, out)
			}
			return
		}
	}
}

// cutDuringBackup cuts the power while backups are taken of a server under load.
func (c *campaign) cutDuringBackup() func() {
	c.t.Helper()
	s, a := c.start()
	c.load(s, a, c.cutSoon(maxOperations), func(ctx context.Context) { c.takeBackups(ctx, 1<<20) })
	return c.verifyBackups
}

// verifyBackups checks that all acknowledged backups exist. It then verifies the newest one, together with the backups that this
// one needs. At the end it removes old backups that no later one needs, so that the volume does not fill up.
func (c *campaign) verifyBackups() {
	c.t.Helper()
	if len(c.backups) == 0 {
		return
	}
	newest := c.backups[len(c.backups)-1] // backup verify also reads the backups that this one needs
	for _, path := range c.backups {
		if _, err := os.Stat(path); err != nil {
			c.t.Fatalf("an acknowledged backup: %v", err)
		}
	}
	if r := testkit.Run(c.t, nil, "backup", "verify", "--from", newest, "--keyring", filepath.Join(c.dir, "keyring")); r.Exit != 0 {
		c.t.Fatalf("an acknowledged backup: exit %d %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	for len(c.backups) > 2 { // every second backup is full, so no backup needs more than one other
		if err := os.Remove(c.backups[0]); err != nil {
			c.t.Fatal(err)
		}
		c.backups = c.backups[1:]
	}
}

// cutDuringRestore restores the newest backup and cuts the power meanwhile, or just after the end of the restore.
func (c *campaign) cutDuringRestore() func() {
	c.t.Helper()
	defer c.spend("restores", time.Now())
	if len(c.backups) == 0 {
		s, _ := c.start()
		c.takeBackups(c.t.Context(), 1)
		c.kill(s)
		if len(c.backups) == 0 {
			c.t.FailNow()
		}
	}
	c.restoreCount++
	target := filepath.Join(c.volume.Dir, "restored-"+strconv.Itoa(c.restoreCount))
	args := []string{"restore", "--from", c.backups[len(c.backups)-1], "--data", target, "--keyring", filepath.Join(c.dir, "keyring")}
	before := c.volume.Operations()
	cut := c.cutSoon(c.restoreSize * 5 / 4)
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, testkit.Binary(c.t), args...)
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	isDone := false
	select {
	case <-cut:
		cancel()
		isDone = <-ended == nil
	case err := <-ended:
		isDone = err == nil
		if isDone {
			c.restoreSize = c.volume.Operations() - before
		} else if !c.volume.IsOff() {
			c.t.Fatalf("%v: %v", args, err)
		}
		c.volume.Cut()
	}
	return func() { c.checkRestore(target, args, isDone) }
}

// checkRestore checks what an interrupted restore has left behind. isDone tells whether the restore was acknowledged. If it was
// not, checkRestore repeats it.
func (c *campaign) checkRestore(target string, args []string, isDone bool) {
	c.t.Helper()
	defer c.spend("restores", time.Now())
	if _, err := os.Stat(target); err != nil && !isDone {
		again := testkit.Run(c.t, nil, args...)
		if again.Exit != 0 {
			if !strings.Contains(again.Stderr, "is in the way, and no unfinished restore") {
				c.t.Fatalf("the restore can't be repeated: exit %d %s", again.Exit, again.Stderr)
			}
			// The power failed after the restore had removed its mark and before it renamed the directory. So the directory is
			// complete.
			if err := os.Rename(target+".restoring", target); err != nil {
				c.t.Fatal(err)
			}
			c.t.Log("a restore was cut just before it renamed its directory")
		}
	}
	// Even a restore that was not acknowledged may have renamed its directory. Then the directory must be complete.
	if r := testkit.Run(c.t, nil, "audit", "verify", "--data", target, "--keyring", filepath.Join(c.dir, "keyring")); r.Exit != 0 || r.Stderr != "" {
		c.t.Fatalf("the restored directory (acknowledged: %v): exit %d\n%s%s", isDone, r.Exit, r.Stdout, r.Stderr)
	}
	if err := os.RemoveAll(target); err != nil {
		c.t.Fatal(err)
	}
}
