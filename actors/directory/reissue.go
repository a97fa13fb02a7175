package directory

import (
	"context"
	"net/netip"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Value names a secret of sandbox.json by its path in that file.
type Value string

// The secrets of sandbox.json.
const (
	AdminToken         Value = "admin_token"
	PartnerPass        Value = "partner_pass"
	APIKey             Value = "api_key"
	SessionToken       Value = "session_token"
	AuditorToken       Value = "auditor_token"
	SecondAPIKey       Value = "second.api_key"
	SecondSessionToken Value = "second.session_token"
)

// Sandbox returns the sandbox's organizations and partners without secrets; false if this store is
// not a sandbox.
func (s *Service) Sandbox() (*Sandbox, bool) {
	demos := s.platform.Load().record.Sandbox
	if len(demos) != 2 {
		return nil, false
	}
	return &Sandbox{
		First:  Demo{Org: demos[0].Org, Partner: demos[0].Partner, Login: demoLogin},
		Second: Demo{Org: demos[1].Org, Partner: demos[1].Partner, Login: demoLogin},
	}, true
}

// Reissue makes a new value for a secret that was lost from sandbox.json. It revokes nothing; only
// the password replaces the old one, because there is only one. Errors are *ledger.Refusal.
func (s *Service) Reissue(ctx context.Context, which Value) (secret.Text, error) {
	const op = "directory.Reissue"
	box, ok := s.Sandbox()
	if !ok {
		return "", notFound(op, "sandbox")
	}
	switch which {
	case AdminToken:
		return s.MintAdminToken(ctx)
	case PartnerPass:
		return s.reissuePass(ctx, box.First)
	case APIKey:
		return s.reissueKey(ctx, box.First)
	case SecondAPIKey:
		return s.reissueKey(ctx, box.Second)
	case SessionToken:
		return s.reissueSession(ctx, box.First.Org, directory.Admin)
	case AuditorToken:
		return s.reissueSession(ctx, box.First.Org, directory.Auditor)
	case SecondSessionToken:
		return s.reissueSession(ctx, box.Second.Org, directory.Admin)
	}
	return "", notFound(op, "value")
}

// PassInForce tells whether the password is that of the sandbox's partner. It costs one password
// hash, except for an empty password, which is never right. Errors are *ledger.Refusal.
func (s *Service) PassInForce(ctx context.Context, demo Demo, pass []byte) (bool, error) {
	p, found := s.Partner(demo.Org, demo.Partner)
	if !found || len(pass) == 0 {
		return false, nil
	}
	place, err := s.attempts.enter(ctx, netip.Addr{})
	if err != nil {
		return false, err
	}
	defer place.Leave()
	return s.passwords.verify(p.PassHash, pass), nil
}

func (s *Service) reissuePass(ctx context.Context, demo Demo) (secret.Text, error) {
	pass := secret.NewToken("", s.random)
	hash, err := s.passwords.hash(ctx, s.random, []byte(pass))
	if err != nil {
		return "", err
	}
	if _, err = s.PatchPartner(ctx, demo.Org, demo.Partner, func(p *directory.Partner, _ *schema.Faults) { p.PassHash = hash }); err != nil {
		return "", err
	}
	return secret.Text(pass), nil
}

func (s *Service) reissueKey(ctx context.Context, demo Demo) (secret.Text, error) {
	k, err := s.CreateAPIKey(ctx, demo.Org, sandboxKey(demo.Partner))
	if err != nil {
		return "", err
	}
	return secret.Text(k.Value), nil
}

func (s *Service) reissueSession(ctx context.Context, org ledger.ID, role directory.Role) (secret.Text, error) {
	const op = "directory.Reissue"
	record, event, token := s.newSession(org, role)
	err := s.run(ctx, org, op, func(ledger.Micros) (*posting.Change, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, err
		}
		return &posting.Change{
			Steps:  []posting.Step{plainStep(directory.Sessions, org, 0, record, event)},
			Claims: []ledger.Claim{hashClaim(org, record.Hash, record.ID)},
		}, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putSession(record, stamps[0])
	})
	if err != nil {
		return "", err
	}
	return secret.Text(token), nil
}
