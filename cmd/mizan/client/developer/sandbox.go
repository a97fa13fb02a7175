package developer

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/cmd/mizan/client"
)

// exitNotCharged is the exit code if the transaction does not have the outcome that the command should bring about.
const exitNotCharged = 4

const (
	transactionsPath = "/transactions"
	terminalPath     = "/terminal"
	clockPath        = "/sandbox/clock"
)

// transaction decodes the members of a transaction that the commands use.
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

// hasEnded tells whether polling can end because the transaction has an outcome. A transaction whose money is held at a
// two-phase terminal, or whose refund is under way, also counts as ended.
func (t *transaction) hasEnded() bool {
	switch t.Status {
	case "created", "new", "authorizing", "action_required", "charging", "pre_authorized_3ds", "auth_required", "unknown", "cancelled":
		return false
	}
	return true
}

// sandboxRun is the state of a command that runs against a sandbox. The command acts as one of the sandbox's partners.
type sandboxRun struct {
	*client.Command                 // sends requests with the partner's API key
	admin           *client.Command // sends requests with the administration token; nil if the command has none
	amount          string          // amount from the flags, in minor units
}

// openSandbox resolves the flags and checks that the server is a sandbox.
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

// parse decodes a transaction.
func (r *sandboxRun) parse(o client.Object) (*transaction, error) {
	t := &transaction{raw: o}
	if err := json.Unmarshal(o.Raw, t); err != nil || t.ID == "" || t.Status == "" {
		return nil, r.Failed("the answer is not the server's")
	}
	return t, nil
}

// create asks the server to create a transaction with these params.
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

// cardParams returns the parameter money_storage for a payment with one of the sandbox's test cards. Only the card's number
// decides the outcome; the other values are arbitrary.
func cardParams(number string) map[string]string {
	return map[string]string{
		"type": "bank_card", "cardnumber": number, "cardholder": "JANE DOE", "exp_month": "12", "exp_year": "2099", "cvv": "123",
	}
}

// pollInterval is the time between two reads of a transaction that has not ended.
const pollInterval = 500 * time.Millisecond
