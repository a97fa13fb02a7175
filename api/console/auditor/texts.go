package auditor

import (
	"embed"

	"mizan/api/console/texts"
	"mizan/api/web/locale"
)

// areaTexts are the texts of this area in one language. locale.Load explains the fields' tags.
type areaTexts struct {
	Ledger struct {
		Env         string            `json:"env"`
		By          string            `json:"by"`
		At          string            `json:"at"`
		AtHint      string            `json:"atHint"`
		Since       string            `json:"since"`
		SinceHint   string            `json:"sinceHint"`
		From        string            `json:"from"`
		To          string            `json:"to"`
		Show        string            `json:"show" on:"button"`
		Asset       string            `json:"asset"`
		Account     string            `json:"account"`
		Debit       string            `json:"debit"`
		Credit      string            `json:"credit"`
		Debits      string            `json:"debits"`
		Credits     string            `json:"credits"`
		Balance     string            `json:"balance"`
		Difference  string            `json:"difference"`
		Held        string            `json:"held"`
		HeldDebits  string            `json:"heldDebits"`
		HeldCredits string            `json:"heldCredits"`
		Dr          string            `json:"dr"` // abbreviation of "debit", shown beside an amount
		Cr          string            `json:"cr"`
		Now         string            `json:"now"`
		Envs        map[string]string `json:"envs"`
		Bys         map[string]string `json:"bys"`
		Classes     map[string]string `json:"classes"`
	} `json:"ledger"`
	Trial struct {
		Totals      string `json:"totals"`
		Unbalanced  string `json:"unbalanced"`
		NotBalanced string `json:"notBalanced"`
		Rows        string `json:"rows"`
		Empty       string `json:"empty"`
		Moved       string `json:"moved"`
		PerPage     string `json:"perPage"`
		AllBalanced string `json:"allBalanced"`
	} `json:"trial"`
	Tree struct {
		Explain string        `json:"explain"`
		Prefix  string        `json:"prefix"`
		More    string        `json:"more" on:"button"`
		Assets  locale.Plural `json:"assets" holds:"n"`
		Empty   string        `json:"empty"`
		Level   string        `json:"level"`
	} `json:"tree"`
	Statement struct {
		Choose  string `json:"choose"`
		Opening string `json:"opening"`
		Closing string `json:"closing"`
		Lines   string `json:"lines"`
		CSV     string `json:"csv" on:"button"`
		CSVHint string `json:"csvHint"`
		Empty   string `json:"empty"`
		Print   string `json:"print"`
	} `json:"statement"`
	Journal struct {
		Seq          string        `json:"seq"`
		Source       string        `json:"source"`
		Event        string        `json:"event"`
		From         string        `json:"from"`
		To           string        `json:"to"`
		Created      string        `json:"created"`
		Booked       string        `json:"booked"`
		Effective    string        `json:"effective"`
		Phase        string        `json:"phase"`
		Version      string        `json:"version"`
		Reverses     string        `json:"reverses"`
		Closes       string        `json:"closes"`
		After        string        `json:"after"`
		Postings     string        `json:"postings"`
		MorePostings locale.Plural `json:"morePostings" holds:"n"`
		NoEntry      string        `json:"noEntry"`
		History      string        `json:"history"`
		All          string        `json:"all"`
		Prove        string        `json:"prove" on:"button"`
		Entries      string        `json:"entries"`
		Empty        string        `json:"empty"`
		Continues    string        `json:"continues"`
		EntryTitle   string        `json:"entryTitle" holds:"seq"`
		EventTitle   string        `json:"eventTitle" holds:"seq"`
		Author       string        `json:"author"`
		Anybody      string        `json:"anybody"`
	} `json:"journal"`
	Periods struct {
		Explain    string `json:"explain"`
		Month      string `json:"month"`
		ClosedAt   string `json:"closedAt"`
		ClosedBy   string `json:"closedBy"`
		Hash       string `json:"hash"`
		Rows       string `json:"rows"`
		Event      string `json:"event"`
		Empty      string `json:"empty"`
		Close      string `json:"close"`
		Continue   string `json:"continue" on:"button"`
		CloseTitle string `json:"closeTitle" holds:"month"`
		Meaning    string `json:"meaning"`
		Final      string `json:"final"`
		Confirm    string `json:"confirm" on:"button"`
		Verify     string `json:"verify"`
	} `json:"periods"`
	Exports struct {
		Explain   string            `json:"explain"`
		Format    string            `json:"format"`
		Prefix    string            `json:"prefix"`
		Estimate  string            `json:"estimate" on:"button"`
		Download  string            `json:"download" on:"button"`
		Size      string            `json:"size" holds:"size"`
		Small     string            `json:"small"`
		Progress  string            `json:"progress"`
		Kilobytes string            `json:"kilobytes" holds:"n"`
		Megabytes string            `json:"megabytes" holds:"n"`
		Gigabytes string            `json:"gigabytes" holds:"n"`
		Formats   map[string]string `json:"formats"`
	} `json:"exports"`
	Proof struct {
		TitleOf      string            `json:"titleOf" holds:"seq"`
		Intro        string            `json:"intro"`
		Seq          string            `json:"seq"`
		Show         string            `json:"show" on:"button"`
		NoEvent      string            `json:"noEvent"`
		Key          string            `json:"key"`
		KeyHint      string            `json:"keyHint"`
		Remember     string            `json:"remember"`
		Check        string            `json:"check" on:"button"`
		NoScript     string            `json:"noScript"`
		NoBrowser    string            `json:"noBrowser"`
		Proven       string            `json:"proven"`
		NotProven    string            `json:"notProven"`
		Steps        [5]string         `json:"steps"`
		ShownTitle   string            `json:"shownTitle"`
		ProvenTitle  string            `json:"provenTitle"`
		Differs      string            `json:"differs"`
		Field        string            `json:"field"`
		File         string            `json:"file" on:"button"`
		FileHint     string            `json:"fileHint"`
		Sent         string            `json:"sent"`
		Size         string            `json:"size"`
		Root         string            `json:"root"`
		Note         string            `json:"note"`
		Leaf         string            `json:"leaf"`
		Path         string            `json:"path"`
		Record       string            `json:"record"`
		Hash         string            `json:"hash"`
		OlderTitle   string            `json:"olderTitle"`
		OlderIntro   string            `json:"olderIntro"`
		Older        string            `json:"older"`
		OlderHint    string            `json:"olderHint"`
		CheckOlder   string            `json:"checkOlder" on:"button"`
		Extended     string            `json:"extended"`
		Commands     string            `json:"commands"`
		CommandsHint string            `json:"commandsHint"`
		Checker      string            `json:"checker"`
		CheckerText  string            `json:"checkerText"`
		CheckHolds   string            `json:"checkHolds"`
		CheckBroken  string            `json:"checkBroken"`
		NeverChecked string            `json:"neverChecked"`
		MinorUnits   string            `json:"minorUnits"`
		Outcomes     map[string]string `json:"outcomes"`
	} `json:"proof"`
	Explained struct {
		Title     string    `json:"title"`
		Is        string    `json:"is"`
		Proven    [5]string `json:"proven"`
		IsNot     string    `json:"isNot"`
		NotProven [5]string `json:"notProven"`
		Advice    string    `json:"advice"`
	} `json:"explained"`
	Refusals map[string]string `json:"refusals"`
}

//go:embed catalog
var catalogFiles embed.FS

// catalogs are the texts by language.
var catalogs = texts.Load[areaTexts](catalogFiles)

func textsIn(lang string) *areaTexts { return catalogs[lang] }
