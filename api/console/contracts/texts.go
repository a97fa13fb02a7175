package contracts

import (
	"embed"

	"mizan/api/console/texts"
)

//go:embed catalog
var catalogFiles embed.FS

// Texts are the area's own texts in one language. The names of fields, words and products are in package labels.
type Texts struct {
	Families   map[string]string `json:"families"`   // titles of the families of contracts, by the family's name in addresses
	About      map[string]string `json:"about"`      // what a family is for, by the same name
	Actions    map[string]string `json:"actions"`    // texts of buttons, by the names of actions in addresses
	Conditions map[string]string `json:"conditions"` // why an action is not possible, by the field in the API's refusal
	Rows       map[string]string `json:"rows"`       // statuses of the rows of a payment schedule
	Rules      map[string]string `json:"rules"`      // titles of the rules of screenings, by the rule's code

	Page struct {
		NoModule     string `json:"noModule"`
		Product      string `json:"product"`
		Count        string `json:"count"`
		Total        string `json:"total"`
		CountChart   string `json:"countChart"`
		Empty        string `json:"empty" holds:"records"`
		PreviousPage string `json:"previousPage" on:"button"`

		Now         string `json:"now"` // heading above the actions that are possible now
		Action      string `json:"action"`
		Possible    string `json:"possible"`
		NotPossible string `json:"notPossible"`
		Why         string `json:"why"`
		LeadsTo     string `json:"leadsTo"`
		NotIn       string `json:"notIn" holds:"status"`
		First       string `json:"first" holds:"actions"`
		Over        string `json:"over"` // the action can never become possible again
		Arrow       string `json:"arrow"`
		DualControl string `json:"dualControl"`
		NeedsInput  string `json:"needsInput" holds:"fields"`
		AtMost      string `json:"atMost" holds:"bound"`
		Ended       string `json:"ended"`
		Batches     string `json:"batches" holds:"done total"`
		ActionIntro string `json:"actionIntro" holds:"number status"`

		Schedule      string `json:"schedule"`
		ScheduleChart string `json:"scheduleChart" holds:"paid late open"`
		Download      string `json:"download" on:"button"`
		Holders       string `json:"holders"`
		Subscriptions string `json:"subscriptions"`
		Entries       string `json:"entries"`
		Account       string `json:"account"`
		Debit         string `json:"debit"`
		Credit        string `json:"credit"`
		History       string `json:"history"`
		When          string `json:"when"`
		Event         string `json:"event"`
		Status        string `json:"status"`
		By            string `json:"by"`
		ShowAll       string `json:"showAll"`

		Review      string `json:"review"`
		ReviewIntro string `json:"reviewIntro"`
		NoneWaiting string `json:"noneWaiting"`
		Number      string `json:"number"`
		Since       string `json:"since"`
		RequestedBy string `json:"requestedBy"`
		Unknown     string `json:"unknown"`

		Screening      string `json:"screening"`
		ScreeningIntro string `json:"screeningIntro"`
		Screen         string `json:"screen" on:"button"`
		Result         string `json:"result"`
		Rule           string `json:"rule"`
		Query          string `json:"query"`
		NewFrom        string `json:"newFrom"`

		Charity      string `json:"charity"`
		CharityIntro string `json:"charityIntro"`
		NoCharity    string `json:"noCharity"`
		From         string `json:"from"`
		Postings     string `json:"postings"`
		Side         string `json:"side"`
		Amount       string `json:"amount"`
	} `json:"page"`
}

var catalogs = texts.Load[Texts](catalogFiles)

// textsIn returns the texts in the given language, or in English if the console does not have that language.
func textsIn(lang string) *Texts { return catalogs[texts.In(lang).Lang] }

// ChartStyle returns the address of the style sheet for charts. The templates call it.
func (*Texts) ChartStyle() string { return chartStyle }

// action returns the text of the button for an action.
func (t *Texts) action(name string) string {
	if text, ok := t.Actions[name]; ok {
		return text
	}
	return name
}
