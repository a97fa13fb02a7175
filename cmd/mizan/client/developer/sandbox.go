package developer

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/cmd/mizan/client"
)

// exitNotCharged is the exit code of a payment that has ended in another way than charged.
const exitNotCharged = 4

const (
	transactionsPath = "/transactions"
	terminalPath     = "/terminal"
	clockPath        = "/sandbox/clock"
)

// transaction has the members of a transaction that the commands use.
type transaction struct {
	ID          string `json:"id"`
	TxID        string `json:"txid"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	ErrorCode   string `json:"error_code"`
	Description string `json:"error_description"`
	Amount      string `json:"amount"`
	Currency    string `json:"currency"`
	Network     string `json:"network"`
	Env         string `json:"env"`
	PageURL     string `json:"widget_url"`
	ActionURL   string `json:"simple_auth_redirect_url"`

	raw client.Object
}

// hasEnded tells whether nothing more happens by itself, or not before somebody acts. A refund that is under way
// counts as an end too, because the payment has been settled.
func (t *transaction) hasEnded() bool {
	switch t.Status {
	case "created", "new", "authorizing", "action_required", "charging", "pre_authorized_3ds", "auth_required", "unknown", "cancelled":
		return false
	}
	return true
}

// sandboxRun is a run of a command against a sandbox, as one of its partners.
type sandboxRun struct {
	*client.Command                 // as the partner
	admin           *client.Command // with the administration token; nil: the command has none
	amount          string          // of the flags, in minor units
}

// openSandbox resolves the flags, and makes sure that the server is a sandbox.
func openSandbox(name string, flags *client.KeyFlags, money *moneyFlags, asJSON bool, s *client.Streams) (*sandboxRun, error) {
	r := &sandboxRun{Command: &client.Command{Name: name, Streams: s, JSON: asJSON}}
	var err error
	if r.amount, err = money.minorUnits(); err != nil {
		return nil, r.Misused("%v", err)
	}
	if r.Client, err = flags.Open(); err != nil {
		return nil, r.Misused("%v", err)
	}
	adminClient, err := flags.OpenAdmin()
	if err != nil {
		return nil, r.Misused("%v", err)
	}
	if adminClient != nil {
		r.admin = &client.Command{Name: name, Streams: s, JSON: asJSON, Client: adminClient}
	}
	health, err := r.Read("/health", nil)
	if err != nil {
		return nil, err
	}
	if env, _ := health.Value("env"); client.FormatValue(env) != "sandbox" {
		return nil, r.Misused("%s is no sandbox", r.Client.BaseURL)
	}
	return r, nil
}

// parse reads the members of a transaction.
func (r *sandboxRun) parse(o client.Object) (*transaction, error) {
	t := &transaction{raw: o}
	if err := json.Unmarshal(o.Raw, t); err != nil || t.ID == "" || t.Status == "" {
		return nil, r.Failed("the answer is not the server's")
	}
	return t, nil
}

// create creates a transaction with these params.
func (r *sandboxRun) create(params map[string]any) (*transaction, error) {
	o, err := r.Call(http.MethodPost, transactionsPath, map[string]any{"params": params})
	if err != nil {
		return nil, err
	}
	return r.parse(o)
}

// read reads a transaction.
func (r *sandboxRun) read(id string) (*transaction, error) {
	o, err := r.Read(transactionsPath+"/"+id, nil)
	if err != nil {
		return nil, err
	}
	return r.parse(o)
}

// cardParams are the credentials of a card whose number is the sandbox's. The other values are of no consequence to it.
func cardParams(number string) map[string]string {
	return map[string]string{
		"type": "bank_card", "cardnumber": number, "cardholder": "JANE DOE", "exp_month": "12", "exp_year": "2099", "cvv": "123",
	}
}

// pollInterval is how often a transaction is read that has not ended.
const pollInterval = 500 * time.Millisecond
