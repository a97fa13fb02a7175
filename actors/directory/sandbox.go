package directory

import (
	"context"
	"net/netip"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// SeedInput is the input of Seed, which fills an empty store with organizations for a demonstration.
type SeedInput struct {
	AdminToken secret.Text // the operator's own token; if empty, Seed makes a token
}

// Sandbox is the content of sandbox.json after the first start. The secret values in it are stored nowhere else.
type Sandbox struct {
	AdminToken secret.Text // empty if the operator supplied the token
	First      SandboxOrganization
	Second     SandboxOrganization
}

// SandboxOrganization is one of the sandbox's two organizations, with its partner and secrets. Fields that sandbox.json
// does not list for this organization are empty.
type SandboxOrganization struct {
	Org          ledger.ID
	Partner      int64
	Login        string
	Pass         secret.Text
	APIKey       secret.Text
	SessionToken secret.Text // token of a session with the role admin
	AuditorToken secret.Text
	Users        []DemoUser // users who can log in to the console
}

// DemoUser is a user of the sandbox with one role.
type DemoUser struct {
	Role directory.Role
	Pass secret.Text
}

// Login returns the user's login.
func (u DemoUser) Login() string { return "sandbox-" + string(u.Role) }

// demoUsers returns the first organization's users, without their passwords. There is no user with the role partner, because
// the partner itself logs in with demoLogin.
func demoUsers() []DemoUser {
	return []DemoUser{{Role: directory.Admin}, {Role: directory.Auditor}, {Role: directory.Client}}
}

// demoLogin is the first partner's login. The second organization's partner has the same login,
// without a password.
const demoLogin = "demo"

// Seed fills an empty store with the sandbox's two organizations. This is one Change, so after a crash either everything is
// stored or nothing. If the store is not empty, the error is a Conflict. Errors are *ledger.Refusal.
func (s *Service) Seed(ctx context.Context, in SeedInput) (*Sandbox, error) {
	const op = "directory.Seed"
	if in.AdminToken != "" && len(in.AdminToken) < MinAdminToken {
		return nil, ledger.Refuse(op, ledger.Invalid, "an administration token has at least %d bytes", MinAdminToken)
	}
	pass, hash, err := s.newPass(ctx)
	if err != nil {
		return nil, err
	}
	users, hashes := demoUsers(), make(map[directory.Role]string)
	for i := range users {
		if users[i].Pass, hashes[users[i].Role], err = s.newPass(ctx); err != nil {
			return nil, err
		}
	}
	var seed *seeder
	err = s.run(ctx, directory.PlatformOrg, op, func(now ledger.Micros) (*posting.Change, error) {
		if !s.Empty() {
			return nil, ledger.Refuse(op, ledger.Conflict, "the store isn't empty")
		}
		seed = &seeder{service: s, now: now, platform: s.platform.Load().record}
		if err := seed.addEverything(in, hash, hashes); err != nil {
			return nil, err
		}
		return &seed.change, nil
	}, func(headers []posting.RecordHeader) { seed.publish(headers) })
	if err != nil {
		return nil, err
	}
	seed.sandbox.First.Login, seed.sandbox.First.Pass, seed.sandbox.First.Users = demoLogin, pass, users
	return &seed.sandbox, nil
}

// newPass returns a new password and its hash.
func (s *Service) newPass(ctx context.Context) (pass secret.Text, hash string, err error) {
	pass = secret.Text(secret.NewToken("", s.random))
	hash, err = s.passwords.hash(ctx, s.random, []byte(pass))
	return pass, hash, err
}

// seeder collects the steps of one Change and, for each step, the function that publishes it.
type seeder struct {
	service    *Service
	now        ledger.Micros
	platform   *directory.Platform
	firstOrg   *organization
	change     posting.Change
	publishers []func(posting.RecordHeader)
	sandbox    Sandbox
}

func (n *seeder) add(put func(posting.RecordHeader), s posting.Step, claims ...ledger.Claim) {
	n.change.Steps = append(n.change.Steps, s)
	n.change.Claims = append(n.change.Claims, claims...)
	n.publishers = append(n.publishers, put)
}

func (n *seeder) publish(headers []posting.RecordHeader) {
	for i, put := range n.publishers {
		put(headers[i])
	}
}

func (n *seeder) addEverything(in SeedInput, passHash string, userHashes map[directory.Role]string) (err error) {
	first := directory.Organization{
		Name: "Sandbox bank", Type: directory.Bank, Status: directory.Active, Modules: []string{directory.ParticipatoryFinance, directory.IslamicFinance},
	}
	if err = n.addOrganization(first, "Demo merchant", passHash, &n.sandbox.First, directory.Admin, directory.Auditor); err != nil {
		return err
	}
	for _, u := range demoUsers() {
		if err = n.addUser(n.firstOrg, demoUser(u.Role, userHashes[u.Role])); err != nil {
			return err
		}
	}
	second := directory.Organization{Name: "Sandbox merchant", Type: directory.Merchant, Status: directory.Active}
	if err = n.addOrganization(second, "Second merchant", "", &n.sandbox.Second, directory.Admin); err != nil {
		return err
	}
	token := in.AdminToken
	if token == "" {
		token = secret.Text(secret.NewToken(adminPrefix, n.service.random))
		n.sandbox.AdminToken = token
	}
	if n.platform, err = n.platform.AcceptAdminToken(secret.HashToken([]byte(token))); err != nil {
		return err
	}
	platform := n.platform
	n.add(func(header posting.RecordHeader) { n.service.putPlatform(platform, header) }, platformStep(0, platform))
	return nil
}

// addOrganization adds one organization with a partner, terminals, an API key, sessions and opening balances.
func (n *seeder) addOrganization(draft directory.Organization, partnerName, passHash string, demo *SandboxOrganization, roles ...directory.Role) error {
	draft.ID = n.service.placement.NewOrganization()
	record, event, err := directory.NewOrganization(draft)
	if err != nil {
		return err
	}
	o := newOrg(record.ID, &n.service.global)
	n.add(func(header posting.RecordHeader) { n.service.putOrganization(o, record, header) }, stepWithoutSecrets(directory.Organizations, record.ID, 0, record, event))

	var number int64
	n.platform, number = n.platform.ReservePartnerNumber()
	n.platform.Sandbox = append(n.platform.Sandbox, directory.SandboxOrg{Org: record.ID, Partner: number})
	p, err := n.addPartner(o, directory.Partner{Number: number, Name: partnerName, Login: demoLogin, PassHash: passHash})
	if err != nil {
		return err
	}
	demo.Org, demo.Partner = record.ID, number
	if n.firstOrg == nil {
		n.firstOrg = o
	}

	if err := n.addTerminals(o, p); err != nil {
		return err
	}
	if err := n.addKey(o, p, demo); err != nil {
		return err
	}
	for _, role := range roles {
		n.addSession(o, role, demo)
	}
	return n.addOpeningBalances(p)
}

// addPartner adds an active partner.
func (n *seeder) addPartner(o *organization, draft directory.Partner) (*directory.Partner, error) {
	draft.ID, draft.Org, draft.Active = uuid.New(), o.id, true
	p, event, err := directory.NewPartner(draft, false)
	if err != nil {
		return nil, err
	}
	step, err := recordStep(n.service, directory.Partners, o.id, 0, p, event)
	n.add(func(header posting.RecordHeader) { o.putPartner(p, header) }, step, partnerClaims(p)...)
	return p, err
}

// demoUser returns the draft of a user of the sandbox.
func demoUser(role directory.Role, passHash string) directory.User {
	return directory.User{ID: uuid.New(), Login: DemoUser{Role: role}.Login(), Name: "Sandbox " + string(role), PassHash: passHash, Roles: directory.Roles{role}, Active: true}
}

func (n *seeder) addUser(o *organization, draft directory.User) error {
	draft.Org = o.id
	u, event, err := directory.NewUser(draft)
	if err != nil {
		return err
	}
	n.add(func(header posting.RecordHeader) { o.putUser(u, header) }, stepWithoutSecrets(directory.Users, o.id, 0, u, event), loginClaim(u))
	return nil
}

func (n *seeder) addTerminals(o *organization, owner *directory.Partner) error {
	for _, env := range []money.Env{money.Prod, money.Test} {
		for _, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
			if err := n.addTerminal(o, owner, kind, env); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTerminal adds a terminal of the simulator.
func (n *seeder) addTerminal(o *organization, owner *directory.Partner, kind directory.TerminalType, env money.Env) error {
	t, event, err := directory.NewTerminal(directory.Terminal{
		ID: uuid.New(), Org: o.id, Partner: owner.Number, Name: "Simulator " + string(kind) + " " + env.String(),
		Provider: directory.Simulator, Type: kind, Active: true, Env: env,
	}, false)
	if err != nil {
		return err
	}
	step, err := recordStep(n.service, directory.Terminals, o.id, 0, t, event)
	n.add(func(header posting.RecordHeader) { o.putTerminal(t, header) }, step)
	return err
}

func (n *seeder) addKey(o *organization, owner *directory.Partner, demo *SandboxOrganization) (err error) {
	demo.APIKey, err = n.issueKey(o, sandboxKey(owner.Number))
	return err
}

// issueKey adds a key and returns its value.
func (n *seeder) issueKey(o *organization, draft directory.APIKey) (secret.Text, error) {
	draft.Org = o.id
	value := fillNewKey(&draft, n.service.random)
	k, event, err := directory.NewAPIKey(draft, n.now)
	if err != nil {
		return "", err
	}
	n.add(func(header posting.RecordHeader) { o.putKey(k, header) }, stepWithoutSecrets(directory.APIKeys, o.id, 0, k, event), hashClaim(o.id, k.Hash, k.ID))
	return secret.Text(value), nil
}

func sandboxKey(partner int64) directory.APIKey {
	return directory.APIKey{Partner: partner, Name: "sandbox"}
}

func (n *seeder) addSession(o *organization, role directory.Role, demo *SandboxOrganization) {
	record, event, token := n.service.newUnownedSession(o.id, role)
	n.add(func(header posting.RecordHeader) { o.putSession(record, header) }, stepWithoutSecrets(directory.Sessions, o.id, 0, record, event), hashClaim(o.id, record.Hash, record.ID))
	if role == directory.Auditor {
		demo.AuditorToken = secret.Text(token)
		return
	}
	demo.SessionToken = secret.Text(token)
}

// addOpeningBalances adds the partner's opening balances. Like every other movement of money, they count towards the maximum
// of an asset's totals.
func (n *seeder) addOpeningBalances(owner *directory.Partner) error {
	record, events, err := directory.NewOpeningBalance(uuid.New(), owner)
	if err != nil {
		return err
	}
	n.add(func(posting.RecordHeader) {}, stepWithoutSecrets(directory.Settlements, owner.Org, 0, record, events...), record.Claim())
	n.change.Counters = append(n.change.Counters, record.Counters()...)
	return nil
}

// Value names a secret of sandbox.json. It is the name of the secret's field there, such as second.api_key.
type Value string

// The secrets of sandbox.json.
const (
	AdminToken         Value = "admin_token"
	PartnerPass        Value = "partner_pass"
	APIKey             Value = "api_key"
	SessionToken       Value = "session_token"
	AuditorToken       Value = "auditor_token"
	AdminPass          Value = "admin_pass"
	AuditorPass        Value = "auditor_pass"
	ClientPass         Value = "client_pass"
	SecondAPIKey       Value = "second.api_key"
	SecondSessionToken Value = "second.session_token"
)

// Sandbox returns the sandbox's organizations and partners without secrets. If this store is not a sandbox, it returns false.
func (s *Service) Sandbox() (*Sandbox, bool) {
	demos := s.platform.Load().record.Sandbox
	if len(demos) != 2 {
		return nil, false
	}
	return &Sandbox{
		First:  SandboxOrganization{Org: demos[0].Org, Partner: demos[0].Partner, Login: demoLogin, Users: demoUsers()},
		Second: SandboxOrganization{Org: demos[1].Org, Partner: demos[1].Partner, Login: demoLogin},
	}, true
}

// Reissue makes a new value for a secret that was lost from sandbox.json. The old value stays valid, except for a password: a
// new password replaces the old one, because an account has only one password. Errors are *ledger.Refusal.
func (s *Service) Reissue(ctx context.Context, value Value) (secret.Text, error) {
	const op = "directory.Reissue"
	sandbox, ok := s.Sandbox()
	if !ok {
		return "", notFound(op, "sandbox")
	}
	switch value {
	case AdminToken:
		return s.CreateAdminToken(ctx)
	case PartnerPass:
		return s.reissuePass(ctx, sandbox.First)
	case APIKey:
		return s.reissueKey(ctx, sandbox.First)
	case SecondAPIKey:
		return s.reissueKey(ctx, sandbox.Second)
	case SessionToken:
		return s.reissueSession(ctx, sandbox.First.Org, directory.Admin)
	case AuditorToken:
		return s.reissueSession(ctx, sandbox.First.Org, directory.Auditor)
	case AdminPass:
		return s.reissueUserPass(ctx, sandbox.First.Org, directory.Admin)
	case AuditorPass:
		return s.reissueUserPass(ctx, sandbox.First.Org, directory.Auditor)
	case ClientPass:
		return s.reissueUserPass(ctx, sandbox.First.Org, directory.Client)
	case SecondSessionToken:
		return s.reissueSession(ctx, sandbox.Second.Org, directory.Admin)
	}
	return "", notFound(op, "value")
}

// PassInForce tells whether the password is the present password of the login. The
// check costs one password hash, except for an empty password, which is never right. Errors are
// *ledger.Refusal.
func (s *Service) PassInForce(ctx context.Context, org ledger.ID, login string, pass []byte) (bool, error) {
	account, hash := s.findAccount(org, login)
	if !account.mayLogIn() || len(pass) == 0 {
		return false, nil
	}
	place, err := s.hashing.enter(ctx, netip.Addr{})
	if err != nil {
		return false, err
	}
	defer place.Leave()
	return s.passwords.verify(hash, pass), nil
}

// reissueUserPass gives a new password to the sandbox's user with the role. If the store was made by an earlier release and
// has no such user, it makes the user. If the user was switched off, the user stays switched off and the error is a Conflict.
func (s *Service) reissueUserPass(ctx context.Context, org ledger.ID, role directory.Role) (secret.Text, error) {
	const op = "directory.Reissue"
	pass, hash, err := s.newPass(ctx)
	if err != nil {
		return "", err
	}
	account, _ := s.findAccount(org, DemoUser{Role: role}.Login())
	switch {
	case account.user == nil && account.partner == nil:
		_, err = users.create(ctx, s, op, org, func(*organization, ledger.Micros) (*directory.User, ledger.Event, []ledger.Claim, error) {
			draft := demoUser(role, hash)
			draft.Org = org
			u, event, err := directory.NewUser(draft)
			return u, event, []ledger.Claim{loginClaim(&draft)}, err
		})
	case account.user == nil, !account.user.Active:
		err = ledger.Refuse(op, ledger.Conflict, "the user %s is switched off, or the login belongs to another account", role)
	default:
		_, err = s.PatchUser(ctx, org, account.user.ID, func(u *directory.User, _ *schema.Faults) { u.PassHash = hash }, nil)
	}
	if err != nil {
		return "", err
	}
	return pass, nil
}

func (s *Service) reissuePass(ctx context.Context, demo SandboxOrganization) (secret.Text, error) {
	pass, hash, err := s.newPass(ctx)
	if err != nil {
		return "", err
	}
	if _, err = s.PatchPartner(ctx, demo.Org, demo.Partner, func(p *directory.Partner, _ *schema.Faults) { p.PassHash = hash }); err != nil {
		return "", err
	}
	return pass, nil
}

func (s *Service) reissueKey(ctx context.Context, demo SandboxOrganization) (secret.Text, error) {
	k, err := s.CreateAPIKey(ctx, demo.Org, sandboxKey(demo.Partner))
	if err != nil {
		return "", err
	}
	return secret.Text(k.Value), nil
}

func (s *Service) reissueSession(ctx context.Context, org ledger.ID, role directory.Role) (secret.Text, error) {
	const op = "directory.Reissue"
	record, event, token := s.newUnownedSession(org, role)
	err := s.run(ctx, org, op, func(ledger.Micros) (*posting.Change, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, err
		}
		return &posting.Change{
			Steps:  []posting.Step{stepWithoutSecrets(directory.Sessions, org, 0, record, event)},
			Claims: []ledger.Claim{hashClaim(org, record.Hash, record.ID)},
		}, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		o.putSession(record, headers[0])
	})
	if err != nil {
		return "", err
	}
	return secret.Text(token), nil
}
