package operations

import (
	"mizan/actors/directory/logins"
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// pageOperations returns the operations that serve the pages for payers.
func pageOperations() []spec.Operation {
	id := spec.InPath("id", spec.Text(), "The id of the transaction.")
	token := spec.InQuery("token", spec.Text(), "The token in the address. Without the right token, the response is 404.")
	const pay = "/pay/{id}"
	page := func(text string) spec.Answer { return spec.Answer{Status: 200, Media: spec.PageMedia, Text: text} }
	redirect := func(text string) spec.Answer {
		return spec.Answer{Status: 303, Text: text, Headers: []spec.Header{{Name: "location", Schema: spec.Text(), Text: "The address to which the browser goes.",
			Required: true}}}
	}
	gone := func(text string) spec.Answer { return spec.Answer{Status: 410, Media: spec.PageMedia, Text: text} }
	wrong := spec.Answer{Status: 422, Media: spec.PageMedia, Text: "The form again. Its wrong fields are marked, and what was typed stays, except for the number of a card and its cvv."}
	tooMany := spec.Answer{Status: 429, Media: spec.PageMedia, Text: "There were too many forms from this address. The page counts down the waiting time, and then leads back.",
		Headers: []spec.Header{{Name: "retry-after", Schema: spec.Integer(1), Text: "Seconds to wait.", Required: true}}}
	form := func(members ...spec.Member) *spec.Body {
		return &spec.Body{Media: "application/x-www-form-urlencoded", Schema: spec.OpenObject(members...), Optional: true,
			Text: "The fields of the page's form: at most 64 KiB, and each name at most once."}
	}
	unknown := spec.Refusal{Code: ledger.NotFound, When: "there is no such page, or the token is missing or wrong"}
	expired := gone("The address has expired. The page says how the transaction has ended, or what to do.")
	list := []spec.Operation{{
		ID: "showPayerPage", Method: "GET", Path: pay, Summary: "Show the payer's next step",
		Parameters: []spec.Parameter{id, token, spec.InQuery("posted", spec.Text(), "The pages set it themselves after a form was sent.")},
		Answers: []spec.Answer{page("The page, which shows the payer's next action or how the transaction has ended."),
			redirect("The browser is sent to the page's lasting address, or to the provider's page."), expired}, Refusals: []spec.Refusal{unknown},
	}, {
		ID: "sendPayerForm", Method: "POST", Path: pay, Summary: "Take the payer's form", Parameters: []spec.Parameter{id, token},
		Body: form(
			spec.Optional("step", spec.Text(), "what the form asks for and the number of the payer's attempt, such as `method-1`"),
			spec.Optional("method", spec.Text(), "the chosen type of money_storage"),
			spec.Optional("cardnumber", spec.Text(), "number of the card"),
			spec.Optional("expiry", spec.Text(), "month and year of expiry, as people write them"), spec.Optional("cvv", spec.Text(), "verification value of the card"),
			spec.Optional("cardholder", spec.Text(), "name on the card"),
			spec.Optional("otp", spec.Text(), "a one-time password"), spec.Optional("signature", spec.Text(), "the payer's signature of the text that the page shows"),
			spec.Optional("target_bank_id", spec.Text(), "id of the chosen bank"),
			spec.Optional("cancel", spec.Text(), "if it is sent with any value, the payer cancels the payment"),
		),
		Answers: []spec.Answer{redirect("The browser is sent to the page, which shows the next step."), expired, wrong, tooMany}, Refusals: []spec.Refusal{unknown},
	}, {
		ID: "showReceipt", Method: "GET", Path: pay + "/receipt", Summary: "Show the receipt", Parameters: []spec.Parameter{id, token},
		Answers: []spec.Answer{page("The receipt of a transaction whose money has moved."),
			gone("The receipt's token has expired. It is valid for 180 days after the transaction has ended.")}, Refusals: []spec.Refusal{unknown},
	}}
	for _, method := range []struct{ id, name string }{{"returnPayer", "GET"}, {"returnPayerByForm", "POST"}} {
		list = append(list, spec.Operation{
			ID: method.id, Method: method.name, Path: pay + "/return", Summary: "Take the payer back from the provider",
			Parameters: []spec.Parameter{id, token},
			Answers:    []spec.Answer{redirect("The browser is sent to `returnUrl` or `failUrl`, or to the page if the payer still has to act."), expired},
			Refusals:   []spec.Refusal{unknown},
		})
		if method.name == "POST" {
			list[len(list)-1].Body = &spec.Body{Media: "application/x-www-form-urlencoded", Schema: spec.OpenObject(), Optional: true,
				Text: "What the provider sends is ignored."}
		}
	}
	list = append(list, offerPages("Link", "/pay/l/{id}", "payment link", page, redirect, form, wrong, tooMany)...)
	list = append(list, offerPages("Product", "/pay/p/{id}", "product", page, redirect, form, wrong, tooMany)...)
	challenge := []spec.Parameter{
		spec.InQuery("terminal", spec.Text(), "The id of the terminal."), spec.InQuery("reference", spec.Text(), "The reference of the charge."),
		spec.InQuery("token", spec.Text(), "The token in the address."),
	}
	list = append(list, spec.Operation{
		ID: "showImage", Method: "GET", Path: "/images/{name}", Summary: "Show an uploaded image",
		Parameters: []spec.Parameter{spec.InPath("name", spec.Text(),
			"The name in the image's `url`. For a smaller version, `-page`, `-logo` or `-thumbnail` takes the place of the name's ending (`.png` or `.jpg`).")},
		Answers: []spec.Answer{{Status: 200, Media: "image/png", OtherMedia: []string{"image/jpeg"},
			Text: "The image. The content at an address never changes."}},
		Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "there is no such image"}},
	}, spec.Operation{
		ID: "showIcon", Method: "GET", Path: "/favicon.ico", Summary: "Show the pages' icon", Answers: []spec.Answer{{Status: 200, Media: "image/svg+xml"}},
	}, spec.Operation{
		ID: "showChallenge", Method: "GET", Path: "/simulator/challenge", Summary: "Show the sandbox's bank", Parameters: challenge,
		Answers:  []spec.Answer{page("A page of a simulated bank with the buttons `approve` and `refuse`. Other sites may show it in a frame.")},
		Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "there is no such challenge"}},
	}, spec.Operation{
		ID: "decideChallenge", Method: "POST", Path: "/simulator/challenge", Summary: "Approve or refuse at the sandbox's bank", Parameters: challenge,
		Body: form(spec.Optional("decision", spec.Words("approve", "refuse"),
			"a field whose name or value is `approve` or `refuse`; the parameters of the query may also be sent as fields")),
		Answers: []spec.Answer{page("The page again, if the form has no decision, or if there is no address to which the payer may be sent back."),
			redirect("The browser is sent back to the transaction's page.")}, Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "there is no such challenge"}},
	})
	for i := range list {
		list[i].Tag, list[i].RefusalForm = tagPages, spec.AsPage
	}
	return list
}

// offerPages returns the operations that serve the public pages of payment links or of products.
func offerPages(name, path, title string, page, redirect func(string) spec.Answer, form func(...spec.Member) *spec.Body, wrong,
	tooMany spec.Answer) []spec.Operation {
	id := spec.InPath("id", spec.Text(), "The id of the "+title+".")
	unknown := spec.Refusal{Code: ledger.NotFound, When: "there is no such " + title}
	closed := spec.Answer{Status: 410, Media: spec.PageMedia, Text: "The " + title + " accepts no payments."}
	day := spec.Header{Name: "cache-control", Schema: spec.Text(), Text: "The code never changes.", Required: true}
	return []spec.Operation{{
		ID: "show" + name, Method: "GET", Path: path, Summary: "Show the page of a " + title, Parameters: []spec.Parameter{id},
		Answers: []spec.Answer{page("The page, on which anybody can begin a payment."), closed}, Refusals: []spec.Refusal{unknown},
	}, {
		ID: "payAt" + name, Method: "POST", Path: path, Summary: "Begin a payment at a " + title, Parameters: []spec.Parameter{id},
		Body:    form(spec.Optional("amount", spec.Text(), "the amount in major units, written as in the page's language; needed if the payer enters the amount")),
		Answers: []spec.Answer{redirect("The browser is sent to the payment's page."), closed, wrong, tooMany}, Refusals: []spec.Refusal{unknown},
	}, {
		ID: "draw" + name + "Code", Method: "GET", Path: path + "/qr.svg", Summary: "Draw the QR code of a " + title + "'s address as SVG",
		Parameters: []spec.Parameter{id},
		Answers:    []spec.Answer{{Status: 200, Media: "image/svg+xml", Headers: []spec.Header{day}}}, Refusals: []spec.Refusal{unknown},
	}, {
		ID: "render" + name + "Code", Method: "GET", Path: path + "/qr.png", Summary: "Draw the QR code of a " + title + "'s address as PNG",
		Parameters: []spec.Parameter{id, spec.InQuery("size", spec.IntegerUpTo(64, 2048).WithDefault(512), "The length of a side in pixels.")},
		Answers: []spec.Answer{{Status: 200, Media: "image/png", Headers: []spec.Header{day}},
			{Status: 422, Media: spec.PageMedia, Text: "The size is wrong."}}, Refusals: []spec.Refusal{unknown},
	}}
}

// sessionOperations returns the operations that begin, read and end a session, and those of ownOperations.
func sessionOperations() []spec.Operation {
	const current = v1 + "/sessions/current"
	roles := recordRoles()
	return append([]spec.Operation{{
		ID: "logIn", Method: "POST", Path: v1 + "/sessions", Tag: tagSessions, Summary: "Log in",
		Parameters: []spec.Parameter{spec.InHeader("x-organization-id", spec.Text(), "The id of the organization. Other credentials in the request are ignored.")},
		Body: spec.Record(spec.OpenObject(spec.Required("login", &spec.Schema{Types: []string{"string"}, MinLength: 1, MaxLength: 255},
			"the login of a user or a partner"), spec.Required("pass", &spec.Schema{Types: []string{"string"}, MinLength: 1, WriteOnly: true}, "the password, of at most 256 bytes"))),
		Answers: created(spec.Data(spec.Object(
			spec.Required("token", spec.Text(), "send it as `authorization: Bearer …`, with `x-organization-id`; it is shown only this once"),
			spec.Required("expires_at", spec.Instant(), "when the session ends"), spec.Required("organization_id", spec.UUID(), "the organization"),
			spec.Required("roles", roles, "the roles"),
		))),
		Refusals: []spec.Refusal{{Code: ledger.Unauthorized, When: "the login fails, for whatever reason"},
			{Code: ledger.Forbidden, When: "the partner is deactivated, and the password is right"},
			{Code: ledger.Invalid, When: "the login or the password is missing, too long or not a string"},
			{Code: web.RateLimited, When: "too many failed attempts at this login, or too many attempts at once from this address"},
			{Code: ledger.Unavailable, When: "too many attempts to log in are waiting"}},
		Examples: []spec.Example{{As: "organization", Body: `{"login":"demo-auditor","pass":"correct-horse-battery-9"}`,
			Keep: map[string]string{"session": "data.token"}, Setup: []spec.Request{
				{As: "admin", Method: "POST", Path: v1 + "/users",
					Body: `{"login":"demo-auditor","name":"Demo","pass":"correct-horse-battery-9","roles":["auditor"]}`},
			}}},
	}, {
		ID: "getSession", Method: "GET", Path: current, Tag: tagSessions, Summary: "Read the session",
		Answers: ok(spec.Data(spec.Object(spec.Required("organization_id", spec.UUID(), "the organization"), spec.Required("roles", roles, "the roles"),
			spec.Required("expires_at", spec.Nullable(spec.Instant()), "when the session ends; null for the sessions of `sandbox.json`")))), Examples: []spec.Example{{As: "auditor"}},
	}, {
		ID: "logOut", Method: "DELETE", Path: current, Tag: tagSessions, Summary: "Log out",
		Answers: []spec.Answer{{Status: 204, Text: "The token is invalid at once."}}, Examples: []spec.Example{{As: "$session"}},
	}}, ownOperations()...)
}

// ownOperations returns the operations with which people manage their own sessions and settings. It also returns the operation
// with which the operator lists attempts to log in.
func ownOperations() []spec.Operation {
	const current = v1 + "/users/current"
	address := func(text string) spec.Member { return spec.Required("source", spec.Nullable(spec.Text()), text) }
	failures := spec.Object(spec.Required("count", spec.Integer(1), "number of failed attempts"), spec.Required("last_at", spec.Instant(), "when the last failed attempt was made"),
		spec.Required("last_source", spec.Nullable(spec.Text()), "the address from which the last failed attempt came"))
	session := spec.Object(spec.Required("id", spec.UUID(), "the session's id, which is not its token"), spec.Required("created_at", spec.Instant(), "when it began"),
		spec.Required("last_used_at", spec.Nullable(spec.Instant()), "when the session was last used; null if it was not used yet"),
		spec.Required("expires_at", spec.Nullable(spec.Instant()), "when the session ends; null for the sessions of `sandbox.json`"), address("the address from which the login came"),
		spec.Required("console", spec.Bool(), "whether it is a session of the console; the API does not accept such a session"),
		spec.Required("current", spec.Bool(), "whether the request was made with this session"),
		spec.Required("failures_before", spec.Nullable(failures), "the failed attempts to log in between the previous login and the login of this session; null if there were none"))
	own := spec.Data(spec.Object(spec.Required("id", spec.Nullable(spec.UUID()), "the user's id; null for a partner"), spec.Required("login", spec.Nullable(spec.Text()), "the login"),
		spec.Required("name", spec.Nullable(spec.Text()), "the name"), spec.Required("email", spec.Nullable(spec.Text()), "the e-mail address"),
		spec.Required("lang", spec.Nullable(spec.Text()), "the language"), spec.Required("partner_id", spec.Nullable(spec.Integer(1)), "the partner as which the person acts"),
		spec.Required("roles", recordRoles(), "the roles")))
	return []spec.Operation{{
		ID: "listSessions", Method: "GET", Path: v1 + "/sessions", Tag: tagSessions, Summary: "List your own sessions",
		Answers: ok(spec.Page(session, "id")), Examples: []spec.Example{{As: "auditor"}},
	}, {
		ID: "endSession", Method: "DELETE", Path: v1 + "/sessions/{id}", Tag: tagSessions, Summary: "End one of your own sessions",
		Parameters: []spec.Parameter{idParameter}, Answers: []spec.Answer{{Status: 204, Text: "The session is invalid at once."}},
		Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "you have no such session"}},
	}, {
		ID: "endOtherSessions", Method: "DELETE", Path: v1 + "/sessions", Tag: tagSessions, Summary: "End all of your own sessions but this one",
		Answers: ok(spec.Data(spec.Object(spec.Required("ended", spec.Integer(0), "number of sessions that were ended")))), Examples: []spec.Example{{As: "auditor"}},
	}, {
		ID: "getOwnUser", Method: "GET", Path: current, Tag: tagSessions, Summary: "Read who you are", Answers: ok(own), Examples: []spec.Example{{As: "auditor"}},
	}, {
		ID: "patchOwnUser", Method: "PATCH", Path: current, Tag: tagSessions, Summary: "Change your own language or password",
		Body: spec.Record(spec.OpenObject(
			spec.Optional("lang", spec.Nullable(spec.Words(directory.ConsoleLanguages...)), "the language of the console; null selects the browser's language. A partner cannot set it"),
			spec.Optional("pass", &spec.Schema{Types: []string{"string"}, WriteOnly: true}, "the new password, to which the rules for a user's password apply"),
			spec.Optional("current_pass", &spec.Schema{Types: []string{"string"}, WriteOnly: true}, "the present password; required with `pass`"),
		)),
		Answers: ok(own), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "a field is wrong, or `current_pass` is not the present password"},
			{Code: web.RateLimited, When: "too many failed attempts at this login, or too many attempts at once from this address"}},
	}, {
		ID: "listLogins", Method: "GET", Path: v1 + "/logins", Tag: tagSessions, Summary: "List the last attempts to log in",
		Parameters: []spec.Parameter{limitParameter(50, web.ListMax), cursorParameter},
		Answers: ok(spec.Page(spec.Object(spec.Required("number", spec.Integer(1), "number of the attempt; later attempts have higher numbers"), spec.Required("at", spec.Instant(), "when the attempt was made"),
			spec.Required("login", spec.Nullable(spec.Text()), "the login; null if no account has it"),
			spec.Required("user_id", spec.Nullable(spec.UUID()), "the user whose login it is"), spec.Required("partner_id", spec.Nullable(spec.Integer(1)), "the partner whose own login it is"),
			spec.Required("outcome", spec.Words(logins.Succeeded, logins.Failed, logins.LockedOut, logins.Deactivated), "how the attempt ended"),
			address("the address from which the attempt came"), spec.Required("console", spec.Bool(), "whether the attempt was made at the console"),
			spec.Required("count", spec.Integer(1), "number of attempts that the row stands for; attempts with a login that is locked out are counted together"),
		), "number")), Examples: []spec.Example{{Query: "limit=1"}},
	}}
}
