package texts

import "mizan/api/web/locale"

// Texts has the texts that all pages share, in one language, and the language's formats of numbers and times. locale.Load
// explains the tags of the fields.
type Texts struct {
	*locale.Locale `json:"-"`

	Common struct {
		Console     string `json:"console"`
		Skip        string `json:"skip"`
		Menu        string `json:"menu" on:"button"`
		Search      string `json:"search" on:"button"`
		SearchHint  string `json:"searchHint"`
		SignedInAs  string `json:"signedInAs" holds:"name"`
		Logout      string `json:"logout" on:"button"`
		Save        string `json:"save" on:"button"`
		Cancel      string `json:"cancel" on:"button"`
		Create      string `json:"create" on:"button"`
		Edit        string `json:"edit" on:"button"`
		Delete      string `json:"delete" on:"button"`
		Filter      string `json:"filter" on:"button"`
		Clear       string `json:"clear" on:"button"`
		Next        string `json:"next" on:"button"`
		First       string `json:"first" on:"button"`
		Back        string `json:"back" on:"button"`
		Copy        string `json:"copy" on:"button"`
		Copied      string `json:"copied" on:"button"`
		Reload      string `json:"reload" on:"button"`
		Offline     string `json:"offline"` // a part of a page could not be loaded, because the service did not respond
		Print       string `json:"print" on:"button"`
		Yes         string `json:"yes" on:"button"`
		No          string `json:"no" on:"button"`
		None        string `json:"none"` // shown in place of an absent value
		All         string `json:"all"`
		Optional    string `json:"optional"`
		Details     string `json:"details"`
		Pages       string `json:"pages"`       // name of the group of links to other pages of a list
		Breadcrumbs string `json:"breadcrumbs"` // name of the group of links to the pages above
		Test        string `json:"test"`
		Nothing     string `json:"nothing"` // says that a list has no rows
		Problems    string `json:"problems"`
		Done        string `json:"done"`
		RequestID   string `json:"requestID"`
	} `json:"common"`
	Login struct {
		Title        string `json:"title"`
		Organization string `json:"organization"`
		OrgHint      string `json:"orgHint"`
		Login        string `json:"login"`
		Pass         string `json:"pass"`
		Submit       string `json:"submit" on:"button"`
		Wrong        string `json:"wrong"`
		TooMany      string `json:"tooMany"`
		Deactivated  string `json:"deactivated"`
		Ended        string `json:"ended"`
	} `json:"login"`
	Token struct {
		Title  string `json:"title"`
		Text   string `json:"text"`
		Label  string `json:"label"`
		Submit string `json:"submit" on:"button"`
		Wrong  string `json:"wrong"`
		Kept   string `json:"kept"`
		Forget string `json:"forget" on:"button"`
	} `json:"token"`
	Settings struct {
		Account      string `json:"account"`
		Name         string `json:"name"`
		Roles        string `json:"roles"`
		Language     string `json:"language"`
		Browser      string `json:"browser"`
		Password     string `json:"password"`
		PasswordHint string `json:"passwordHint"`
		CurrentPass  string `json:"currentPass"`
		NewPass      string `json:"newPass"`
		PassAgain    string `json:"passAgain"`
		ChangePass   string `json:"changePass" on:"button"`
		CurrentWrong string `json:"currentWrong"`
		PassWeak     string `json:"passWeak"`
		PassDiffers  string `json:"passDiffers"`
		Sessions     string `json:"sessions"`
		Begun        string `json:"begun"`
		LastUse      string `json:"lastUse"`
		Address      string `json:"address"`
		Where        string `json:"where"`
		Failures     string `json:"failures"`
		This         string `json:"this"`
		End          string `json:"end" on:"button"`
		EndOthers    string `json:"endOthers" on:"button"`
	} `json:"settings"`
	Logins struct {
		Text     string            `json:"text"`
		When     string            `json:"when"`
		Outcome  string            `json:"outcome"`
		Count    string            `json:"count"`
		Unknown  string            `json:"unknown"`
		Outcomes map[string]string `json:"outcomes"`
	} `json:"logins"`
	Cluster struct {
		Text          string            `json:"text"`
		Nodes         string            `json:"nodes"`
		Node          string            `json:"node"`
		State         string            `json:"state"`
		States        map[string]string `json:"states"`
		Leads         string            `json:"leads"`
		BaseURL       string            `json:"baseURL"`
		Shards        string            `json:"shards"`
		Shard         string            `json:"shard"`
		Platform      string            `json:"platform"`
		Leader        string            `json:"leader"`
		NoLeader      string            `json:"noLeader"`
		Organizations string            `json:"organizations"`
		Replicas      string            `json:"replicas"`
		Applied       string            `json:"applied" holds:"groups"`
		Lag           string            `json:"lag" holds:"groups"`
		Transfer      string            `json:"transfer" holds:"shard"`
		Effect        string            `json:"effect"`
		To            string            `json:"to"`
		Submit        string            `json:"submit" on:"button"`
		Begun         string            `json:"begun"`
		Moves         string            `json:"moves"`
		Organization  string            `json:"organization"`
		From          string            `json:"from"`
		ToShard       string            `json:"toShard"`
		MoveStates    map[string]string `json:"moveStates"`
		StartedAt     string            `json:"startedAt"`
		Rows          string            `json:"rows"`
	} `json:"cluster"`
	Home struct {
		Title   string `json:"title"`
		Welcome string `json:"welcome" holds:"organization"`
	} `json:"home"`
	Keyboard struct {
		Title  string `json:"title"`
		Search string `json:"search"`
		GoTo   string `json:"goTo"`
		Help   string `json:"help"`
		Close  string `json:"close" on:"button"`
	} `json:"keyboard"`
	Errors struct {
		BadRequest  Notice `json:"badRequest"`
		Forbidden   Notice `json:"forbidden"`
		Form        Notice `json:"form"` // the form came from another session, or from another site
		NotFound    Notice `json:"notFound"`
		Method      Notice `json:"method"`
		Conflict    Notice `json:"conflict"`
		TooLarge    Notice `json:"tooLarge"`
		TooMany     Notice `json:"tooMany"`
		Unavailable Notice `json:"unavailable"`
		Fault       Notice `json:"fault"`
	} `json:"errors"`
	Roles  map[string]string `json:"roles"`
	Groups map[string]string `json:"groups"` // headings of the menu's groups
	Menu   map[string]string `json:"menu"`   // entries of the menu
	Langs  map[string]string `json:"langs"`  // name of each language, in that language
}

// Notice has the texts of a page that shows nothing but an explanation, such as an error.
type Notice struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}
