package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

// recorder sends requests to a server and records every request with its response. `mizan audit verify --answers` reads this
// form.
type recorder struct {
	t            *testing.T
	client       *testkit.Client
	organization string
	partnerID    int64             // 0 if the client is not a partner
	lines        *[]map[string]any // the requests with their responses
}

// ask sends a request, checks the status of the response, and returns the response. It sends an idempotency key unless key is
// empty.
func (c recorder) ask(key, method, path, body string, wantStatus int) map[string]any {
	c.t.Helper()
	client, line := c.client, map[string]any{"method": method, "path": path, "organization_id": c.organization}
	var content any
	if body != "" {
		content, line["body"] = body, body
	}
	if key != "" {
		client, line["idempotency_key"] = client.With("idempotency-key", key), key
	}
	if c.partnerID != 0 {
		line["partner_id"] = c.partnerID
	}
	answer, err := client.Do(method, path, content)
	if err != nil || answer.Status != wantStatus {
		c.t.Fatalf("%s %s: %v, %+v", method, path, err, answer)
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Body))
	decoder.UseNumber()
	var response map[string]any
	if err := decoder.Decode(&response); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	line["status"], line["response"] = wantStatus, response
	*c.lines = append(*c.lines, line)
	return response
}

// recordContract creates a contract, sends the steps, and reads the contract at the end. A step has the name of an action on the
// contract and the body of its request, which may be empty. recordContract returns the contract's URL path.
func (c recorder) recordContract(path, body string, steps ...[2]string) string {
	c.t.Helper()
	contract := c.ask("sign "+path, "POST", path, body, 201)["data"].(map[string]any)
	contractPath := path + "/" + contract["id"].(string)
	day := contract["inserted_at"].(string)[:len("2026-09-03")] // the server's clock stands still, so this is the current day
	for i, step := range steps {
		step[1] = strings.ReplaceAll(step[1], "{today}", day)
		c.ask(fmt.Sprintf("move %s %d", contractPath, i), "POST", contractPath+"/"+step[0], step[1], 200)
	}
	c.ask("", "GET", contractPath, "", 200)
	return contractPath
}

// workload has the responses to the requests of a bank, an administrator and a partner, and the store of the server
// that sent the responses.
type workload struct {
	journal *posting.Journal
	keyring *secret.Keyring
	lines   []map[string]any // the requests with their responses
}

const complianceReview = `{"approved_by":"the board","fatwa_reference":"F-7"}`

func recordWorkload(t *testing.T) *workload {
	t.Helper()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	recorded := new(workload)
	bank := recorder{t: t, client: server.Session(), organization: server.Sandbox.OrganizationID, lines: &recorded.lines}
	recordSecularContracts(bank, server.Sandbox.OrganizationID)
	recordReligiousContracts(bank, server.Sandbox.OrganizationID)
	admin := bank
	admin.client = server.Admin().With("x-organization-id", server.Sandbox.OrganizationID)
	recordAdministration(admin, server.Sandbox.PartnerID)
	partner := bank
	partner.client, partner.partnerID = server.Partner(), server.Sandbox.PartnerID
	recordPayments(partner)
	if code := server.Stop(); code != 0 {
		t.Fatalf("the server stopped with %d", code)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	journal, err := posting.Open(posting.Options{Store: store.Options{Dir: server.Dir, Log: quiet}, Clock: clock.Real{}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	})
	recorded.journal = journal
	if recorded.keyring, err = secret.LoadKeyring(filepath.Join(server.Dir, "keyring")); err != nil {
		t.Fatal(err)
	}
	return recorded
}

func recordSecularContracts(c recorder, customerID string) {
	c.t.Helper()
	const pfp = "/api/v1/pfp/"
	customerFields := fmt.Sprintf(`"customer_id":%q,"region":"AE"`, customerID)
	c.recordContract(pfp+"leases", `{`+customerFields+`,"lease_type":"operating","asset_description":"a forklift truck","asset_cost":"1000","lease_term_months":4,`+
		`"monthly_rental":"50","metadata":{"a":1,"b":[null,"x"]}}`, [2]string{"acquire", `{"ownership_documents":["deed"]}`},
		[2]string{"activate", `{}`}, [2]string{"payment", `{"amount":"70"}`}, [2]string{"expense", `{"amount":"3","description":"a tyre"}`})
	c.recordContract(pfp+"partnerships", `{`+customerFields+`,"partnership_type":"diminishing","total_value":"1000","bank_contribution":"800","customer_contribution":"200",`+
		`"profit_sharing_ratio":{"bank":60,"customer":40},"term_months":7}`, [2]string{"fund", `{}`}, [2]string{"activate", `{}`},
		[2]string{"profit", `{"gross_profit":"101","period_end_date":"{today}"}`}, [2]string{"loss", `{"amount":"33"}`}, [2]string{"buyout", `{"units":2}`})
	c.recordContract(pfp+"certificate-issues", `{"name":"Tower","region":"MY","backing_type":"lease","underlying_asset":"an office tower","underlying_asset_value":"4000",`+
		`"total_value":"4000","certificate_value":"10","expected_yield":5,"maturity_months":2}`,
		[2]string{"offering", `{"subscription_start":"2020-09-01","subscription_end":"2099-09-30"}`},
		[2]string{"subscribe", fmt.Sprintf(`{"investor_id":%q,"certificates":3}`, customerID)}, [2]string{"activate", `{}`},
		[2]string{"profit", `{"total_profit":"100","period_end_date":"{today}"}`})
	c.recordContract(pfp+"managed-investments", `{`+customerFields+`,"currency":"AED","capital_amount":"500","business_type":"trade","profit_sharing_ratio":{"bank":70,"customer":30},"term_months":6}`,
		[2]string{"fund", `{}`}, [2]string{"activate", `{}`}, [2]string{"profit", `{"gross_profit":"33","period_end_date":"{today}"}`}, [2]string{"loss", `{"amount":"9"}`})
	c.recordContract(pfp+"investment-deposits", `{`+customerFields+`,"currency":"USD","initial_amount":"1000","term_months":1,"profit_sharing_ratio":{"bank":50,"customer":50}}`,
		[2]string{"activate", `{}`}, [2]string{"profit", `{"gross_profit":"31"}`}, [2]string{"profit", `{"gross_profit":"17"}`})
	c.recordContract(pfp+"safekeeping-deposits", `{`+customerFields+`,"custody_type":"guaranteed","initial_amount":"1000"}`,
		[2]string{"activate", `{"compliance_review":` + complianceReview + `}`}, [2]string{"grant_hibah", `{"amount":"7","granted_by":"the board"}`})
	c.ask("", "GET", pfp+"leases", "", 200)
}

func recordReligiousContracts(c recorder, customerID string) {
	c.t.Helper()
	const prefix = "/api/v1/baas/islamic-banking/"
	c.ask("screened", "GET", prefix+"screen?subject=asset&region=AE&asset_type=vehicle", "", 200)
	customerFields := fmt.Sprintf(`"customer_id":%q,"region":"AE","currency":"AED"`, customerID)
	approve := [2]string{"approve", complianceReview}
	c.recordContract(prefix+"murabaha", `{`+customerFields+`,"asset_description":"a delivery van","asset_cost":1000,"markup_rate":25,"instalments":3}`,
		approve, [2]string{"order_asset", `{}`}, [2]string{"purchase_asset", `{"ownership_documents":["invoice"]}`},
		[2]string{"deliver_asset", `{}`}, [2]string{"activate", `{}`}, [2]string{"record_payment", `{"amount":77}`})
	c.recordContract(prefix+"musharaka", `{`+customerFields+`,"partnership_type":"diminishing","total_value":9007199254740993,"bank_contribution":9007199254740992,`+
		`"customer_contribution":1,"profit_sharing_ratio":{"bank":60,"customer":40},"term_months":7,"compliance_review":`+complianceReview+`}`, [2]string{"buyout_unit", `{}`})
	c.recordContract(prefix+"wadiah", `{`+customerFields+`,"custody_type":"guaranteed","initial_amount":1000,"compliance_review":`+complianceReview+`}`,
		[2]string{"grant_hibah", `{"amount":7,"granted_by":"the board","note":"for nothing"}`})
}

func recordAdministration(c recorder, partnerID int64) {
	c.t.Helper()
	c.ask("", "PUT", "/api/v1/rates", `{"from":"USD","to":"EUR","rate":"0.9"}`, 200)
	c.ask("", "PUT", "/api/v1/rates", `{"from":"USD","to":"EUR","rate":"0.91"}`, 200)
	c.ask("", "POST", "/api/v1/organizations", `{"name":"Third","type":"merchant"}`, 201)
	c.ask("", "POST", "/api/v1/partners", `{"name":"Shop","login":"shop","pass":"a long enough one"}`, 201)
	c.ask("", "POST", "/api/v1/api_keys", fmt.Sprintf(`{"partner_id":%d,"name":"till"}`, partnerID), 201)
	c.ask("", "POST", fmt.Sprintf("/api/v1/partners/%d/settlements", partnerID), `{"direction":"in","amount":"500","currency":"USD","env":"prod","reference":"R-1"}`, 201)
	user := c.ask("", "POST", "/api/v1/users", `{"login":"viewer","pass":"a long enough one","name":"Viewer","roles":["client"]}`, 201)
	limit := c.ask("", "POST", "/api/v1/limits", fmt.Sprintf(`{"partner_id":%d,"kind":"per_transaction","currency":"USD","env":"prod","max_amount":"900000","scope":"partner"}`, partnerID), 201)
	c.ask("", "PATCH", "/api/v1/limits/"+idOf(limit), `{"max_amount":"800000"}`, 200)
	c.ask("", "POST", "/api/v1/blocklist", `{"kind":"country","value":"KP"}`, 201)
	c.ask("", "DELETE", "/api/v1/users/"+idOf(user), "", 200)
}

func idOf(response map[string]any) string { return response["data"].(map[string]any)["id"].(string) }

func recordPayments(c recorder) {
	c.t.Helper()
	payment := c.ask("", "POST", "/api/v1/transactions", `{"params":{"type":"payment","amount":"1500","currency":"USD","env":"prod","txid":"order-1","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no",`+
		`"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"A B","exp_year":"2030","exp_month":"12","cvv":"123"}}}`, 201)
	if payment["status"] != "charged" {
		c.t.Fatalf("the payment is %v: %v", payment["status"], payment["error_description"])
	}
	subscription := c.ask("renewed", "POST", "/api/v1/subscriptions", fmt.Sprintf(`{"params":{"initial_payment_id":%q,"amount":"900","period_days":30,"metadata":{"a":1}}}`, payment["id"]), 201)
	otherSubscription := c.ask("", "POST", "/api/v1/subscriptions", fmt.Sprintf(`{"params":{"initial_payment_id":%q,"amount":"800","period_days":31}}`, payment["id"]), 201)
	c.ask("", "GET", "/api/v1/subscriptions/"+idOf(otherSubscription), "", 200)
	c.ask("", "POST", "/api/v1/subscriptions/"+idOf(subscription)+"/cancel", "", 200)
}

// check runs the checker on the store and on these recorded responses.
func (w *workload) check(t *testing.T, lines ...map[string]any) *findings.Report {
	t.Helper()
	var content bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		content.Write(append(text, '\n'))
	}
	path := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := check.Check(context.Background(), w.journal, check.Inputs{Answers: path, Keyring: w.keyring, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
