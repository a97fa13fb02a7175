package admin

import (
	"embed"

	"mizan/api/console/texts"
)

//go:embed catalog
var textFiles embed.FS

// areaTexts are the texts, in one language, of the pages that only this area has.
type areaTexts struct {
	Search struct {
		Hint       string `json:"hint"`
		Found      string `json:"found"`
		Nothing    string `json:"nothing"`
		Incomplete string `json:"incomplete"`
		Field      string `json:"field"`
	} `json:"search"`
	Usage struct {
		Title    string `json:"title"`
		Used     string `json:"used" holds:"used limit"`
		PerPayer string `json:"perPayer"`
		None     string `json:"none"`
	} `json:"usage"`
	Health struct {
		Title  string `json:"title"`
		Rate   string `json:"rate" holds:"percent attempts"`
		None   string `json:"none"`
		Window string `json:"window"`
	} `json:"health"`
	Changes struct {
		Hint string `json:"hint"`
	} `json:"changes"`
	Circuits struct {
		Hint string `json:"hint"`
	} `json:"circuits"`
	Deliveries struct {
		Parked string `json:"parked"`
		All    string `json:"all"`
	} `json:"deliveries"`
}

var areaCatalogs = texts.Load[areaTexts](textFiles)

// textsIn returns the texts in one of the console's languages.
func textsIn(lang string) *areaTexts { return areaCatalogs[lang] }
