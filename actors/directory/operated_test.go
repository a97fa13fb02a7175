package directory

import (
	"errors"
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func (f *fixture) newOperatedTerminal(p *directory.Partner, kind directory.TerminalType, env money.Env, params string) *directory.Terminal {
	f.t.Helper()
	d := directory.Terminal{Partner: p.Number, Name: "T", Type: kind, Env: env, MerchantParams: []byte(params), Active: true}
	if kind != directory.MerchantTerminal {
		d.Provider = directory.Simulator
	}
	return must(f.CreateTerminal(f.t.Context(), p.Org, d))
}

const (
	byChat = `{"tg_ids_to_notify":[-100123]}`
	byMail = `{"emails_to_notify":["ops@bank.example"]}`
)

func TestAlertTerminal(t *testing.T) {
	f := open(t)
	org, other := f.newOrganization("a").ID, f.newOrganization("b").ID
	p := f.newPartner(org, "p")
	chat, mail := f.newOperatedTerminal(p, directory.PaymentTerminal, money.Test, byChat), f.newOperatedTerminal(p, directory.PayoutTerminal, money.Prod, byMail)
	withoutContacts := f.newOperatedTerminal(p, directory.PaymentTerminal, money.Test, `{"notify_url":"https://shop.example/hook"}`)
	withContacts := f.newOperatedTerminal(p, directory.MerchantTerminal, money.Test, byMail)
	f.newOperatedTerminal(p, directory.MerchantTerminal, money.Prod, `{}`)
	for name, c := range map[string]struct {
		org, terminal ledger.ID
		partner       int64
		env           money.Env
		want          *directory.Terminal
	}{
		"a terminal with a chat":            {org, chat.ID, p.Number, money.Test, chat},
		"a terminal with an e-mail address": {org, mail.ID, p.Number, money.Prod, mail},
		"a terminal without contacts":       {org, withoutContacts.ID, p.Number, money.Test, nil},
		"no terminal":                       {org, ledger.ID{}, p.Number, money.Test, withContacts},
		"no terminal, no contacts":          {org, ledger.ID{}, p.Number, money.Prod, nil},
		"no terminal, another partner":      {org, ledger.ID{}, p.Number + 1, money.Test, nil},
		"an unknown terminal":               {org, ledger.ID{7}, p.Number, money.Test, nil},
		"another organization's terminal":   {other, chat.ID, p.Number, money.Test, nil},
		"an unknown organization":           {ledger.ID{7}, chat.ID, p.Number, money.Test, nil},
	} {
		got, ok := f.AlertTerminal(c.org, c.partner, c.env, c.terminal)
		if ok != (c.want != nil) || ok && got.ID != c.want.ID {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	inactive := false
	must(f.PatchTerminal(t.Context(), org, withContacts.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = inactive }))
	if _, ok := f.AlertTerminal(org, p.Number, money.Test, ledger.ID{}); ok {
		t.Error("operators of a notification-only terminal that is switched off are told")
	}
}

func TestAlertTerminals(t *testing.T) {
	f := open(t)
	f.newOrganization("empty")
	firstOrg, secondOrg := f.newOrganization("a").ID, f.newOrganization("b").ID
	p, q, other := f.newPartner(firstOrg, "p"), f.newPartner(firstOrg, "q"), f.newPartner(secondOrg, "p")
	want := map[ledger.ID][]ledger.ID{}
	a := f.newOperatedTerminal(p, directory.PaymentTerminal, money.Test, byChat)
	b := f.newOperatedTerminal(q, directory.PaymentTerminal, money.Test, byChat)
	c := f.newOperatedTerminal(p, directory.PayoutTerminal, money.Prod, byMail)
	f.newOperatedTerminal(p, directory.PaymentTerminal, money.Test, `{}`)
	d := f.newOperatedTerminal(other, directory.MerchantTerminal, money.Test, byMail)
	want[firstOrg], want[secondOrg] = []ledger.ID{a.ID, c.ID, b.ID}, []ledger.ID{d.ID}
	inactive := false
	must(f.PatchTerminal(t.Context(), firstOrg, c.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = inactive }))
	got := map[ledger.ID][]ledger.ID{}
	err := f.AlertTerminals(func(org ledger.ID, terminals []*directory.Terminal) error {
		for _, terminal := range terminals {
			got[org] = append(got[org], terminal.ID)
		}
		return nil
	})
	if err != nil || len(got) != 2 || !slices.Equal(got[firstOrg], want[firstOrg]) || !slices.Equal(got[secondOrg], want[secondOrg]) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	broken := errors.New("broken")
	calls := 0
	if err := f.AlertTerminals(func(ledger.ID, []*directory.Terminal) error { calls++; return broken }); !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
