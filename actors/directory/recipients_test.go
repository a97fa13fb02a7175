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

// newTerminalWithContacts creates a terminal. merchantParams may have contacts: the chats and e-mail addresses of
// operators who get alerts about the terminal's transactions. A MerchantTerminal is not used for payments; it
// only has addresses for notifications and alerts.
func (f *fixture) newTerminalWithContacts(p *directory.Partner, kind directory.TerminalType, env money.Env, merchantParams string) *directory.Terminal {
	f.t.Helper()
	draft := directory.Terminal{Partner: p.Number, Name: "T", Type: kind, Env: env, MerchantParams: []byte(merchantParams), Active: true}
	if kind != directory.MerchantTerminal {
		draft.Provider = directory.Simulator
	}
	return must(f.CreateTerminal(f.t.Context(), p.Org, draft))
}

const (
	chatParams = `{"tg_ids_to_notify":[-100123]}`
	mailParams = `{"emails_to_notify":["ops@bank.example"]}`
)

func TestWhichTerminalsContactsGetAnAlert(t *testing.T) {
	f := open(t)
	org, other := f.newOrganization("a").ID, f.newOrganization("b").ID
	p := f.newPartner(org, "p")
	chatTerminal, mailTerminal := f.newTerminalWithContacts(p, directory.PaymentTerminal, money.Test, chatParams), f.newTerminalWithContacts(p, directory.PayoutTerminal, money.Prod, mailParams)
	withoutContacts := f.newTerminalWithContacts(p, directory.PaymentTerminal, money.Test, `{"notify_url":"https://shop.example/hook"}`)
	notificationTerminal := f.newTerminalWithContacts(p, directory.MerchantTerminal, money.Test, mailParams)
	f.newTerminalWithContacts(p, directory.MerchantTerminal, money.Prod, `{}`)
	for name, c := range map[string]struct {
		org, terminal ledger.ID
		partner       int64
		env           money.Env
		want          *directory.Terminal
	}{
		"a terminal with a chat":            {org, chatTerminal.ID, p.Number, money.Test, chatTerminal},
		"a terminal with an e-mail address": {org, mailTerminal.ID, p.Number, money.Prod, mailTerminal},
		"a terminal without contacts":       {org, withoutContacts.ID, p.Number, money.Test, nil},
		"no terminal":                       {org, ledger.ID{}, p.Number, money.Test, notificationTerminal},
		"no terminal, no contacts":          {org, ledger.ID{}, p.Number, money.Prod, nil},
		"no terminal, another partner":      {org, ledger.ID{}, p.Number + 1, money.Test, nil},
		"an unknown terminal":               {org, ledger.ID{7}, p.Number, money.Test, nil},
		"another organization's terminal":   {other, chatTerminal.ID, p.Number, money.Test, nil},
		"an unknown organization":           {ledger.ID{7}, chatTerminal.ID, p.Number, money.Test, nil},
	} {
		got, ok := f.AlertTerminal(c.org, c.partner, c.env, c.terminal)
		if ok != (c.want != nil) || ok && got.ID != c.want.ID {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	must(f.PatchTerminal(t.Context(), org, notificationTerminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = false }))
	if _, ok := f.AlertTerminal(org, p.Number, money.Test, ledger.ID{}); ok {
		t.Error("operators of a notification-only terminal that is switched off are notified")
	}
}

func TestTerminalsWithContactsAreGroupedByPartner(t *testing.T) {
	f := open(t)
	f.newOrganization("empty")
	firstOrg, secondOrg := f.newOrganization("a").ID, f.newOrganization("b").ID
	partner, secondPartner, foreignPartner := f.newPartner(firstOrg, "p"), f.newPartner(firstOrg, "q"), f.newPartner(secondOrg, "p")
	want := map[ledger.ID][]ledger.ID{}
	first := f.newTerminalWithContacts(partner, directory.PaymentTerminal, money.Test, chatParams)
	ofSecondPartner := f.newTerminalWithContacts(secondPartner, directory.PaymentTerminal, money.Test, chatParams)
	inactive := f.newTerminalWithContacts(partner, directory.PayoutTerminal, money.Prod, mailParams)
	f.newTerminalWithContacts(partner, directory.PaymentTerminal, money.Test, `{}`)
	foreign := f.newTerminalWithContacts(foreignPartner, directory.MerchantTerminal, money.Test, mailParams)
	want[firstOrg], want[secondOrg] = []ledger.ID{first.ID, inactive.ID, ofSecondPartner.ID}, []ledger.ID{foreign.ID}
	must(f.PatchTerminal(t.Context(), firstOrg, inactive.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = false }))
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
