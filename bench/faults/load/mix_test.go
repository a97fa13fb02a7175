package load

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"mizan/bench/generator"
	"mizan/bench/server"
)

// mix is a workload with the usual requests of merchants and employees.
type mix struct {
	host    string
	sandbox *server.Sandbox
}

// mixJob makes the requests of one connection.
type mixJob struct {
	*mix
	expected    string // HTTP statuses that count as good for the request under way
	isPayment   bool   // the request under way creates a payment that must be charged
	isContract  bool
	lastTxid    string
	paid, contr string // ids of the last charged payment and of the last contract
}

func (m *mix) job() generator.Job { return &mixJob{mix: m} }

// Request implements generator.Job. Of twenty requests ten are payments that are charged.
func (j *mixJob) Request(n uint64) []byte {
	j.expected, j.isPayment, j.isContract = "200 201", false, false
	txid := "mix-" + strconv.FormatUint(n, 10)
	switch n % 20 {
	case 10:
		return j.transaction("payment", txid, "4000000000000002", "")
	case 11:
		if j.lastTxid != "" {
			txid = j.lastTxid
		}
		return j.transaction("payment", txid, "4242424242424242", "")
	case 12:
		return j.transaction("payout", txid, "4242424242424242", "")
	case 13:
		if j.paid != "" {
			return j.partner("GET", "/api/v1/transactions/"+j.paid, "", "")
		}
	case 14:
		return j.partner("GET", "/api/v1/transactions?limit=20", "", "")
	case 15:
		return j.transaction("payment", "", "4242424242424242", txid)
	case 16:
		if j.paid != "" {
			j.expected = "200 422 409" // 422 and 409: the payment was refunded before, or is being refunded
			return j.partner("PUT", "/api/v1/transactions/"+j.paid, `{"params":{"type":"refund","amount":"10"}}`, "")
		}
	case 17:
		j.isContract = true
		return j.employee("POST", "/api/v1/pfp/managed-investments", fmt.Sprintf(`{"customer_id":%q,"region":"SA","currency":"SAR","env":"test","capital_amount":"1000000",`+
			`"business_type":"trade","profit_sharing_ratio":{"bank":60,"customer":40},"term_months":12}`, uuid.NewString()))
	case 18:
		if j.contr != "" {
			j.expected = "200 409" // 409: the contract was funded before
			return j.employee("POST", "/api/v1/pfp/managed-investments/"+j.contr+"/fund", "{}")
		}
	case 19:
		return j.partner("GET", "/api/v1/balances", "", "")
	}
	j.isPayment, j.lastTxid = true, txid
	return j.transaction("payment", txid, "4242424242424242", "")
}

func (j *mixJob) transaction(kind, txid, card, key string) []byte {
	return j.partner("POST", "/api/v1/transactions", fmt.Sprintf(`{"params":{"type":%q,"amount":"1000","currency":"USD","env":"prod","txid":%q,"returnUrl":"https://shop.example/paid",`+
		`"failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}}`, kind, txid, card), key)
}

func (j *mixJob) partner(method, path, body, key string) []byte {
	head := "x-api-key: " + j.sandbox.APIKey + "\r\n"
	if key != "" {
		head += "idempotency-key: " + key + "\r\n"
	}
	return j.message(method, path, head, body)
}

func (j *mixJob) employee(method, path, body string) []byte {
	return j.message(method, path, "authorization: Bearer "+j.sandbox.SessionToken+"\r\n", body)
}

func (j *mixJob) message(method, path, head, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nx-organization-id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		method, path, j.host, j.sandbox.OrganizationID, len(body), head, body)
}

// Check implements generator.Job.
func (j *mixJob) Check(_ uint64, a *generator.Response) string {
	status := strconv.Itoa(a.Status)
	if !bytes.Contains([]byte(j.expected), []byte(status)) {
		return "HTTP " + status
	}
	switch {
	case j.isPayment && bytes.Contains(a.Body, []byte(`"status":"charged"`)):
		j.paid = string(generator.MemberValue(a.Body, `"id":`))
	case j.isContract:
		j.contr = string(generator.MemberValue(a.Body, `"id":`))
	}
	return ""
}

// OnLost implements generator.Job: nothing is counted.
func (j *mixJob) OnLost(uint64) {}
