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

func (h *fixture) operatedBy(p *directory.Partner, kind directory.TerminalType, env money.Env, params string) *directory.Terminal {
	h.t.Helper()
	d := directory.Terminal{Partner: p.Number, Name: "T", Type: kind, Env: env, MerchantParams: []byte(params), Active: true}
	if kind != directory.MerchantTerminal {
		d.Provider = directory.Simulator
	}
	return must(h.CreateTerminal(h.t.Context(), p.Org, d))
}

const (
	byChat = `{"tg_ids_to_notify":[-100123]}`
	byMail = `{"emails_to_notify":["ops@bank.example"]}`
)

func TestWhoseOperatorsAreToldOfATransaction(t *testing.T) {
	h := open(t)
	org, other := h.organization("a").ID, h.organization("b").ID
	p := h.partnerOf(org, "p")
	chat, mail := h.operatedBy(p, directory.PaymentTerminal, money.Test, byChat), h.operatedBy(p, directory.PayoutTerminal, money.Prod, byMail)
	silent := h.operatedBy(p, directory.PaymentTerminal, money.Test, `{"notify_url":"https://shop.example/hook"}`)
	told := h.operatedBy(p, directory.MerchantTerminal, money.Test, byMail)
	h.operatedBy(p, directory.MerchantTerminal, money.Prod, `{}`)
	for name, c := range map[string]struct {
		org, terminal ledger.ID
		partner       int64
		env           money.Env
		want          *directory.Terminal
	}{
		"a chat":                     {org, chat.ID, p.Number, money.Test, chat},
		"an address":                 {org, mail.ID, p.Number, money.Prod, mail},
		"nobody":                     {org, silent.ID, p.Number, money.Test, nil},
		"no terminal":                {org, ledger.ID{}, p.Number, money.Test, told},
		"no terminal, nobody":        {org, ledger.ID{}, p.Number, money.Prod, nil},
		"no terminal, another's":     {org, ledger.ID{}, p.Number + 1, money.Test, nil},
		"a terminal that is not":     {org, ledger.ID{7}, p.Number, money.Test, nil},
		"another organization's":     {other, chat.ID, p.Number, money.Test, nil},
		"an organization that isn't": {ledger.ID{7}, chat.ID, p.Number, money.Test, nil},
	} {
		got, ok := h.AlertTerminal(c.org, c.partner, c.env, c.terminal)
		if ok != (c.want != nil) || ok && got.ID != c.want.ID {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	off := false
	must(h.PatchTerminal(t.Context(), org, told.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = off }))
	if _, ok := h.AlertTerminal(org, p.Number, money.Test, ledger.ID{}); ok {
		t.Error("operators of a notification-only terminal are told that is switched off")
	}
}

func TestAllTerminalsWhoseOperatorsWantToBeTold(t *testing.T) {
	h := open(t)
	h.organization("empty")
	first, second := h.organization("a").ID, h.organization("b").ID
	p, q, other := h.partnerOf(first, "p"), h.partnerOf(first, "q"), h.partnerOf(second, "p")
	want := map[ledger.ID][]ledger.ID{}
	a := h.operatedBy(p, directory.PaymentTerminal, money.Test, byChat)
	b := h.operatedBy(q, directory.PaymentTerminal, money.Test, byChat)
	c := h.operatedBy(p, directory.PayoutTerminal, money.Prod, byMail)
	h.operatedBy(p, directory.PaymentTerminal, money.Test, `{}`)
	d := h.operatedBy(other, directory.MerchantTerminal, money.Test, byMail)
	want[first], want[second] = []ledger.ID{a.ID, c.ID, b.ID}, []ledger.ID{d.ID}
	off := false
	must(h.PatchTerminal(t.Context(), first, c.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = off }))
	got := map[ledger.ID][]ledger.ID{}
	err := h.AlertTerminals(func(org ledger.ID, terminals []*directory.Terminal) error {
		for _, terminal := range terminals {
			got[org] = append(got[org], terminal.ID)
		}
		return nil
	})
	if err != nil || len(got) != 2 || !slices.Equal(got[first], want[first]) || !slices.Equal(got[second], want[second]) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	broken := errors.New("broken")
	calls := 0
	if err := h.AlertTerminals(func(ledger.ID, []*directory.Terminal) error { calls++; return broken }); !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
