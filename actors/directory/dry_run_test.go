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

func TestADryRunChangesNothing(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	partner := f.newPartner(org.ID, "shop")
	terminal := f.newTerminal(partner, "{}")
	apiKey, _ := f.issueKey(partner)
	eventsBefore, platformEventsBefore := f.events(org.ID), f.events(directory.PlatformOrg)
	ctx, name := WithDryRun(t.Context()), "Other"
	for what, write := range map[string]func() error{
		"an organization": func() error {
			_, err := f.CreateOrganization(ctx, directory.Organization{Name: name, Type: directory.Merchant, Status: directory.Active})
			return err
		},
		"a partner": func() error {
			_, err := f.CreatePartner(ctx, org.ID, directory.Partner{Name: name, Login: "other", Active: true}, []byte("nine-Lions-paint"))
			return err
		},
		"a partner's change": func() error {
			_, err := f.PatchPartner(ctx, org.ID, partner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name })
			return err
		},
		"a partner's password": func() error {
			_, err := f.PatchPartnerPass(ctx, org.ID, partner.Number, func(_ *directory.Partner, _ *schema.Faults) {}, []byte("another-Lion-paints-9"))
			return err
		},
		"a terminal's change": func() error {
			_, err := f.PatchTerminal(ctx, org.ID, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Name = name })
			return err
		},
		"a user": func() error {
			_, err := f.CreateUser(ctx, org.ID, directory.User{Login: "u", Name: name, Roles: directory.Roles{"client"}, Active: true}, []byte("nine-Lions-paint"))
			return err
		},
		"a revocation": func() error { _, err := f.RevokeAPIKey(ctx, org.ID, apiKey.ID); return err },
		"a settlement": func() error {
			_, _, err := f.SettlePartner(ctx, org.ID, partner.Number, false, directory.SettlementDraft{
				Currency: "USD", Env: money.Test, Amount: money.FromUint64(1), Reference: "r",
			})
			return err
		},
	} {
		if err := write(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := f.events(org.ID); !slices.Equal(after, eventsBefore) {
		t.Errorf("the organization has %v, and had %v", after, eventsBefore)
	}
	if after := f.events(directory.PlatformOrg); !slices.Equal(after, platformEventsBefore) {
		t.Errorf("the platform has %v, and had %v", after, platformEventsBefore)
	}
}

func TestADryRunIsRefusedAsTheWriteWouldBe(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	_, err := f.CreateTerminal(WithDryRun(t.Context()), org.ID, directory.Terminal{
		Partner: 99, Name: "T", Provider: "x", Type: "x", Env: money.Prod, Active: true,
	})
	var all directory.Refusals
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var fields []string
	for _, refusal := range all {
		fields = append(fields, refusal.Field)
	}
	if slices.Sort(fields); !slices.Equal(fields, []string{"partner_id", "provider", "type"}) {
		t.Errorf("refused are %v", fields)
	}
	_, err = f.PatchPartner(WithDryRun(t.Context()), org.ID, 99, func(_ *directory.Partner, _ *schema.Faults) {})
	wantCode(t, "no partner", err, ledger.NotFound, "")
}

func TestAPasswordIsRefusedWithTheOtherFieldsOfAChange(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	p := f.newPartner(o.ID, "shop")
	empty := ""
	_, err := f.PatchPartnerPass(t.Context(), o.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = empty }, nil)
	var all directory.Refusals
	if !errors.As(err, &all) || len(all) != 2 || all[0].Field != "name" || all[1].Field != "pass" {
		t.Errorf("%v", err)
	}
}
