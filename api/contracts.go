package api

import (
	"encoding/json"
	"errors"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Contracts makes, moves and reads contracts; *contract.Service of actors is one. Its
// errors are *contract.Faults and *ledger.Refusal.
type Contracts interface {
	Create(contractactor.Create) (contractactor.Result, error)
	Act(contractactor.Act) (contractactor.Result, error)
	Read(org ledger.ID, p *contract.Product, reading *contract.Reading, id ledger.ID) (contractactor.Result, error)
	Screen(org ledger.ID, given contract.Screened, key actors.Key) (contractactor.Screening, error)
}

// secularPath begins the addresses of the secular reading.
const secularPath = "/api/v1/pfp/"

// contractors may make and move contracts; contractReaders may read them.
var (
	contractors     = []directory.Role{directory.Admin, directory.Client}
	contractReaders = []directory.Role{directory.Admin, directory.Client, directory.Auditor}
)

// family is a reading's addresses: what they are gated by and how they show things.
type family struct {
	reading *contract.Reading
	module  string
	bank    bool // the organization has to be one
	style   style
}

var secularFamily = &family{reading: contract.Secular, module: directory.ParticipatoryFinance, style: style{texts: true}}

// contractRoutes are the secular reading's: each product has its own.
func (s *Server) contractRoutes() (routes []route) {
	if s.cfg.Contracts == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	add := func(method, path string, do func(*Server, *call, *family, *contract.Product) error, product *contract.Product) {
		r := route{method: method, path: path, access: session, roles: contractReaders, family: secularFamily, handle: secularFamily.handler(do, product)}
		if method == post {
			r.roles, r.command = contractors, true // a body may be absent where an action takes nothing
		}
		routes = append(routes, r)
	}
	for _, product := range contract.Products {
		variant := product.Variants[contract.Secular]
		if variant == nil {
			continue
		}
		base := secularPath + variant.Name
		add(get, base, (*Server).listContracts, product)
		add(post, base, (*Server).createContract, product)
		add(get, base+"/:id", (*Server).readContract, product)
		add(get, base+"/:id/entries", (*Server).contractEntries, product)
		if product.Reads != nil {
			add(get, base+"/:id/subscriptions", (*Server).contractSubscriptions, product)
			add(get, base+"/:id/holders", (*Server).contractHolders, product)
		}
		add(get, base+"/:id/schedule.csv", (*Server).contractSchedule, product)
		add(post, base+"/:id/:action", (*Server).actOnContract, product)
	}
	return routes
}

// handler is a handler behind the family's gate. Whatever it refuses is told in the
// family's shape.
func (f *family) handler(do func(*Server, *call, *family, *contract.Product) error, product *contract.Product) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		if err := f.admit(s, c); err != nil {
			return err
		}
		return detailed(do(s, c, f, product))
	}
}

// admit tells whether the organization has the family's module, and may have it.
func (f *family) admit(s *Server, c *call) error {
	const op = "api.contracts"
	o, known := s.cfg.Directory.Organization(c.who.Org)
	switch {
	case !known || !o.Has(f.module):
		return f.inactive()
	case f.bank && o.Type != directory.Bank:
		return ledger.Refuse(op, ledger.Forbidden, "the organization is not a bank")
	}
	return nil
}

// forbids is the refusal of somebody whom the organization knows and the family does
// not let in: without the module nothing else is said, whoever asks.
func (f *family) forbids(s *Server, org ledger.ID, forbidden error) error {
	if o, known := s.cfg.Directory.Organization(org); !known || o.Has(f.module) {
		return forbidden
	}
	return f.inactive()
}

func (f *family) inactive() error {
	return ledger.Refuse("api.contracts", ledger.ModuleNotActive, "the module %s is not active", f.module)
}

// detailed puts what was refused of fields into the shape that contracts have for it:
// {error, details: {field: [message]}}.
func detailed(err error) error {
	if err == nil {
		return nil
	}
	var faults *schema.Faults
	if errors.As(err, &faults) {
		return err
	}
	refusals := refusalsOf(err)
	if refusals[0].Code != ledger.Invalid {
		return err
	}
	faults = new(schema.Faults)
	for _, r := range refusals {
		faults.List = append(faults.List, schema.Fault{Field: r.Field, Message: r.Detail})
	}
	return faults
}

// appendFaults appends the body of a 422: the details of what was refused, each field
// once, and of an unknown action a message besides.
func appendFaults(dst []byte, faults *schema.Faults) []byte {
	e := encoder{dst}
	e.open('{')
	e.word("error", "unprocessable_entity")
	for _, fault := range faults.List {
		if fault.Field == "action" {
			e.key("message")
			e.buf = appendBounded(e.buf, fault.Message)
			break
		}
	}
	e.enter("details", '{')
	told := make(map[string]bool)
	list := faults.List[:min(len(faults.List), maxProblems)]
	for _, fault := range list {
		if told[fault.Field] {
			continue
		}
		told[fault.Field] = true
		e.comma()
		e.buf = append(appendBounded(e.buf, fault.Field), ':', '[')
		for _, other := range list {
			if other.Field == fault.Field {
				e.comma()
				e.buf = appendBounded(e.buf, other.Message)
			}
		}
		e.close(']')
	}
	e.close('}')
	e.close('}')
	return e.buf
}

// given is the request's body as an object; an absent one is empty.
func (c *call) input() (schema.Input, error) {
	if len(c.Request.Body()) == 0 {
		return schema.Input{}, nil
	}
	if !isJSON(c.Request.Header.ContentType()) {
		return nil, ledger.Refuse("api.given", unsupportedMediaType, "the body must be application/json")
	}
	value, err := document(c.Request.Body())
	if err != nil {
		return nil, err
	}
	var sent schema.Input
	if !isObject(value) || json.Unmarshal(value, &sent) != nil {
		return nil, ledger.RefuseField("api.given", "body", "must be an object")
	}
	return sent, nil
}

// written is what a person's write was sent with: its Idempotency-Key and its body. Keys
// are the organization's: the same request by a colleague is the same request.
func (s *Server) written(c *call) (key actors.Key, sent schema.Input, err error) {
	if key, err = s.idempotencyKey(c, actors.KeyOfStaff); err == nil {
		sent, err = c.input()
	}
	return key, sent, err
}

// createContract is POST /pfp/{product}.
func (s *Server) createContract(c *call, f *family, product *contract.Product) error {
	key, sent, err := s.written(c)
	if err != nil {
		return err
	}
	env := money.Prod
	if raw, ok := sent["env"]; ok && string(raw) != "null" {
		var said string
		known := json.Unmarshal(raw, &said) == nil
		if env, known = parseEnv(said, known); !known {
			return ledger.RefuseField("api.createContract", "env", "must be prod or test")
		}
	}
	o, _ := s.cfg.Directory.Organization(c.who.Org)
	result, err := s.cfg.Contracts.Create(contractactor.Create{
		Org: c.who.Org, Product: product, Reading: f.reading, Env: env, Input: sent, Key: key,
		Allowed: func(region string) bool { return o != nil && o.Allows(region) },
	})
	return s.writeContract(c, f, fiber.StatusCreated, &result, err)
}

func parseEnv(said string, text bool) (money.Env, bool) {
	env, known := money.ParseEnv(said)
	return env, known && text
}

// contractAt is the contract that the address names.
func (s *Server) contractAt(c *call, f *family, product *contract.Product) (contractactor.Result, error) {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return contractactor.Result{}, err
	}
	return s.cfg.Contracts.Read(c.who.Org, product, f.reading, id)
}

// readContract is GET /pfp/{product}/{id}.
func (s *Server) readContract(c *call, f *family, product *contract.Product) error {
	result, err := s.contractAt(c, f, product)
	return s.writeContract(c, f, fiber.StatusOK, &result, err)
}

// actOnContract is POST /pfp/{product}/{id}/{action}.
func (s *Server) actOnContract(c *call, f *family, product *contract.Product) error {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return err
	}
	key, sent, err := s.written(c)
	if err != nil {
		return err
	}
	name := c.parameter("action")
	action, known := product.Action(f.reading, name)
	if !known {
		if _, err := s.cfg.Contracts.Read(c.who.Org, product, f.reading, id); err != nil {
			return err // of a contract that is not there nothing is said
		}
		return contract.Unsupported(beginning([]byte(name), 64))
	}
	result, err := s.cfg.Contracts.Act(contractactor.Act{
		Org: c.who.Org, ID: id, Product: product, Reading: f.reading, Action: action, Input: sent, Key: key,
	})
	return s.writeContract(c, f, fiber.StatusOK, &result, err)
}

func (s *Server) writeContract(c *call, f *family, status int, result *contractactor.Result, err error) error {
	if err != nil {
		return err
	}
	if result.Replay {
		replayed(c)
	}
	e := encoder{make([]byte, 0, 2<<10)}
	e.open('{')
	e.enter("data", '{')
	f.style.appendContract(&e, c.who.Org, result, true)
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, status, e.buf)
	return nil
}
