package directory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"mizan/actors"
	_ "mizan/actors/provider/simulator" // the provider of most terminals
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/store"
)

var began = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)

// fixture is a Service on its own store, which a test can close and open again.
type fixture struct {
	*Service
	t       *testing.T
	dir     string
	clock   *clock.Manual
	journal *posting.Journal
	runtime *actors.Runtime
	sealer  Sealer
}

func open(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, dir: t.TempDir(), clock: clock.NewManual(began)}
	h.sealer = must(secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader))
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

// start opens the store and reads the directory; the journal stays open if the directory cannot be
// read.
func (h *fixture) start() (err error) {
	h.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h.journal, err = posting.Open(posting.Options{Store: store.Options{Dir: h.dir, Log: quiet, MemTable: 8 << 20}, Clock: h.clock, Log: quiet})
	if err != nil {
		h.t.Fatal(err)
	}
	h.runtime = actors.New(actors.Options{Clock: h.clock, Journal: h.journal, Log: quiet})
	if h.Service, err = Start(h.runtime, h.sealer); err != nil {
		return err
	}
	h.passwords.memory = 8 // the least that the algorithm accepts
	return nil
}

func (h *fixture) close() {
	h.runtime.Stop()
	if err := h.journal.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *fixture) restart() {
	h.t.Helper()
	h.close()
	if err := h.start(); err != nil {
		h.t.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("unexpected error: %v", err))
	}
	return value
}

func (h *fixture) organization(name string) *directory.Organization {
	h.t.Helper()
	return must(h.CreateOrganization(h.t.Context(), directory.Organization{Name: name, Type: directory.Merchant, Status: directory.Active}))
}

func (h *fixture) partnerOf(org ledger.ID, login string) *directory.Partner {
	h.t.Helper()
	return must(h.CreatePartner(h.t.Context(), org, directory.Partner{Name: login, Login: login, Active: true}, []byte("nine-Lions-paint")))
}

func (h *fixture) terminalOf(p *directory.Partner, params string) *directory.Terminal {
	h.t.Helper()
	return must(h.CreateTerminal(h.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "T", Provider: directory.Simulator, Type: directory.PaymentTerminal,
		ProviderParams: []byte(params), Env: money.Prod, Active: true,
	}))
}

func (h *fixture) keyOf(p *directory.Partner) (*directory.APIKey, []byte) {
	h.t.Helper()
	k := must(h.CreateAPIKey(h.t.Context(), p.Org, directory.APIKey{Partner: p.Number, Name: "key"}))
	return k, []byte(k.Value)
}

// readAt reads a stored record of an organization.
func readAt[R any](s *Service, k kind[R], org, id ledger.ID, stored []byte) (*R, error) {
	return k.read(s)(schema.Envelope{Org: org, ID: id}, stored)
}

// sources parses addresses and prefixes.
func sources(texts ...string) (parsed []netip.Prefix) {
	for _, text := range texts {
		parsed = append(parsed, must(directory.ParseSource(text)))
	}
	return parsed
}

// commit writes a change without the service.
func (h *fixture) commit(c *posting.Change) error {
	done := make(chan posting.Receipt, 1)
	h.journal.Submit(c, func(r posting.Receipt) { done <- r })
	return (<-done).Err
}

func (h *fixture) events(org ledger.ID) (names []string) {
	h.t.Helper()
	v := h.journal.View()
	defer v.Close()
	err := v.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		names = append(names, string(e.Source.Kind)+":"+e.Name)
		if !directory.Legal(e.Source.Kind, e.Name, e.From, e.To) {
			h.t.Errorf("event %d: %c %s from %q to %q is no step of a machine", e.Seq, e.Source.Kind, e.Name, e.From, e.To)
		}
		return true, nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return names
}

// wantCode checks that the error is a refusal with the code and field.
func wantCode(t *testing.T, what string, err error, code ledger.Code, field string) {
	t.Helper()
	var r *ledger.Refusal
	if !errors.As(err, &r) || r.Code != code || r.Field != field {
		t.Errorf("%s: %v, want %s %s", what, err, code, field)
	}
}

func text(s secret.Text) []byte { return []byte(s) }

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
