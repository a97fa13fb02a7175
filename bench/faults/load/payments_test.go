package load

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
)

// maxAnswerTime is how long an accepted payment should take.
const maxAnswerTime = time.Second

// numberDigits is the number of digits of a payment's number in its txid.
const numberDigits = 12

// payments is a workload of payments, each with a txid of its own, by many merchants in turn.
type payments struct {
	host, organization, prefix string
	keys                       []string

	charged atomic.Uint64 // number of payments that were charged
	unknown atomic.Uint64 // number of payments of unknown outcome
	late    atomic.Uint64 // number of accepted payments that took longer than maxAnswerTime
	slowest atomic.Int64  // nanoseconds that the slowest accepted payment since the last call of takeSlowest took
}

func newPayments(host string, s *server.Sandbox, prefix string, keys []string) *payments {
	return &payments{host: host, organization: s.OrganizationID, prefix: prefix, keys: keys}
}

// paymentJob makes the payments of one connection.
type paymentJob struct {
	*payments
	request  []byte
	numberAt int
	sent     time.Time
}

func (p *payments) job() generator.Job { return &paymentJob{payments: p} }

// Request implements generator.Job.
func (j *paymentJob) Request(n uint64) []byte {
	key := j.keys[n%uint64(len(j.keys))]
	if j.request == nil {
		body := `{"params":{"type":"payment","amount":"1000","currency":"USD","env":"prod","txid":"` + j.prefix
		numberAt := len(body)
		body += fmt.Sprintf("%0*d", numberDigits, 0) + `","returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed","money_storage":{` +
			`"type":"bank_card","cardnumber":"4242424242424242","cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}}`
		head := fmt.Sprintf("POST /api/v1/transactions HTTP/1.1\r\nHost: %s\r\nx-organization-id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nx-api-key: %s\r\n\r\n",
			j.host, j.organization, len(body), key)
		j.request, j.numberAt = append([]byte(head), body...), len(head)+numberAt
	}
	copy(j.request[bytes.Index(j.request, []byte("x-api-key: "))+len("x-api-key: "):], key)
	digits := j.request[j.numberAt : j.numberAt+numberDigits]
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	j.sent = time.Now()
	return j.request
}

// Check implements generator.Job.
func (j *paymentJob) Check(n uint64, a *generator.Response) string {
	if a.Status != 201 {
		if a.Status >= 500 && a.Status != 503 {
			j.OnLost(n)
		}
		return "HTTP " + strconv.Itoa(a.Status)
	}
	status := string(generator.MemberValue(a.Body, `"status":`))
	took := time.Since(j.sent)
	if took > maxAnswerTime {
		j.late.Add(1)
	}
	for slowest := j.slowest.Load(); int64(took) > slowest && !j.slowest.CompareAndSwap(slowest, int64(took)); slowest = j.slowest.Load() {
	}
	if status == "charged" {
		j.charged.Add(1)
		return ""
	}
	if status != "rejected" && status != "failed" {
		j.OnLost(n)
	}
	return "status " + status
}

// OnLost implements generator.Job.
func (j *paymentJob) OnLost(uint64) { j.unknown.Add(1) }

// takeSlowest returns how long the slowest accepted payment since the last call took.
func (p *payments) takeSlowest() time.Duration { return time.Duration(p.slowest.Swap(0)) }
