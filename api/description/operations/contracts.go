package operations

import (
	"strings"

	"mizan/api/description/spec"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// contractKind is a product in one reading. The secular and the religious reading have separate operations for contracts.
type contractKind struct {
	product *contract.Product
	reading *contract.Reading
}

// contractKinds returns the products in the order in which the reference shows them: first all products of the secular reading,
// then all of the religious reading.
func contractKinds() (kinds []contractKind) {
	for _, reading := range contract.Readings {
		for _, product := range contract.Products {
			if product.Variants[reading] != nil {
				kinds = append(kinds, contractKind{product, reading})
			}
		}
	}
	return kinds
}

// name returns the product's name in URL paths, such as certificate-issues.
func (k contractKind) name() string { return k.product.Variants[k.reading].Name }

// schemaName returns the name of the component that describes a contract, such as CertificateIssue.
func (k contractKind) schemaName() string {
	name := ""
	for part := range strings.SplitSeq(strings.TrimSuffix(k.name(), "s"), "-") {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}

// title returns the name of one contract in sentences, such as certificate issue.
func (k contractKind) title() string {
	return strings.ReplaceAll(strings.TrimSuffix(k.name(), "s"), "-", " ")
}

// tag returns the title of the product's page in the reference, such as Certificate issues.
func (k contractKind) tag() string {
	title := strings.ReplaceAll(k.name(), "-", " ")
	return strings.ToUpper(title[:1]) + title[1:]
}

func (k contractKind) isSecular() bool { return k.reading == contract.Secular }

// path returns the URL path of the product's contracts.
func (k contractKind) path() string { return v1 + k.product.Path(k.reading) }

// routeOf returns the pattern of the route that serves a path. The path is below the path of the product's contracts. In the
// religious reading, one set of routes serves all products, and one route serves all actions.
func (k contractKind) routeOf(below string) string {
	if k.isSecular() {
		return spec.RoutePath(k.path() + below)
	}
	return v1 + k.reading.Path + "/:product_type" + spec.RoutePath(below)
}

func contractTags() (tags []spec.Tag) {
	for _, k := range contractKinds() {
		group := groupSecular
		if !k.isSecular() {
			group = groupBank
		}
		tags = append(tags, spec.Tag{Name: k.tag(), Group: group})
	}
	return append(tags, spec.Tag{Name: tagSecular, Group: groupSecular}, spec.Tag{Name: tagBank, Group: groupBank})
}

// The tags of operations that belong to a whole reading, not to one product.
const (
	tagSecular = "Counts"
	tagBank    = "Screening and charity"
)

func contractOperations() (list []spec.Operation) {
	for _, k := range contractKinds() {
		list = append(list, k.operations()...)
	}
	stats := withModule([]spec.Operation{contractStats("getSecularContractStats", v1+contract.Secular.Path, contract.Secular)})
	stats[0].Tag = tagSecular
	return append(list, stats...)
}

// operations returns all operations of a product in a reading.
func (k contractKind) operations() []spec.Operation {
	name, path := k.schemaName(), k.path()
	id := spec.InPath("id", spec.UUID(), "The id of the contract.")
	shown := spec.Data(spec.Ref(name))
	unknown := spec.Refusal{Code: ledger.NotFound, When: "the organization has no contract with this id under this path"}
	list := []spec.Operation{
		{ID: "create" + name, Method: "POST", Path: path, Route: k.routeOf(""), Summary: "Create " + article(k.title()),
			Body: spec.JSON(spec.Ref(name + "Create")), Answers: created(shown),
			Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "fields are wrong; `details` names them"}}, Examples: k.createExamples()},
		{ID: "get" + name, Method: "GET", Path: path + "/{id}", Route: k.routeOf("/{id}"), Summary: "Read " + article(k.title()),
			Parameters: []spec.Parameter{id}, Answers: ok(shown), Refusals: []spec.Refusal{unknown},
			Examples: []spec.Example{{As: "session", Path: map[string]string{"id": "$" + name}}}},
		{ID: "list" + name + "Actions", Method: "GET", Path: path + "/{id}/actions", Route: k.routeOf("/{id}/actions"),
			Summary:    "List what may be done with the contract now",
			Text:       "The response says for each action of the product whether the caller may take it now and, if not, why; which fields its request has; and to which statuses it leads. A `refusal` is the body of the response that a request for the action would get.",
			Parameters: []spec.Parameter{id}, Answers: ok(spec.Object(spec.Required("data", spec.List(spec.Ref("ContractAction")), "the product's actions"))),
			Refusals: []spec.Refusal{unknown}, Examples: k.availabilityExample()},
		k.list(),
		{ID: "list" + name + "Entries", Method: "GET", Path: path + "/{id}/entries", Route: k.routeOf("/{id}/entries"), Summary: "List the contract's entries",
			Parameters: append([]spec.Parameter{id}, ledgerPage...), Answers: ok(spec.Page(spec.Ref("Entry"), "seq")), Refusals: []spec.Refusal{unknown}},
		{ID: "list" + name + "Events", Method: "GET", Path: path + "/{id}/events", Route: k.routeOf("/{id}/events"), Summary: "List the contract's events",
			Parameters: append([]spec.Parameter{id}, ledgerPage...), Answers: ok(spec.Page(spec.Ref("Event"), "seq")), Refusals: []spec.Refusal{unknown}},
	}
	if k.product.RegisterQuery != nil {
		list = append(list, k.registers(id, unknown)...)
	}
	if k.product.Schedule != nil || k.isSecular() {
		list = append(list, k.schedule(id, unknown))
	}
	if !k.isSecular() {
		list = append(list, spec.Operation{ID: "get" + name + "Review", Method: "GET", Path: path + "/{id}/review", Route: k.routeOf("/{id}/review"),
			Summary:    "Read the contract's review",
			Parameters: []spec.Parameter{id}, Answers: ok(spec.Data(spec.Ref("Review"))), Refusals: []spec.Refusal{unknown},
			Examples: []spec.Example{{As: "session", Path: map[string]string{"id": "$" + name}}}})
	}
	for _, action := range k.actions() {
		list = append(list, k.action(action, id, unknown))
	}
	for i := range list {
		o := &list[i]
		o.Tag, o.RefusalForm = k.tag(), spec.WithDetails
		o.Refusals = append(o.Refusals, spec.Refusal{Code: ledger.ModuleNotActive})
	}
	return list
}

// list returns the operation that lists contracts.
func (k contractKind) list() spec.Operation {
	o := spec.Operation{
		ID: "list" + k.schemaName() + "s", Method: "GET", Path: k.path(), Route: k.routeOf(""), Summary: "List " + k.title() + "s",
		Examples: []spec.Example{{As: "session", Query: "env=test"}},
	}
	row := spec.Ref("Listed" + k.schemaName())
	if !k.isSecular() {
		o.Parameters = []spec.Parameter{
			spec.InQuery("page", spec.IntegerUpTo(1, 1_000_000).WithDefault(1), "The number of the page."),
			spec.InQuery("per_page", spec.IntegerUpTo(1, 200).WithDefault(50), "How many contracts a page has at most."), envFilter,
		}
		o.Answers = ok(spec.Object(spec.Required("data", spec.List(row), "the contracts, newest first"), spec.Required("meta", spec.Object(
			spec.Required("total", spec.Integer(0), "number of contracts on all pages"), spec.Required("product_type", spec.Words(k.name()), "the product"),
			spec.Required("page", spec.Integer(1), "number of the page"), spec.Required("per_page", spec.Integer(1), "greatest number of contracts on a page"),
		), "")))
		return o
	}
	o.Parameters = []spec.Parameter{spec.InQuery("status", spec.Words(k.product.States...), "Only this status."),
		spec.InQuery("region", regionCode(), "Only this region."), k.typeFilter(), envFilter}
	if k.product.ShortLists {
		o.Parameters[3] = envParameter
	}
	if k.product.Customer != "" {
		o.Parameters = append(o.Parameters, spec.InQuery("customer_id", spec.UUID(), "Only contracts of this customer."))
	}
	if k.product.RegisterQuery != nil {
		o.Parameters = append(o.Parameters, spec.InQuery("investor_id", spec.UUID(), "Only certificate issues in which this holder has a subscription."))
	}
	if k.product.Arrears != nil {
		o.Parameters = append(o.Parameters, spec.InQuery("arrears", spec.Words("true", "false"),
			"`true`: only active contracts with an amount that is recorded as overdue; `false`: only all other contracts."))
	}
	if k.product.EndDate != nil {
		o.Parameters = append(o.Parameters, spec.InQuery("ending_in_days", spec.IntegerUpTo(0, 36_500),
			"Only active contracts whose term ends within this number of days, or has already ended."))
	}
	o.Parameters = append(o.Parameters, limitParameter(50, 200), cursorParameter)
	o.Answers = ok(spec.Page(row, "inserted_at"))
	return o
}

// typeFilter returns the parameter that filters contracts by their type. Each product has types of its own.
func (k contractKind) typeFilter() spec.Parameter {
	if words := k.product.Types(); len(words) > 0 {
		return spec.InQuery("type", spec.Words(words...), "Only this `"+k.product.Type+"`.")
	}
	return spec.InQuery("type", spec.Text(), "Only this `"+k.product.Type+"`.")
}

// registers returns the operations that read the register of an issue of certificates: its subscriptions and its holders.
func (k contractKind) registers(id spec.Parameter, unknown spec.Refusal) []spec.Operation {
	row := func(t *schema.Table) *spec.Schema {
		s := spec.Shown(t.Columns, k.reading.ResponseStyle)
		s.Members = append([]spec.Member{spec.Required("number", spec.Integer(1), "number of the row")}, s.Members...)
		return s
	}
	page := []spec.Parameter{limitParameter(50, 1000), cursorParameter}
	name, path := k.schemaName(), k.path()
	return []spec.Operation{{
		ID: "list" + name + "Subscriptions", Method: "GET", Path: path + "/{id}/subscriptions", Route: k.routeOf("/{id}/subscriptions"),
		Summary:    "List an issue's subscriptions",
		Parameters: append([]spec.Parameter{id}, page...), Answers: ok(spec.Page(row(contract.SubscriptionColumns), "number")),
		Refusals: []spec.Refusal{unknown},
	}, {
		ID: "list" + name + "Holders", Method: "GET", Path: path + "/{id}/holders", Route: k.routeOf("/{id}/holders"), Summary: "List an issue's holders",
		Parameters: append([]spec.Parameter{id, spec.InQuery("investor_id", spec.UUID(), "Only this holder.")}, page...),
		Answers:    ok(spec.Page(row(contract.HolderColumns), "number")), Refusals: []spec.Refusal{unknown},
	}}
}

// schedule returns the operation that reads a payment schedule.
func (k contractKind) schedule(id spec.Parameter, unknown spec.Refusal) spec.Operation {
	o := spec.Operation{
		ID: "get" + k.schemaName() + "Schedule", Method: "GET", Path: k.path() + "/{id}/schedule.csv", Route: k.routeOf("/{id}/schedule.csv"),
		Summary:    "Read the payment schedule as CSV",
		Parameters: []spec.Parameter{id}, Refusals: []spec.Refusal{unknown},
		Answers: []spec.Answer{{Status: 200, Media: "text/csv", Text: "The rows of the payment schedule, with amounts in minor units.",
			Headers: []spec.Header{{Name: "content-disposition", Schema: spec.Text(), Text: "The name of the file.", Required: true}}}},
	}
	if k.product.Schedule == nil {
		o.Answers, o.Refusals = nil, []spec.Refusal{{Code: ledger.NotFound, When: "always, because the product has no payment schedule"}}
	}
	return o
}

// contractAction is an action, with the name that it has in URL paths.
type contractAction struct {
	name    string
	handler *contract.ActionHandler
}

// actions returns the product's actions in the reading, in the order of their declaration.
func (k contractKind) actions() (actions []contractAction) {
	for _, handler := range k.product.RequestHandlers(k.reading) {
		actions = append(actions, contractAction{k.product.ActionName(k.reading, handler.Name), handler})
	}
	return actions
}

// action returns the operation that performs an action.
func (k contractKind) action(a contractAction, id spec.Parameter, unknown spec.Refusal) spec.Operation {
	o := spec.Operation{
		ID: lowerCamel(a.name) + k.schemaName(), Method: "POST", Path: k.path() + "/{id}/" + a.name, Route: k.routeOf("/{id}/{action}"),
		Summary: sentenceOf(a.name),
		Text:    k.transitionsOf(a.handler), Parameters: []spec.Parameter{id}, Answers: ok(spec.Data(spec.Ref(k.schemaName()))),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Conflict, When: "the action is not possible in the contract's state"},
			{Code: ledger.Invalid, When: "the body has faults, or a condition of the action does not hold; `details` lists the faults or, if there are none, the conditions"}},
		Examples: k.actionExamples(a.handler.Name),
	}
	if body := k.product.BodyOf(k.reading, a.handler); body != nil {
		s := spec.ForCreate(body.Columns, k.reading.ParseOptions)
		o.Body = &spec.Body{Schema: s, Optional: true}
		for _, m := range s.Members {
			o.Body.Optional = o.Body.Optional && !m.Required
		}
	} else {
		o.Body = spec.OptionalJSON(spec.OpenObject())
	}
	return o
}

// transitionsOf returns a text that lists the state transitions of an action. Each line has the state before, the state after,
// and the reason.
func (k contractKind) transitionsOf(handler *contract.ActionHandler) string {
	var text strings.Builder
	machine := k.product.Machine(k.reading)
	for _, transition := range handler.Transitions {
		for _, state := range machine.States() {
			if step, isPossible := machine.Next(state, transition); isPossible {
				text.WriteString("\n- `" + string(state) + "` → `" + string(step.To) + "`: " + step.Why)
			}
		}
	}
	return strings.TrimSpace("State transitions:\n" + text.String())
}

func lowerCamel(name string) (text string) {
	for i, part := range strings.Split(name, "_") {
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		text += part
	}
	return text
}

// sentenceOf converts the name of an action to a summary: close_subscription becomes "Close subscription".
func sentenceOf(name string) string {
	text := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func contractSchemas() (list []spec.Component) {
	for _, k := range contractKinds() {
		list = append(list,
			spec.Component{Name: k.schemaName(), Schema: k.shown(false)},
			spec.Component{Name: "Listed" + k.schemaName(), Schema: k.shown(true)},
			spec.Component{Name: k.schemaName() + "Create", Schema: k.createBody()},
		)
	}
	return append(append(list, actionSchemas()...), religiousSchemas()...)
}

// refusalOfAction returns the schema of the refusal that an action would get now. The value is null if the action is possible.
func refusalOfAction() *spec.Schema {
	return spec.Nullable(spec.OpenObject(spec.Required("error", spec.Text(), "the code"), spec.Optional("message", spec.Text(), "a message for people"),
		spec.Optional("details", spec.OpenObject(), "the conditions that do not hold, each under the name of a field")))
}

// actionSchemas returns the schemas for the list of a contract's actions. The list says of each action whether it is possible
// now.
func actionSchemas() []spec.Component {
	digits := spec.Text()
	digits.Pattern = "^[0-9]+$"
	field := func(more ...spec.Member) *spec.Schema {
		return spec.Object(append([]spec.Member{
			spec.Required("name", spec.Text(), "name of the field"), spec.Required("kind", spec.Text(), "kind of the field's values"),
			spec.Required("required", spec.Bool(), "whether a request must have the field"), spec.Required("help", spec.Text(), "meaning of the field"),
			spec.Optional("minimum", digits, "the smallest value of a number; for an amount, in minor units"),
			spec.Optional("maximum", digits, "the largest value of a number that the contract allows now; for an amount, in minor units"),
			spec.Optional("min_length", spec.Integer(1), "smallest number of characters of a text, or of entries of a list"), spec.Optional("max_length", spec.Integer(1), "greatest number of characters of a text, or of entries of a list"),
			spec.Optional("words", spec.List(spec.Text()), "the possible values"), spec.Optional("default", spec.Anything(), "the value that is used if none is sent"),
		}, more...)...)
	}
	return []spec.Component{
		{Name: "ContractAction", Schema: spec.Object(
			spec.Required("action", spec.Text(), "name of the action, as it is in paths"),
			spec.Required("allowed", spec.Bool(), "whether the caller may take the action now"),
			spec.Required("refusal", refusalOfAction(), "if the action is not allowed: the body of the response that a request for it would get; otherwise null"),
			spec.Required("after", spec.Nullable(spec.List(spec.Text())), "the actions that have to be taken before this one, in their order; null if no sequence of actions leads to this one any more"),
			spec.Required("from", spec.List(spec.Text()), "the statuses in which the action is possible"),
			spec.Required("leads_to", spec.List(spec.Object(spec.Required("status", spec.Text(), "the status"), spec.Required("why", spec.Text(), "what has happened when the contract reaches this status"))),
				"the statuses to which the action may lead from the present status"),
			spec.Required("fields", spec.List(spec.Ref("ContractField")), "the fields of the request's body"),
		)},
		{Name: "ContractField", Schema: field(spec.Optional("fields", spec.List(spec.Ref("ContractMember")), "the members of an object"))},
		{Name: "ContractMember", Schema: field()},
	}
}

// shown returns the schema of a contract in responses.
func (k contractKind) shown(inList bool) *spec.Schema {
	style := k.reading.ResponseStyle
	s := spec.Object(spec.Required("id", spec.UUID(), "id of the contract"))
	if k.reading.NamesProduct {
		s.Members = append(s.Members, spec.Required("product_type", spec.Words(k.name()), "the product"), spec.Required("organization_id", spec.UUID(), "the organization"))
	}
	states := spec.Text()
	for _, state := range k.product.Machine(k.reading).States() {
		if state != contract.Absent {
			states.Words = append(states.Words, string(state))
		}
	}
	s.Members = append(s.Members, spec.Required("contract_number", spec.Text(),
		"such as `"+k.product.Variants[k.reading].Prefix+"-2026-000001`; the numbers of an organization have no gaps"),
		spec.Required("status", states, "state of the contract"), spec.Required("env", envName(), "environment"))
	showDetail := !inList || !k.product.ShortLists
	metadata := spec.OpenObject()
	for _, c := range k.product.Columns.Columns {
		switch {
		case c == contract.ClientMetadata.Column:
			if showDetail {
				s.Members = append(s.Members, spec.Member{Name: c.Name})
			}
		case c.Visibility == schema.Metadata:
			m := spec.ShownMember(c, style, true)
			m.Schema = spec.AnyOf(m.Schema, spec.Anything().WithText("the value that the request sent under this name, until the service sets a value of its own"))
			metadata.Members = append(metadata.Members, m)
		case c.Visibility == schema.Short, c.Visibility == schema.Detail && showDetail, c.Visibility == schema.OutsideLists && !inList:
			s.Members = append(s.Members, spec.ShownMember(c, style, false))
		}
	}
	for i := range s.Members {
		if m := &s.Members[i]; m.Name == contract.ClientMetadata.Name {
			m.Schema, m.Required = spec.Nullable(metadata.WithText("the object that was sent, and what the service adds to it")), !style.OmitEmpty
		}
	}
	s.Members = append(s.Members, spec.Required("inserted_at", spec.Instant(), "when it was created"), spec.Required("updated_at", spec.Instant(), "when it last changed"))
	return s
}

// createBody returns the schema for the body of a request that creates a contract.
func (k contractKind) createBody() *spec.Schema {
	s := spec.ForCreate(k.product.Columns.Columns, k.reading.ParseOptions)
	for i := range s.Members {
		switch m := &s.Members[i]; m.Name {
		case contract.Currency.Name:
			m.Schema, m.Required = currencyOfContract().WithText("currency code"), k.product.NeedsCurrency
			if !m.Required {
				m.Schema = spec.Nullable(m.Schema).WithText("currency code; if absent, the currency of the region")
			}
		case contract.Region.Name:
			m.Schema = regionCode().WithText("code of the contract's region, which must be one of the organization's regions")
		}
	}
	s.Members = append(s.Members, spec.Optional("env", spec.Nullable(envName().WithDefault("prod")), "environment"))
	if len(k.product.Variants[k.reading].CreationActions) > 0 {
		s.Members = append(s.Members, spec.Required(contract.Reviewed.Name, spec.ForCreate(k.product.Reviews(k.reading).Columns, schema.ParseOptions{}),
			"the board's approval: the request that creates the contract also reviews, funds and activates it"))
	}
	return s
}

func regionCode() *spec.Schema {
	s := spec.Text()
	for _, region := range contract.AllRegions() {
		s.Words = append(s.Words, region.Code)
	}
	return s
}

func currencyOfContract() *spec.Schema {
	s := spec.Words("USD", "EUR")
	for _, region := range contract.AllRegions() {
		if region.Currency != money.Currency("USD") && region.Currency != money.Currency("EUR") {
			s.Words = append(s.Words, string(region.Currency))
		}
	}
	return s
}

// withModule completes operations that belong to a whole reading: it sets the tag tagBank and the form {error, details} of
// refusals. It also adds the refusal for organizations that do not have the reading's module.
func withModule(list []spec.Operation) []spec.Operation {
	for i := range list {
		list[i].Tag, list[i].RefusalForm = tagBank, spec.WithDetails
		list[i].Refusals = append(list[i].Refusals, spec.Refusal{Code: ledger.ModuleNotActive})
	}
	return list
}
