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

// sandboxFile is the name of the file in the data directory that contains the sandbox's secrets in plaintext. No other file
// contains them.
const (
	sandboxFile    = "sandbox.json"
	maxSandboxFile = 64 << 10
	seedTimeout    = time.Minute // time limit for creating a store's first data
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
	ConsoleURL     string     `json:"console_url"`
	AdminLogin     string     `json:"admin_login"`
	AdminPass      string     `json:"admin_pass"`
	AuditorLogin   string     `json:"auditor_login"`
	AuditorPass    string     `json:"auditor_pass"`
	ClientLogin    string     `json:"client_login"`
	ClientPass     string     `json:"client_pass"`
	Second         secondDemo `json:"second"`
}

// secondDemo describes the sandbox's second organization and its partner.
type secondDemo struct {
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
	APIKey         string `json:"api_key"`
	SessionToken   string `json:"session_token"`
}

// seedStore creates a store's first data: the first administration token and, in a sandbox, the organizations and sandbox.json.
func (s *server) seedStore(ctx context.Context) error {
	// If a stop is requested now, the stop waits until the first data is complete, because incomplete data would have to be
	// cleaned up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), seedTimeout)
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

// seedAdminToken puts the configured administration token in force. If none is configured and the store has none,
// seedAdminToken creates the first one. It prints a new token before it stores the token, so every token in force has been
// printed. If the process is killed between these two steps, the printed token is not in force.
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

// seedSandbox creates the sandbox's first data if the store is empty, and otherwise replaces lost secrets. Then it writes
// sandbox.json.
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
	box.BaseURL, box.ConsoleURL, box.CAFile = s.baseURL, s.baseURL+"/console", ""
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
	if err := durable.Replace(filepath.Join(s.dir, sandboxFile), 0o600, append(content, '\n')); err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// storeRotatedToken is called after an administration token was rotated. If sandbox.json has the retired token,
// storeRotatedToken writes the new one into the file. If the file can't be written, the next start creates another token and
// writes the file.
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

// commandFault converts the error of a command during the start to the fault that ends the process.
func (s *server) commandFault(err error) error {
	if err == nil {
		return nil
	}
	return cli.StorageFault("the start could not be stored: %v", err)
}

// readSandbox reads the sandbox.json that an earlier start wrote. A file that can't be read counts as empty.
func (s *server) readSandbox() *sandbox {
	box := new(sandbox)
	content, err := cli.ReadFile(filepath.Join(s.dir, sandboxFile), maxSandboxFile)
	if err != nil {
		return box
	}
	if err := json.Unmarshal(content, box); err != nil {
		s.log.Warn("sandbox.json can't be read; its values are issued anew")
		return new(sandbox)
	}
	return box
}

// takeSecrets copies the secrets that were created with the sandbox's first data.
func (b *sandbox) takeSecrets(seeded *directoryactor.Sandbox) {
	b.fillPublicMembers(seeded)
	b.AdminToken, b.PartnerPass = string(seeded.AdminToken), string(seeded.First.Pass)
	b.APIKey, b.SessionToken = string(seeded.First.APIKey), string(seeded.First.SessionToken)
	b.AuditorToken = string(seeded.First.AuditorToken)
	for _, member := range b.users() {
		for i := range seeded.First.Users {
			if u := &seeded.First.Users[i]; u.Role == member.role {
				*member.pass = string(u.Pass)
			}
		}
	}
	b.Second.APIKey, b.Second.SessionToken = string(seeded.Second.APIKey), string(seeded.Second.SessionToken)
}

// userMembers points to the members of sandbox.json about one user of the first organization.
type userMembers struct {
	role        directory.Role
	value       directoryactor.Value // kind of the password, for Reissue
	login, pass *string
}

func (b *sandbox) users() []userMembers {
	return []userMembers{
		{directory.Admin, directoryactor.AdminPass, &b.AdminLogin, &b.AdminPass},
		{directory.Auditor, directoryactor.AuditorPass, &b.AuditorLogin, &b.AuditorPass},
		{directory.Client, directoryactor.ClientPass, &b.ClientLogin, &b.ClientPass},
	}
}

// fillPublicMembers sets the members that are not secret, with values from the store.
func (b *sandbox) fillPublicMembers(stored *directoryactor.Sandbox) {
	b.OrganizationID, b.PartnerID, b.PartnerLogin = stored.First.Org.String(), stored.First.Partner, stored.First.Login
	b.Second.OrganizationID, b.Second.PartnerID = stored.Second.Org.String(), stored.Second.Partner
	for _, member := range b.users() {
		*member.login = directoryactor.DemoUser{Role: member.role}.Login()
	}
}

// reissueLostSecrets replaces each secret that is missing in sandbox.json or no longer in force. If an organization is
// inactive, only its missing secrets are replaced. The new secret is written to the store and to box.
func (s *server) reissueLostSecrets(ctx context.Context, box *sandbox) error {
	stored, _ := s.directory.Sandbox()
	box.fillPublicMembers(stored)
	type storedSecret struct {
		kind      directoryactor.Value
		value     *string
		org       ledger.ID
		isInForce bool
	}
	var passwords []storedSecret
	for _, member := range append(box.users(), userMembers{value: directoryactor.PartnerPass, login: &box.PartnerLogin, pass: &box.PartnerPass}) {
		isInForce, err := s.directory.PassInForce(ctx, stored.First.Org, *member.login, []byte(*member.pass))
		if err != nil {
			return s.commandFault(err)
		}
		passwords = append(passwords, storedSecret{member.value, member.pass, stored.First.Org, isInForce})
	}
	for _, secret := range append(passwords, []storedSecret{
		{directoryactor.AdminToken, &box.AdminToken, uuid.Nil, s.directory.AdminToken([]byte(box.AdminToken))},
		{directoryactor.APIKey, &box.APIKey, stored.First.Org, s.isKeyInForce(stored.First, box.APIKey)},
		{directoryactor.SessionToken, &box.SessionToken, stored.First.Org, s.isSessionInForce(stored.First, box.SessionToken, directory.Admin)},
		{directoryactor.AuditorToken, &box.AuditorToken, stored.First.Org, s.isSessionInForce(stored.First, box.AuditorToken, directory.Auditor)},
		{directoryactor.SecondAPIKey, &box.Second.APIKey, stored.Second.Org, s.isKeyInForce(stored.Second, box.Second.APIKey)},
		{directoryactor.SecondSessionToken, &box.Second.SessionToken, stored.Second.Org, s.isSessionInForce(stored.Second, box.Second.SessionToken, directory.Admin)},
	}...) {
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

// isInactive tells whether an organization has been deactivated. The secrets of such an organization are not in force, but they
// don't count as lost.
func (s *server) isInactive(org ledger.ID) bool {
	o, found := s.directory.Organization(org)
	return found && !o.Active()
}

// isKeyInForce tells whether value is an API key that is in force. The key must belong to the partner of the organization demo.
func (s *server) isKeyInForce(demo directoryactor.SandboxOrganization, value string) bool {
	partner, ok := s.directory.APIKeyInForce(demo.Org, []byte(value))
	return ok && partner.Number == demo.Partner
}

// isSessionInForce tells whether value is the token of a session that is in force. The session must belong to the organization
// demo and have the role.
func (s *server) isSessionInForce(demo directoryactor.SandboxOrganization, value string, role directory.Role) bool {
	session, ok := s.directory.SessionInForce(demo.Org, []byte(value))
	return ok && session.Roles.Has(role)
}
