package auditor

import (
	"net/url"
	"strings"

	"mizan/api/console/view"
	"mizan/api/console/visit"
)

// treeNode is a group of accounts with the same beginning of their paths, or one account.
type treeNode struct {
	Path    string
	Name    string // the last segment of the path; a group's name ends with a colon
	Class   string // on the first level, the key of the node's text; empty on other levels
	IsGroup bool
	Address string // address of the node's own page: its level of the tree, or its statement
	Part    string // address of the HTML fragment with the level below; empty for an account
	Assets  []nodeAsset
}

type nodeAsset struct {
	groupRow
	Balance sided
}

// maxNodeAssets is how many balances the tree shows beside a node.
const maxNodeAssets = 5

// IsLong tells whether a node has more assets than the tree shows.
func (n *treeNode) IsLong() bool { return len(n.Assets) > maxNodeAssets }

type treePage struct {
	Filters filters
	Prefix  string
	Nodes   []*treeNode
	Pager   pager
	More    string // address of the HTML fragment with the rest of the level
}

// treePart is the name of the template's block that writes a level of the tree.
const treePart = "level"

// showTree is GET /console/ledger/accounts: a level of the tree of accounts. A script loads the level below a group when the
// group is opened. Without scripts the group is a link to that level.
func showTree(v *visit.Visit) error {
	q := query(v, "env", "by", "at", "currency", "network", "prefix", "limit", "cursor")
	p := treePage{Filters: filtersOf(accountsPath, q), Prefix: q.Get("prefix")}
	problem, err := refusedFields(p.read(v, q))
	if err != nil {
		return err
	}
	s := visit.PageContent{Status: status(problem), Title: v.T.Menu["accounts"], Problem: problem, Page: &p, Crumbs: treeCrumbs(v, q, p.Prefix)}
	if v.QueryArgs().Has("part") && v.WantsPart() {
		s.Part = treePart
	}
	return v.Show(templates, "accounts", s)
}

func (p *treePage) read(v *visit.Visit, q url.Values) error {
	l, err := readList[groupRow](v, apiTotals, with(asOf(q), "group", "segment"))
	for _, r := range l.Data {
		if last := len(p.Nodes) - 1; last < 0 || p.Nodes[last].Path != r.Path {
			p.Nodes = append(p.Nodes, newNode(r.Path, p.Prefix, q))
		}
		n := p.Nodes[len(p.Nodes)-1]
		n.Assets = append(n.Assets, nodeAsset{r, r.balanceOf()})
		if !n.IsGroup {
			n.Address = statementAddress(r.Path, nil, q)
		}
	}
	p.Pager = pagerOf(accountsPath, q, l.Cursor.Value)
	if l.Cursor.Value != "" {
		p.More = address(accountsPath, with(q, "cursor", l.Cursor.Value, "part", "1"))
	}
	return err
}

func newNode(path, prefix string, q url.Values) *treeNode {
	n := &treeNode{Path: path, Name: strings.TrimPrefix(path, prefix), IsGroup: strings.HasSuffix(path, ":")}
	if len(path) == 2 {
		n.Class = path[:1]
	}
	if n.IsGroup {
		below := with(q, "prefix", path, "cursor", "")
		n.Address, n.Part = address(accountsPath, below), address(accountsPath, with(below, "part", "1"))
	}
	return n
}

// leftToRight isolates a path in a line of either direction (Unicode Standard Annex 9).
func leftToRight(path string) string { return "\u2066" + path + "\u2069" }

// treeCrumbs returns the links to the levels above a prefix.
func treeCrumbs(v *visit.Visit, q url.Values, prefix string) (crumbs []view.Crumb) {
	if prefix == "" {
		return nil
	}
	crumbs = append(crumbs, view.Crumb{Title: v.T.Menu["accounts"], Path: address(accountsPath, with(q, "prefix", "", "cursor", "", "part", ""))})
	for i := range len(prefix) - 1 {
		if prefix[i] == ':' {
			crumbs = append(crumbs, view.Crumb{Title: leftToRight(prefix[:i+1]), Path: address(accountsPath, with(q, "prefix", prefix[:i+1], "cursor", "", "part", ""))})
		}
	}
	return crumbs
}
