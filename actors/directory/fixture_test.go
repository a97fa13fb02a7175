package directory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	_ "mizan/actors/provider/simulator" // the provider of most terminals
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

var startTime = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)

// fixture is a Service on its own store, which a test can close and open again.
type fixture struct {
	*testkit.World
	*Service
	t      *testing.T
	sealer Sealer
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, startTime), t: t}
	f.sealer = f.Keyring
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	return f
}

// start opens the store and reads the directory; the journal stays open if the directory cannot be
// read.
func (f *fixture) start() (err error) {
	f.t.Helper()
	f.Open()
	if f.Service, err = Start(f.Runtime, f.sealer); err != nil {
		return err
	}
	f.passwords.memory = 8 // KiB; the least that Argon2id accepts
	return nil
}

func (f *fixture) restart() {
	f.t.Helper()
	f.Close()
	if err := f.start(); err != nil {
		f.t.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("unexpected error: %v", err))
	}
	return value
}

func (f *fixture) newOrganization(name string) *directory.Organization {
	f.t.Helper()
	return must(f.CreateOrganization(f.t.Context(), directory.Organization{Name: name, Type: directory.Merchant, Status: directory.Active}))
}

func (f *fixture) newPartner(org ledger.ID, login string) *directory.Partner {
	f.t.Helper()
	return must(f.CreatePartner(f.t.Context(), org, directory.Partner{Name: login, Login: login, Active: true}, []byte("nine-Lions-paint")))
}

func (f *fixture) newTerminal(p *directory.Partner, params string) *directory.Terminal {
	f.t.Helper()
	return must(f.CreateTerminal(f.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "T", Provider: directory.Simulator, Type: directory.PaymentTerminal,
		ProviderParams: []byte(params), Env: money.Prod, Active: true,
	}))
}

func (f *fixture) issueKey(p *directory.Partner) (*directory.APIKey, []byte) {
	f.t.Helper()
	k := must(f.CreateAPIKey(f.t.Context(), p.Org, directory.APIKey{Partner: p.Number, Name: "key"}))
	return k, []byte(k.Value)
}

// readAt reads a stored record as if it belonged to the organization and had the id.
func readAt[R any](s *Service, k recordKind[R], org, id ledger.ID, stored []byte) (*R, error) {
	return k.decoder(s)(schema.RowMetadata{Org: org, ID: id}, stored)
}

// sources parses addresses and prefixes from which a partner may come.
func sources(texts ...string) (parsed []netip.Prefix) {
	for _, text := range texts {
		parsed = append(parsed, must(directory.ParseSource(text)))
	}
	return parsed
}

// events returns the organization's events as kind:name, and checks each against its state machine.
func (f *fixture) events(org ledger.ID) (names []string) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	err := v.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		names = append(names, string(e.Source.Kind)+":"+e.Name)
		if !directory.IsLegalTransition(e.Source.Kind, e.Name, e.From, e.To) {
			f.t.Errorf("event %d: %c %s from %q to %q is no step of a machine", e.Seq, e.Source.Kind, e.Name, e.From, e.To)
		}
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
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

func canceledContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// commit writes a change without the service.
func (f *fixture) commit(c *posting.Change) error { return f.Submit(c).Err }
