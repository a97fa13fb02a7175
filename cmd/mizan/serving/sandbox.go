package serving

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	directoryactor "mizan/actors/directory"
	"mizan/cmd/mizan/cli"
	"mizan/internal/durable"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// sandboxFile, in the data directory, is the only file with the sandbox's secrets in plaintext.
const (
	sandboxFile    = "sandbox.json"
	maxSandboxFile = 64 << 10
	seedBound      = time.Minute // how long all commands that create a store's first data may take together
)

// sandbox is the content of sandbox.json. Clients rely on the names of its members.
type sandbox struct {
	BaseURL        string     `json:"base_url"`
	CAFile         string     `json:"ca_file"`
	AdminToken     string     `json:"admin_token"`
	OrganizationID string     `json:"organization_id"`
	PartnerID      int64      `json:"partner_id"`
	APIKey         string     `json:"api_key"`
	PartnerLogin   string     `json:"partner_login"`
	PartnerPass    string     `json:"partner_pass"`
	SessionToken   string     `json:"session_token"`
	AuditorToken   string     `json:"auditor_token"`
	Second         secondDemo `json:"second"`
}

// secondDemo is the sandbox's second organization, with a partner.
type secondDemo struct {
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
	APIKey         string `json:"api_key"`
	SessionToken   string `json:"session_token"`
}

// seedStore creates the first administration token and, in the sandbox, its organizations and
// sandbox.json.
func (s *server) seedStore(ctx context.Context) error {
	// A stop that is requested now waits for the seed's end, because a half-finished seed would need
	// cleaning up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), seedBound)
	defer cancel()
	seed := s.seedAdminToken
	if s.cfg.Sandbox {
		seed = s.seedSandbox
	}
	if err := seed(ctx); err != nil {
		return err
	}
	if n := s.directory.AdminTokens(); n > 1 {
		s.log.Info("several administration tokens are in force", "count", n)
	}
	return nil
}

// seedAdminToken puts the configured token in force, or creates the first token. It prints a new token
// before the token is durable, so a token that was never printed can't be in force. After a kill between
// the two steps, the printed token is not in force.
func (s *server) seedAdminToken(ctx context.Context) error {
	token := s.cfg.AdminToken
	if token == "" {
		if s.directory.AdminTokens() > 0 {
			return nil
		}
		token = secret.NewToken("mza_", rand.Reader)
		if _, err := fmt.Fprintf(s.streams.Out, "mizan: first admin token, shown this once: %s\n", token); err != nil {
			return cli.StorageFault("the first admin token can't be shown: %v", err)
		}
	}
	return s.commandFault(s.directory.AdmitAdminToken(ctx, []byte(token)))
}

// seedSandbox seeds an empty store and writes sandbox.json.
func (s *server) seedSandbox(ctx context.Context) error {
	box := s.readSandbox()
	if s.directory.Empty() {
		seeded, err := s.directory.Seed(ctx, directoryactor.SeedInput{AdminToken: secret.Text(s.cfg.AdminToken)})
		if err != nil {
			return s.commandFault(err)
		}
		box.takeSecrets(seeded)
	} else if err := s.reissueLostSecrets(ctx, box); err != nil {
		return err
	}
	if s.cfg.AdminToken != "" {
		if err := s.directory.AdmitAdminToken(ctx, []byte(s.cfg.AdminToken)); err != nil {
			return s.commandFault(err)
		}
		box.AdminToken = s.cfg.AdminToken
	}
	box.BaseURL, box.CAFile = s.baseURL, ""
	if s.transport.caFile != "" {
		box.CAFile = absolutePath(s.transport.caFile)
	}
	s.directory.OnRotation(s.storeRotatedToken)
	return s.writeSandbox(box)
}

func (s *server) writeSandbox(box *sandbox) error {
	content, err := json.MarshalIndent(box, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(s.cfg.Dir, sandboxFile), 0o600, append(content, '\n')); err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// storeRotatedToken writes the successor of a rotated token into sandbox.json if the file has the retired
// token. If the file can't be written, the next start creates another token for it.
func (s *server) storeRotatedToken(retired, successor secret.Text) {
	box := s.readSandbox()
	if box.AdminToken != string(retired) {
		return
	}
	box.AdminToken = string(successor)
	if err := s.writeSandbox(box); err != nil {
		s.log.Warn("sandbox.json can't be written; the next start makes another admin token for it", "error", err)
	}
}

// commandFault returns the fault with which the process ends if a command of the start failed with err.
func (s *server) commandFault(err error) error {
	if err == nil {
		return nil
	}
	return cli.StorageFault("the start could not be written down: %v", err)
}

// readSandbox reads sandbox.json of an earlier start. A file that can't be read counts as empty.
func (s *server) readSandbox() *sandbox {
	box := new(sandbox)
	content, err := cli.ReadFile(filepath.Join(s.cfg.Dir, sandboxFile), maxSandboxFile)
	if err != nil {
		return box
	}
	if err := json.Unmarshal(content, box); err != nil {
		s.log.Warn("sandbox.json can't be read; its values are issued anew")
		return new(sandbox)
	}
	return box
}

// takeSecrets copies the secrets that the first start has created.
func (b *sandbox) takeSecrets(seeded *directoryactor.Sandbox) {
	b.fillPublicMembers(seeded)
	b.AdminToken, b.PartnerPass = string(seeded.AdminToken), string(seeded.First.Pass)
	b.APIKey, b.SessionToken = string(seeded.First.APIKey), string(seeded.First.SessionToken)
	b.AuditorToken = string(seeded.First.AuditorToken)
	b.Second.APIKey, b.Second.SessionToken = string(seeded.Second.APIKey), string(seeded.Second.SessionToken)
}

// fillPublicMembers fills the members that are not secret, from the store.
func (b *sandbox) fillPublicMembers(stored *directoryactor.Sandbox) {
	b.OrganizationID, b.PartnerID, b.PartnerLogin = stored.First.Org.String(), stored.First.Partner, stored.First.Login
	b.Second.OrganizationID, b.Second.PartnerID = stored.Second.Org.String(), stored.Second.Partner
}

// reissueLostSecrets replaces each secret of an active organization that is lost or not in force with a new one.
func (s *server) reissueLostSecrets(ctx context.Context, box *sandbox) error {
	stored, _ := s.directory.Sandbox()
	box.fillPublicMembers(stored)
	isPassInForce, err := s.directory.PassInForce(ctx, stored.First, []byte(box.PartnerPass))
	if err != nil {
		return s.commandFault(err)
	}
	for _, secret := range []struct {
		kind      directoryactor.Value
		value     *string
		org       ledger.ID
		isInForce bool
	}{
		{directoryactor.AdminToken, &box.AdminToken, uuid.Nil, s.directory.AdminToken([]byte(box.AdminToken))},
		{directoryactor.PartnerPass, &box.PartnerPass, stored.First.Org, isPassInForce},
		{directoryactor.APIKey, &box.APIKey, stored.First.Org, s.isKeyInForce(stored.First, box.APIKey)},
		{directoryactor.SessionToken, &box.SessionToken, stored.First.Org, s.isSessionInForce(stored.First, box.SessionToken, directory.Admin)},
		{directoryactor.AuditorToken, &box.AuditorToken, stored.First.Org, s.isSessionInForce(stored.First, box.AuditorToken, directory.Auditor)},
		{directoryactor.SecondAPIKey, &box.Second.APIKey, stored.Second.Org, s.isKeyInForce(stored.Second, box.Second.APIKey)},
		{directoryactor.SecondSessionToken, &box.Second.SessionToken, stored.Second.Org, s.isSessionInForce(stored.Second, box.Second.SessionToken, directory.Admin)},
	} {
		if secret.isInForce || (*secret.value != "" && s.isInactive(secret.org)) {
			continue
		}
		newValue, err := s.directory.Reissue(ctx, secret.kind)
		var refused *ledger.Refusal
		if errors.As(err, &refused) && refused.Code == ledger.Conflict {
			s.log.Warn("a value of sandbox.json can't be issued anew", "value", string(secret.kind), "error", err)
			continue
		}
		if err != nil {
			return s.commandFault(err)
		}
		*secret.value = string(newValue)
	}
	return nil
}

// isInactive tells whether an organization is switched off. Then none of its secrets is in force, and
// none of them counts as lost.
func (s *server) isInactive(org ledger.ID) bool {
	o, found := s.directory.Organization(org)
	return found && !o.Active()
}

// isKeyInForce tells whether value is an API key of the demo's partner, and in force.
func (s *server) isKeyInForce(demo directoryactor.Demo, value string) bool {
	partner, ok := s.directory.APIKeyInForce(demo.Org, []byte(value))
	return ok && partner.Number == demo.Partner
}

// isSessionInForce tells whether value is the token of a session of the demo, with the role and in force.
func (s *server) isSessionInForce(demo directoryactor.Demo, value string, role directory.Role) bool {
	session, ok := s.directory.SessionInForce(demo.Org, []byte(value))
	return ok && session.Roles.Has(role)
}
