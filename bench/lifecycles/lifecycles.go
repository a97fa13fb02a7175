package lifecycles

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"mizan/ledger/contract"
)

// Lifecycle is a sequence of requests that takes a contract from its creation to its end.
type Lifecycle struct {
	Product    string // the product's secular name, also in the religious reading
	Reading    string // the form of the product: "secular" or "religious"
	Path       string // URL path of the create request; a step's path adds the contract's id and the action
	CreateBody string // with placeholders, see Fill
	Steps      []Step // requests after the create request
}

// Step is a request that carries out an action on the contract.
type Step struct{ Action, Body string }

const approvalBody = `{"approved_by":"board","fatwa_reference":"F-1"}`

// Prefixes of the URL paths of contracts in the secular and in the religious reading.
var (
	secularPrefix   = "/api/v1" + contract.Secular.Path + "/"
	religiousPrefix = "/api/v1" + contract.Religious.Path + "/"
)

// JSON members of the request bodies in All. In these bodies, {id} stands for the id of a person, and {today} for the day on
// which the request is sent.
const (
	partnershipMembers = `"customer_id":"{id}","region":"AE","partnership_type":"diminishing","total_value":"1000000","bank_contribution":"800000",` +
		`"customer_contribution":"200000","profit_sharing_ratio":{"bank":60,"customer":40},"term_months":3`
	certificateMembers = `"name":"Tower","region":"MY","backing_type":"lease","underlying_asset":"an office tower","underlying_asset_value":"1000000",` +
		`"total_value":"1000000","certificate_value":"1000","expected_yield":5,"maturity_months":12,"early_redemption_allowed":true,` +
		`"subscription_start":"2020-01-01","subscription_end":"2099-12-31"`
	investmentMembers = `"customer_id":"{id}","region":"SA","currency":"SAR","capital_amount":"1000000","business_type":"trade",` +
		`"profit_sharing_ratio":{"bank":60,"customer":40},"term_months":12`
	leaseMembers = `"customer_id":"{id}","region":"QA","lease_type":"operating","asset_description":"a delivery van","asset_cost":"1000000",` +
		`"lease_term_months":12,"monthly_rental":"90000"`
	saleMembers = `"customer_id":"{id}","region":"KW","currency":"KWD","asset_description":"a delivery van","asset_cost":"1000000",` +
		`"markup_rate":10,"instalments":12`
)

// All lists a lifecycle for each product in each of its readings. A lifecycle has two to ten actions after the creation. Most
// of these actions move money.
var All = []Lifecycle{
	{"partnerships", "secular", secularPrefix + "partnerships", "{" + partnershipMembers + "}", []Step{
		{"submit", "{}"}, {"review", `{"approved_by":"board"}`}, {"fund", "{}"}, {"activate", "{}"},
		{"profit", `{"gross_profit":"10001","period_end_date":"{today}"}`}, {"profit", `{"gross_profit":"777","period_end_date":"{today}"}`},
		{"loss", `{"amount":"501"}`}, {"buyout", "{}"}, {"buyout", "{}"}, {"buyout", "{}"},
	}},
	{"certificate-issues", "secular", secularPrefix + "certificate-issues", "{" + certificateMembers + "}", []Step{
		{"offering", "{}"}, {"subscribe", `{"investor_id":"{id}","certificates":10}`}, {"subscribe", `{"investor_id":"{id}","certificates":7}`},
		{"subscribe", `{"investor_id":"{id}","certificates":3}`}, {"close_subscription", "{}"}, {"activate", "{}"},
		{"profit", `{"total_profit":"12345"}`}, {"profit", `{"total_profit":"999"}`}, {"redeem_early", `{"redemption_date":"2026-12-01"}`},
	}},
	{"managed-investments", "secular", secularPrefix + "managed-investments", "{" + investmentMembers + "}", []Step{
		{"fund", "{}"}, {"activate", "{}"}, {"profit", `{"gross_profit":"10001","period_end_date":"{today}"}`},
		{"loss", `{"amount":"501","period_end_date":"{today}"}`}, {"profit", `{"gross_profit":"777","period_end_date":"{today}"}`},
		{"profit", `{"gross_profit":"0","period_end_date":"{today}"}`}, {"complete", `{"final_value":"1000000"}`},
	}},
	{"leases", "secular", secularPrefix + "leases", "{" + leaseMembers + "}", []Step{
		{"acquire", `{"ownership_documents":["deed"]}`}, {"activate", "{}"}, {"payment", `{"amount":"90000"}`}, {"arrears", `{"amount":"100"}`},
		{"arrears", `{"amount":"0"}`}, {"expense", `{"amount":"250","description":"tyres"}`}, {"payment", `{"amount":"90000"}`}, {"return", "{}"},
	}},
	{"investment-deposits", "secular", secularPrefix + "investment-deposits", `{"customer_id":"{id}","region":"BH","currency":"BHD","initial_amount":"500000",` +
		`"term_months":12,"profit_sharing_ratio":{"bank":30,"customer":70},"early_withdrawal_allowed":true,"early_withdrawal_penalty_percent":10}`, []Step{
		{"activate", "{}"}, {"profit", `{"gross_profit":"10001"}`}, {"loss", `{"amount":"501"}`}, {"profit", `{"gross_profit":"777"}`},
		{"profit", `{"gross_profit":"0"}`}, {"withdraw", `{"closed_by":"teller"}`}, {"close", `{"closed_by":"teller"}`},
	}},
	{"instalment-sales", "secular", secularPrefix + "instalment-sales", "{" + saleMembers + "}", []Step{
		{"order_asset", "{}"}, {"purchase_asset", `{"ownership_documents":["deed"]}`}, {"deliver_asset", "{}"}, {"activate", "{}"},
		{"record_payment", `{"amount":"91666"}`}, {"record_delinquency", `{"amount":"100"}`}, {"record_payment", `{"amount":"91666"}`}, {"settle_early", `{"rebate":"1000"}`},
	}},
	{"safekeeping-deposits", "secular", secularPrefix + "safekeeping-deposits", `{"customer_id":"{id}","region":"OM","currency":"OMR","custody_type":"guaranteed","initial_amount":"100000"}`, []Step{
		{"activate", "{}"}, {"deposit", `{"amount":"5000"}`}, {"grant_hibah", `{"amount":"10","granted_by":"board"}`}, {"withdraw", `{"amount":"2500"}`},
		{"deposit", `{"amount":"1"}`}, {"close", `{"closed_by":"teller"}`},
	}},

	{"partnerships", "religious", religiousPrefix + "musharaka", "{" + partnershipMembers + `,"compliance_review":` + approvalBody + "}", []Step{
		{"buyout_unit", "{}"}, {"buyout_unit", "{}"}, {"buyout_unit", "{}"},
	}},
	{"certificate-issues", "religious", religiousPrefix + "sukuk", "{" + certificateMembers + "}", []Step{
		{"approve", approvalBody}, {"start_offering", "{}"}, {"subscribe", `{"investor_id":"{id}","certificates":10}`}, {"subscribe", `{"investor_id":"{id}","certificates":7}`},
		{"subscribe", `{"investor_id":"{id}","certificates":3}`}, {"close_subscription", "{}"}, {"activate", "{}"},
		{"distribute_profit", `{"total_profit":"12345"}`}, {"distribute_profit", `{"total_profit":"999"}`}, {"redeem_early", `{"redemption_date":"2026-12-01"}`},
	}},
	{"managed-investments", "religious", religiousPrefix + "mudaraba", "{" + investmentMembers + "}", []Step{
		{"approve", approvalBody}, {"fund", "{}"}, {"activate", "{}"}, {"distribute_profit", `{"gross_profit":"10001","period_end_date":"{today}"}`},
		{"record_loss", `{"amount":"501","period_end_date":"{today}"}`}, {"distribute_profit", `{"gross_profit":"777","period_end_date":"{today}"}`},
		{"distribute_profit", `{"gross_profit":"0","period_end_date":"{today}"}`}, {"complete", `{"final_value":"1000000"}`},
	}},
	{"leases", "religious", religiousPrefix + "ijara", "{" + leaseMembers + "}", []Step{
		{"approve", approvalBody}, {"acquire_asset", `{"ownership_documents":["deed"]}`}, {"activate", "{}"}, {"record_rental", `{"amount":"90000"}`},
		{"record_arrears", `{"amount":"100"}`}, {"record_arrears", `{"amount":"0"}`}, {"record_owner_expense", `{"amount":"250","description":"tyres"}`},
		{"record_rental", `{"amount":"90000"}`}, {"return_asset", "{}"},
	}},
	{"instalment-sales", "religious", religiousPrefix + "murabaha", "{" + saleMembers + "}", []Step{
		{"approve", approvalBody}, {"order_asset", "{}"}, {"purchase_asset", `{"ownership_documents":["deed"]}`}, {"deliver_asset", "{}"}, {"activate", "{}"},
		{"record_payment", `{"amount":"91666"}`}, {"record_delinquency", `{"amount":"100"}`}, {"record_payment", `{"amount":"91666"}`},
	}},
	{"safekeeping-deposits", "religious", religiousPrefix + "wadiah", `{"customer_id":"{id}","region":"OM","currency":"OMR","custody_type":"guaranteed","initial_amount":"100000","compliance_review":` + approvalBody + "}", []Step{
		{"grant_hibah", `{"amount":"10","granted_by":"board"}`}, {"grant_hibah", `{"amount":"11","granted_by":"board"}`},
	}},
}

// Fill replaces the placeholders in a body: each {id} by a new id, and each {today} by the date of the instant "at" in UTC.
func Fill(body string, at time.Time) string {
	for strings.Contains(body, idPlaceholder) {
		body = strings.Replace(body, idPlaceholder, uuid.NewString(), 1)
	}
	return strings.ReplaceAll(body, todayPlaceholder, at.UTC().Format(time.DateOnly))
}

// The placeholders in bodies.
const (
	idPlaceholder    = "{id}"    // the id of a person
	todayPlaceholder = "{today}" // the day on which the body is sent
)
