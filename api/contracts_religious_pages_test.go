package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api/contracts"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
)

// Specification: `{data: [...], meta: {total, product_type}}`, page (default 1) and per_page
// (default 50). The list has both environments unless the request names one.
func TestReligiousListsArePaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const contractCount = 60
	var allIDs, prodIDs []string // newest first
	for i := range contractCount {
		env := `"prod"`
		if i%4 == 1 {
			env = `"test"`
		}
		r := f.session().post(religiousPath+"mudaraba", religiousForm("mudaraba").with("env", env).json()).want(201, "")
		allIDs = append([]string{r.at("data.id")}, allIDs...)
		if env == `"prod"` {
			prodIDs = append([]string{r.at("data.id")}, prodIDs...)
		}
	}
	f.createReligious("ijara")
	firstPage := f.session().get(religiousPath+"mudaraba").want(200, "")
	if firstPage.rows() != 50 || firstPage.at("meta") != `{"page":1,"per_page":50,"product_type":"mudaraba","total":60}` {
		t.Errorf("%d rows, %s", firstPage.rows(), firstPage.at("meta"))
	}
	for _, size := range []int{1, 7, 20, 30, 59, 60, 200} {
		for env, want := range map[string][]string{"": allIDs, "&env=prod": prodIDs} {
			var got []string
			for page := 1; ; page++ {
				r := f.session().get(fmt.Sprintf("%smudaraba?per_page=%d&page=%d%s", religiousPath, size, page, env)).want(200, "")
				if r.at("meta.total") != strconv.Itoa(len(want)) || r.at("meta.page") != strconv.Itoa(page) || r.at("meta.per_page") != strconv.Itoa(size) {
					t.Errorf("page %d of %d%s: %s", page, size, env, r.at("meta"))
				}
				if r.rows() == 0 {
					break
				}
				for i := range r.rows() {
					got = append(got, r.at(fmt.Sprintf("data.%d.id", i)))
				}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("pages of %d%s show %d, want %d in their order", size, env, len(got), len(want))
			}
		}
	}
	f.session().get(religiousPath+"mudaraba?page=1000000&per_page=200").want(200, `{"data":[],"meta":{"total":60,"product_type":"mudaraba","page":1000000,"per_page":200}}`)
	f.session().get(religiousPath+"sukuk").want(200, `{"data":[],"meta":{"total":0,"product_type":"sukuk","page":1,"per_page":50}}`)
}

// The server finds every page by its number, wherever the page begins and however many contracts of other products were created
// in between.
func TestPageIsFoundByContractNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const contractCount = 40
	for i := range contractCount {
		f.createReligious("murabaha")
		if i%3 == 0 {
			f.createReligious("ijara")
			f.createSecular("instalment-sales")
		}
		if i%10 == 0 {
			f.advanceDays(1 + i)
		}
	}
	for page := 1; page <= contractCount; page++ {
		r := f.session().get(fmt.Sprintf("%smurabaha?per_page=1&page=%d", religiousPath, page)).want(200, "")
		if got, want := r.at("data.0.contract_number"), fmt.Sprintf("-%06d", contractCount-page+1); !strings.HasSuffix(got, want) {
			t.Errorf("page %d has %s, want %s", page, got, want)
		}
	}
}

// Parameters that are out of bounds, malformed or unknown are 422 with their names.
func TestPageParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for parameters, field := range map[string]string{
		"page=0": "page", "page=-1": "page", "page=1.0": "page", "page=x": "page", "page=": "page", "page=%2B1": "page", "page=01": "page",
		"page=1000001": "page", "page=9223372036854775808": "page", "page=1&page=2": "page",
		"per_page=0": "per_page", "per_page=201": "per_page", "per_page=-5": "per_page", "per_page=": "per_page", "per_page=ten": "per_page",
		"env=staging": "env", "env=": "env", "status=draft": "status", "limit=5": "limit", "cursor=x": "cursor",
	} {
		f.session().get(religiousPath + "mudaraba?" + parameters).wantFaults(field)
	}
	f.session().get(religiousPath+"mudaraba?per_page=0&page=0").wantFaults("page", "per_page")
	f.session().get(religiousPath+"mudaraba?per_page=200&page=1&env=test").want(200, "")
	for _, path := range []string{"stats?env=x", "stats?env="} {
		f.session().get(religiousPath + path).wantFaults("env")
	}
	f.session().get(religiousPath + "stats?page=1").wantFaults("page")
	f.session().get(religiousPath + "regions?env=prod").wantFaults("env")
}

// Specification: `{data: {products: [{product_type, count}], total}}`.
func TestStatisticsCountTheContracts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantStats := func(mudaraba, ijara int) string {
		return fmt.Sprintf(`{"data":{"products":[{"product_type":"sukuk","count":0},{"product_type":"musharaka","count":0},{"product_type":"ijara","count":%d},`+
			`{"product_type":"mudaraba","count":%d},{"product_type":"murabaha","count":0},{"product_type":"wadiah","count":0}],"total":%d}}`, ijara, mudaraba, mudaraba+ijara)
	}
	f.session().get(religiousPath+"stats").want(200, wantStats(0, 0))
	f.createReligious("mudaraba").actWith("reject", refusal).want(200, "") // contracts that have ended count too
	f.createReligious("mudaraba", "env", `"test"`)
	f.createReligious("ijara").approve()
	f.session().post(religiousPath+"ijara", "{}").want(422, "")
	f.session().get(religiousPath+"stats").want(200, wantStats(2, 1))
	f.session().get(religiousPath+"stats?env=prod").want(200, wantStats(1, 1))
	f.session().get(religiousPath+"stats?env=test").want(200, wantStats(1, 0))
	f.restart()
	f.session().get(religiousPath+"stats").want(200, wantStats(2, 1))
}

// The response lists the regions that have a chart of accounts and, in a second list, the regions with dual banking.
func TestRegionsListTheDualBankingOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.session().get(religiousPath+"regions").want(200, "")
	const want = "AE AED,SA SAR,BH BHD,QA QAR,KW KWD,OM OMR,MY MYR,ID IDR,PK PKR,BD BDT,EG EGP,JO JOD,TR TRY,KZ KZT,UZ UZS,AZ AZN,KG KGS,RU RUB,GB GBP"
	offeredTypes := map[string]bool{}
	for i, row := range strings.Split(want, ",") {
		at := fmt.Sprintf("data.regions.%d.", i)
		code, currency, _ := strings.Cut(row, " ")
		if r.at(at+"code") != code || r.at(at+"currencies") != `["`+currency+`","USD","EUR"]` || r.at(at+"name") == "(absent)" || r.at(at+"chart_version") != strconv.Itoa(contract.ChartVersion) {
			t.Errorf("region %d is %s", i, r.at(strings.TrimSuffix(at, ".")))
		}
		for k := range productTypes {
			offeredTypes[r.at(at+"product_types."+strconv.Itoa(k))] = true
		}
	}
	for _, productType := range productTypes {
		if !offeredTypes[productType] {
			t.Errorf("%s is offered nowhere", productType)
		}
	}
	if len(offeredTypes) != len(productTypes) || r.at("data.regions.19") != "(absent)" {
		t.Errorf("offered are %v; %s", offeredTypes, r.body)
	}
	if got := r.at("data.dual_banking"); got != `["AE","BH","MY","ID","PK","BD","TR","KZ","UZ","RU"]` {
		t.Errorf("dual banking is at home in %s", got)
	}
}

// If the organization has allowed_regions, only these are listed.
func TestRegionsAreLimitedToTheOrganizations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	organization := "/api/v1/organizations/" + f.seed.First.Org.String()
	for allowed, want := range map[string][2]string{
		`["SA","MY"]`: {"SA MY", `["MY"]`},
		`["GB"]`:      {"GB", `[]`},
		`["AE","BH"]`: {"AE BH", `["AE","BH"]`},
	} {
		f.admin().patch(organization, `{"allowed_regions":`+allowed+`}`).want(200, "")
		a, codes := f.session().get(religiousPath+"regions").want(200, ""), []string(nil)
		for i := 0; a.at(fmt.Sprintf("data.regions.%d", i)) != "(absent)"; i++ {
			codes = append(codes, a.at(fmt.Sprintf("data.regions.%d.code", i)))
		}
		if got := strings.Join(codes, " "); got != want[0] || a.at("data.dual_banking") != want[1] {
			t.Errorf("allowed %s: %s", allowed, a.body)
		}
	}
	f.admin().patch(organization, `{"allowed_regions":[]}`).want(200, "")
	if r := f.session().get(religiousPath + "regions"); r.at("data.regions.18.code") != "GB" {
		t.Errorf("without allowed regions: %s", r.body)
	}
}

// The specification's rule for partnerships holds in this family too: "The list returns a short form
// (identity, status, contributions, ownership percentages); profit shares, buyout history and review
// are in the detail only."
func TestMusharakaIsListedInItsShortForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("musharaka", "metadata", `{"a":1}`)
	row, _ := f.session().get(religiousPath + "musharaka").object()["data"].([]any)[0].(map[string]any)
	want := strings.Fields("bank_contribution bank_ownership_percent contract_number currency customer_contribution customer_id customer_ownership_percent env id inserted_at organization_id partnership_type product_type region status total_value updated_at")
	if got := slices.Sorted(maps.Keys(row)); !slices.Equal(got, want) {
		t.Errorf("listed with %q, want %q", got, want)
	}
	f.session().get(religiousPath+"musharaka").want(200, "").wantTexts(`"total_value":1000`)
	data, _ := contract.read().object()["data"].(map[string]any)
	for name, value := range row {
		if fmt.Sprint(data[name]) != fmt.Sprint(value) {
			t.Errorf("%s is %v in the list and %v in the detail", name, value, data[name])
		}
	}
	if _, found := data["compliance_review"]; !found {
		t.Error("the detail has no review")
	}
}

// The server finds every page of the list of one environment, wherever the page begins. If the other environment has at most
// MaxSkip contracts, the server skips at most MaxSkip stored rows to find the page.
func TestPageOfOneEnvironmentIsFoundWithBoundedWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const contractCount, testInterval = 40, 5
	lists := map[money.Env][]ledger.ID{}
	for i := range contractCount {
		env := money.Prod
		if i%testInterval == 2 {
			env = money.Test
		}
		id := uuid.MustParse(f.createReligious("wadiah", "env", `"`+env.String()+`"`).id())
		lists[env] = append([]ledger.ID{id}, lists[env]...)
		if i%7 == 0 {
			f.createReligious("mudaraba")
			f.advanceDays(1 + i)
		}
	}
	view := f.Journal.View()
	defer view.Close()
	product := contract.Find(contract.Religious, "wadiah")
	for env, want := range lists {
		for _, maxSkip := range []uint64{0, 3, contractCount / testInterval, contractCount} {
			for skip := range want {
				page := contracts.Page{Org: f.seed.First.Org, Product: product, Reading: contract.Religious, Skip: uint64(skip), Limit: 3, MaxSkip: maxSkip}
				found, err := page.Find(view, []money.Env{env})
				must(t, err)
				var got []ledger.ID
				for i := range found {
					got = append(got, found[i].Record.ID)
				}
				if !slices.Equal(got, want[skip:min(skip+3, len(want))]) {
					t.Errorf("%v behind %d, maxSkip %d: %v", env, skip, maxSkip, got)
				}
				if otherEnvCount := uint64(contractCount - len(want)); otherEnvCount <= maxSkip && page.Skipped > maxSkip {
					t.Errorf("%v behind %d: %d are passed over, %d may be", env, skip, page.Skipped, maxSkip)
				}
			}
		}
	}
}
