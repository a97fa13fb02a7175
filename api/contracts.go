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
func (h *Server) contractRoutes() (routes []route) {
	if h.cfg.Contracts == nil {
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
	return func(h *Server, req *call) error {
		if err := f.admit(h, req); err != nil {
			return err
		}
		return detailed(do(h, req, f, product))
	}
}

// admit tells whether the organization has the family's module, and may have it.
func (f *family) admit(h *Server, req *call) error {
	const op = "api.contracts"
	o, known := h.cfg.Directory.Organization(req.who.Org)
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
func (f *family) forbids(h *Server, org ledger.ID, forbidden error) error {
	if o, known := h.cfg.Directory.Organization(org); !known || o.Has(f.module) {
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
	var faults *contract.Faults
	if errors.As(err, &faults) {
		return err
	}
	refusals := refusalsOf(err)
	if refusals[0].Code != ledger.Invalid {
		return err
	}
	faults = new(contract.Faults)
	for _, r := range refusals {
		faults.List = append(faults.List, contract.Fault{Field: r.Field, Message: r.Detail})
	}
	return faults
}

// appendFaults appends the body of a 422: the details of what was refused, each field
// once, and of an unknown action a message besides.
func appendFaults(dst []byte, faults *contract.Faults) []byte {
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
func (req *call) input() (contract.Input, error) {
	if len(req.Request.Body()) == 0 {
		return contract.Input{}, nil
	}
	if !isJSON(req.Request.Header.ContentType()) {
		return nil, ledger.Refuse("api.given", unsupportedMediaType, "the body must be application/json")
	}
	value, err := document(req.Request.Body())
	if err != nil {
		return nil, err
	}
	var sent contract.Input
	if !isObject(value) || json.Unmarshal(value, &sent) != nil {
		return nil, ledger.RefuseField("api.given", "body", "must be an object")
	}
	return sent, nil
}

// written is what a person's write was sent with: its Idempotency-Key and its body. Keys
// are the organization's: the same request by a colleague is the same request.
func (h *Server) written(req *call) (key actors.Key, sent contract.Input, err error) {
	if key, err = h.idempotencyKey(req, actors.KeyOfStaff); err == nil {
		sent, err = req.input()
	}
	return key, sent, err
}

// createContract is POST /pfp/{product}.
func (h *Server) createContract(req *call, f *family, product *contract.Product) error {
	key, sent, err := h.written(req)
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
	o, _ := h.cfg.Directory.Organization(req.who.Org)
	result, err := h.cfg.Contracts.Create(contractactor.Create{
		Org: req.who.Org, Product: product, Reading: f.reading, Env: env, Input: sent, Key: key,
		Allowed: func(region string) bool { return o != nil && o.Allows(region) },
	})
	return h.writeContract(req, f, fiber.StatusCreated, &result, err)
}

func parseEnv(said string, text bool) (money.Env, bool) {
	env, known := money.ParseEnv(said)
	return env, known && text
}

// contractAt is the contract that the address names.
func (h *Server) contractAt(req *call, f *family, product *contract.Product) (contractactor.Result, error) {
	id, err := parseID(req.parameter("id"))
	if err != nil {
		return contractactor.Result{}, err
	}
	return h.cfg.Contracts.Read(req.who.Org, product, f.reading, id)
}

// readContract is GET /pfp/{product}/{id}.
func (h *Server) readContract(req *call, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	return h.writeContract(req, f, fiber.StatusOK, &result, err)
}

// actOnContract is POST /pfp/{product}/{id}/{action}.
func (h *Server) actOnContract(req *call, f *family, product *contract.Product) error {
	id, err := parseID(req.parameter("id"))
	if err != nil {
		return err
	}
	key, sent, err := h.written(req)
	if err != nil {
		return err
	}
	name := req.parameter("action")
	action, known := product.Action(f.reading, name)
	if !known {
		if _, err := h.cfg.Contracts.Read(req.who.Org, product, f.reading, id); err != nil {
			return err // of a contract that is not there nothing is said
		}
		return contract.Unsupported(beginning([]byte(name), 64))
	}
	result, err := h.cfg.Contracts.Act(contractactor.Act{
		Org: req.who.Org, ID: id, Product: product, Reading: f.reading, Action: action, Input: sent, Key: key,
	})
	return h.writeContract(req, f, fiber.StatusOK, &result, err)
}

func (h *Server) writeContract(req *call, f *family, status int, result *contractactor.Result, err error) error {
	if err != nil {
		return err
	}
	if result.Replay {
		replayed(req)
	}
	e := encoder{make([]byte, 0, 2<<10)}
	e.open('{')
	e.enter("data", '{')
	f.style.appendContract(&e, req.who.Org, result, true)
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, status, e.buf)
	return nil
}
