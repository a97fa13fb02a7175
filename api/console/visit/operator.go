package visit

import (
	"net/url"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/web"
	"mizan/internal/secret"
	"mizan/ledger"
)

// TokenPath is the path of the page on which a person enters the administration token.
const TokenPath = view.Root + "admin/token"

// maxTokens is the greatest number of sessions for which an administration token is kept. If there are more, the newest token
// replaces the oldest.
const maxTokens = 256

// operatorTokens has the administration tokens that people have entered, by session. The tokens are only in memory.
type operatorTokens struct {
	mu     sync.Mutex
	tokens map[ledger.ID]secret.Text // guarded by mu; the key is the session's id
	order  []ledger.ID               // guarded by mu; ids of the sessions, in the order in which the tokens were entered
}

func (o *operatorTokens) of(session ledger.ID) (secret.Text, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	token, found := o.tokens[session]
	return token, found
}

func (o *operatorTokens) put(session ledger.ID, token secret.Text) {
	o.drop(session)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.order) == maxTokens {
		delete(o.tokens, o.order[0])
		o.order = o.order[1:]
	}
	if o.tokens == nil {
		o.tokens = make(map[ledger.ID]secret.Text)
	}
	o.tokens[session] = token
	o.order = append(o.order, session)
}

func (o *operatorTokens) drop(session ledger.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tokens, session)
	for i, id := range o.order {
		if id == session {
			o.order = append(o.order[:i:i], o.order[i+1:]...)
			return
		}
	}
}

// ShowToken keeps the administration token for the person's session. If the token is not in force, ShowToken returns false and
// keeps nothing.
func (v *Visit) ShowToken(token string) bool {
	if !v.console.cfg.People.AdminToken([]byte(token)) {
		return false
	}
	v.console.tokens.put(v.Session().ID, secret.Text(token))
	return true
}

// ForgetToken removes the administration token of the person's session.
func (v *Visit) ForgetToken() { v.console.tokens.drop(v.Session().ID) }

// IsOperator tells whether the person has entered an administration token in this session, and the token is still in force.
func (v *Visit) IsOperator() bool {
	token, found := v.console.tokens.of(v.Session().ID)
	return found && v.console.cfg.People.AdminToken([]byte(token))
}

// AsOperator returns a visit whose calls use the rights of the administration token, in the given organization or, if org is
// zero, in the person's own. ok is false if the person has not entered a token that is in force. The caller then has to respond
// with AskForToken.
func (v *Visit) AsOperator(org ledger.ID) (operator *Visit, ok bool) {
	if !v.IsOperator() {
		return nil, false
	}
	next := *v
	if next.operatorOf = org; org == (ledger.ID{}) {
		next.operatorOf = v.Principal.Org
	}
	return &next, true
}

// AskForToken redirects the person to the page for entering the administration token. That page then redirects the person back.
func (v *Visit) AskForToken() error {
	next := view.Root
	if v.IsGet() {
		next = string(v.RequestURI())
	}
	return v.Redirect(TokenPath+"?"+url.Values{"next": {LocalPath(next)}}.Encode(), false)
}

// EndSession ends the person's session and removes its administration token.
func (v *Visit) EndSession() error {
	v.ForgetToken()
	if refused := v.Call(web.InternalRequest{Method: fiber.MethodDelete, Path: "/api/v1/sessions/current"}).Refusal(); refused != nil {
		return refused
	}
	return nil
}
