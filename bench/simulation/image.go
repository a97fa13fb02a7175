package simulation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	directoryactor "mizan/actors/directory"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/posting"
	"mizan/posting/store"
)

// Image is a directory with the files with which every world begins. They contain a sandbox whose partner has a webhook, a
// terminal that holds money, a terminal that takes a fee, limits, and a payment link.
type Image struct {
	dir     string
	sandbox *directoryactor.Sandbox
	limit   string // id of the monthly limit
	link    string // id of the payment link
}

// webhookURL is the URL to which notifications are sent, on the merchants' servers.
const webhookURL = "http://shop.example/hook"

// NewImage creates an image in a folder. It must be called within a bubble of testing/synctest.
func NewImage(root string) (i *Image, err error) {
	dir := filepath.Join(root, "node-0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := secret.CreateKeyring(filepath.Join(dir, keyringFile), rand.Reader); err != nil {
		return nil, err
	}
	empty, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, MemTable: memTable, SegmentSize: segment, ValuesFileSize: valuesFile, Log: slog.New(slog.DiscardHandler)}, Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = empty.Close()
	}
	if err != nil {
		return nil, err
	}
	w := newWorld(Plan{Manual: true}, root, nil)
	w.startClock()
	w.rail.inner, err = simulator.Open(simulator.Options{Path: filepath.Join(root, simulatorLog), Clock: w.clock, BaseURL: baseURL, Key: make([]byte, simulator.KeySize)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.rail.inner.Close()) }()
	if w.node, err = w.startNode(dir); err != nil {
		return nil, err
	}
	n := w.node
	if w.sandbox, err = n.directory.Seed(context.Background(), directoryactor.SeedInput{}); err == nil {
		err = w.setUp(n)
	}
	n.runtime.Quiesce()
	if err == nil {
		err = fillMemtable(n.journal)
	}
	killed := filepath.Join(root, "image")
	if err == nil {
		// The files are copied before the process ends, so they look like after a kill: some rows are only in the log, not in a
		// table.
		err = errors.Join(os.Mkdir(killed, 0o700), copyFiles(dir, killed))
	}
	n.end(w)
	if len(w.violations) > 0 {
		err = errors.Join(err, errors.New(w.violations[0]))
	}
	return &Image{killed, w.sandbox, w.limit, w.link}, err
}

// fillMemtable writes more rows than fit into a memtable, and then removes the rows. So the first process of a world writes a
// table when it replays the log, and later processes begin with a half-full memtable. Without this, tables would only be
// written when a process is stopped.
func fillMemtable(j *posting.Journal) error {
	const rows, size = 17, 90 << 10
	for _, value := range [][]byte{make([]byte, size), nil} {
		for i := range rows {
			kv := posting.KV{Org: directory.PlatformOrg, Key: fmt.Append([]byte("zfill-"), i), Value: value}
			if err := j.SubmitAndWait(&posting.Change{KVs: []posting.KV{kv}}).Err; err != nil {
				return err
			}
		}
	}
	return nil
}

// setUp creates what a sandbox lacks: the webhook, the terminals, the limits and the payment link.
func (w *world) setUp(n *node) error {
	c := &client{w, n}
	for _, r := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPatch, "/api/v1/partners/1", fmt.Sprintf(`{"notify_url":%q,"secret":"0123456789abcdef0123456789abcdef"}`, webhookURL), http.StatusOK},
		{http.MethodPost, "/api/v1/terminal", fmt.Sprintf(`{"partner_id":1,"name":"holding","provider":"simulator","type":"payment","env":"prod","provider_params":{"priority":-1,"two_phase":true,"hold_ttl_seconds":100000,"currencies":[%q]}}`, holdCurrency), http.StatusCreated},
		{http.MethodPost, "/api/v1/terminal", fmt.Sprintf(`{"partner_id":1,"name":"fee","provider":"simulator","type":"payment","env":"prod","provider_params":{"priority":-1,"fee_bps":"%d","fee_fixed":"%d","currencies":[%q]}}`, feeBasisPoints, feeFixed, feeCurrency), http.StatusCreated},
		{http.MethodPost, "/api/v1/limits", fmt.Sprintf(`{"partner_id":1,"kind":"daily_volume","type":"payment","currency":%q,"env":"prod","max_amount":"%d","scope":"partner","active":true}`, limitedCurrency, dailyLimit), http.StatusCreated},
		{http.MethodPost, "/api/v1/limits", fmt.Sprintf(`{"partner_id":1,"kind":"monthly_volume","type":"payment","currency":%q,"env":"prod","max_amount":"%d","scope":"partner","active":true}`, limitedCurrency, 1_000*dailyLimit), http.StatusCreated},
	} {
		a := c.request(byOperator, r.method, r.path, "", r.body)
		if a.status != r.want {
			return fmt.Errorf("%s %s answered %d: %s", r.method, r.path, a.status, a.body)
		}
		w.limit = a.get("id") // after the loop, w.limit is the id of the monthly limit, because that one is created last
	}
	a := c.request(byPartner, http.MethodPost, linksPath, "", fmt.Sprintf(`{"env":"prod","name":"Anything","amount":{"default":1000,"currency":%q},"amount_type":"dynamic","pay_config":{}}`, plainCurrency))
	if a.status != http.StatusCreated {
		return fmt.Errorf("a link is answered %d: %s", a.status, a.body)
	}
	w.link = a.get("id")
	return nil
}

// copyFiles copies the files of a machine while no process writes to them. Badger's tables never change, so the copies of
// tables are hard links.
func copyFiles(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case strings.HasSuffix(name, ".sst"):
			return os.Link(path, target)
		case strings.HasSuffix(name, ".mem"): // log of a memtable of Badger; the next start would delete it unread
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}

// dropRemoved completes the removal of files in a copy of a machine's files. It deletes the files that Remove has only renamed.
func dropRemoved(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), removedPrefix) {
			err = os.Remove(path)
		}
		return err
	})
}
