package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	_ "mizan/actors/provider/simulator" // the provider of the terminals
	"mizan/bench/server"
	"mizan/internal/clock"
	"mizan/internal/secret"
)

// merchantsFile is the file in the data directory with the values of the keys that a load test has created. The
// store has only the hashes of these keys.
const merchantsFile = "bench-merchants.json"

// merchants are the partners that a load test has added to a sandbox's first organization.
type merchants struct {
	Organization string     `json:"organization_id"`
	Terminals    int        `json:"terminals"` // of each partner
	Partners     []merchant `json:"partners"`
}

// merchant is a partner and the values of its keys.
type merchant struct {
	ID   int64    `json:"id"`
	Keys []string `json:"keys"`
}

// merchantCounts tells how many partners there are, how many terminals each of them has, and how many API keys
// all of them have together.
type merchantCounts struct{ partners, terminals, keys int }

// String describes the counts for people.
func (c merchantCounts) String() string {
	return fmt.Sprintf("%d partners with %d terminals each and %d keys in all", c.partners, c.terminals, c.keys)
}

func (m *merchants) counts() merchantCounts {
	c := merchantCounts{partners: len(m.Partners), terminals: m.Terminals}
	for i := range m.Partners {
		c.keys += len(m.Partners[i].Keys)
	}
	return c
}

// keys returns the values of all keys in the order in which requests use them: each partner's first key,
// then each partner's second key, and so on.
func (m *merchants) keys() (keys []string) {
	for round := 0; ; round++ {
		countBefore := len(keys)
		for i := range m.Partners {
			if partnerKeys := m.Partners[i].Keys; round < len(partnerKeys) {
				keys = append(keys, partnerKeys[round])
			}
		}
		if len(keys) == countBefore {
			return keys
		}
	}
}

// readMerchants returns the merchants that an earlier run has created in a data directory, or nil if there are none. It returns
// an error if the numbers of these merchants differ from want, because merchants can't be removed.
func readMerchants(dir string, s *server.Sandbox, want merchantCounts) (*merchants, error) {
	content, err := os.ReadFile(filepath.Join(dir, merchantsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := new(merchants)
	if err == nil {
		err = json.Unmarshal(content, m)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("bench: %s: %w", merchantsFile, err)
	case m.Organization != s.OrganizationID:
		return nil, fmt.Errorf("bench: %s is of another sandbox", merchantsFile)
	case m.counts() != want:
		return nil, fmt.Errorf("bench: %s has %v: ask for as many, or use another --data", dir, m.counts())
	}
	return m, nil
}

// addMerchants creates merchants in a data directory that no server has open, and writes the
// values of their keys to a file.
func addMerchants(ctx context.Context, dir string, s *server.Sandbox, want merchantCounts) (m *merchants, err error) {
	org, err := uuid.Parse(s.OrganizationID)
	if err != nil {
		return nil, fmt.Errorf("bench: sandbox.json: %w", err)
	}
	keyring, err := secret.LoadSealingKeyring(filepath.Join(dir, "keyring"))
	if err != nil {
		return nil, err
	}
	journal, err := openJournal(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	runtime := actors.New(actors.Options{Clock: clock.Real{}, Journal: journal, Log: slog.New(slog.DiscardHandler)})
	defer runtime.Stop()
	service, err := directoryactor.Start(runtime, keyring)
	if err != nil {
		return nil, err
	}
	added, err := service.AddMerchants(ctx, org, directoryactor.MerchantsDraft{Partners: want.partners, Terminals: want.terminals, Keys: want.keys})
	if err != nil {
		return nil, err
	}
	m = &merchants{Organization: s.OrganizationID, Terminals: want.terminals}
	for i := range added {
		partner := merchant{ID: added[i].Number}
		for _, value := range added[i].Keys {
			partner.Keys = append(partner.Keys, string(value))
		}
		m.Partners = append(m.Partners, partner)
	}
	content, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return m, os.WriteFile(filepath.Join(dir, merchantsFile), content, 0o600)
}

// ensureMerchants makes sure that the server's organization has the merchants of the run. If merchants have to be created, it
// stops the server and starts it again, because the store must be closed meanwhile.
func (r *serverRun) ensureMerchants(ctx context.Context, dir string) (err error) {
	want := r.cfg.wantedMerchants()
	if r.merchants, err = readMerchants(dir, &r.sandbox, want); err != nil || r.merchants != nil {
		return err
	}
	if r.server == nil {
		return fmt.Errorf("bench: %s has no %s: only a server that the bench starts itself can be given merchants", dir, merchantsFile)
	}
	if err := r.server.Stop(stopTimeout); err != nil {
		return err
	}
	r.server = nil
	began := time.Now()
	if r.merchants, err = addMerchants(ctx, dir, &r.sandbox, want); err != nil {
		return fmt.Errorf("bench: merchants: %w", err)
	}
	printLine(r.out, "merchants  %v, made in %.1f s", want, time.Since(began).Seconds())
	if err := r.start(ctx, dir); err != nil {
		return err
	}
	r.sandbox = r.server.Sandbox
	return nil
}
