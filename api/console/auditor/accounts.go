package auditor

import (
	"net/url"
	"strings"

	"mizan/api/console/view"
	"mizan/api/console/visit"
)

// treeNode is one account, or a group of accounts whose paths have the same prefix.
type treeNode struct {
	Path    string
	Name    string // the last segment of the path; a group's name ends with a colon
	Class   string // on the first level, the key of the class's label; empty on other levels
	IsGroup bool
	Address string // address of the node's page: for a group, the next level of the tree; for an account, its statement
	Part    string // address of the HTML fragment with the next level; empty for an account
	Assets  []nodeAsset
}

type nodeAsset struct {
	groupRow
	Balance sidedBalance
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

// The HTML fragments of the tree: the values of the query parameter part, and the template's blocks that write them.
const (
	partParam = "part"
	levelPart = "level" // a level of the tree
	nodesPart = "nodes" // the rest of a level
)

// showTree is GET /console/ledger/accounts. It shows a level of the tree of accounts. When a person opens a group, a script
// loads the next level. Without scripts, the group is a link to that level.
func showTree(v *visit.Visit) error {
	q := query(v, "env", "by", "at", "currency", "network", "prefix", "limit", "cursor")
	p := treePage{Filters: filtersOf(accountsPath, q), Prefix: q.Get("prefix")}
	err := p.read(v, q)
	if part := v.Query(partParam); v.WantsPart() && (part == levelPart || part == nodesPart) {
		if err != nil {
			return err
		}
		return v.Show(templates, "accounts", visit.PageContent{Page: &p, Part: part})
	}
	problem, err := refusedFields(err)
	if err != nil {
		return err
	}
	return v.Show(templates, "accounts", visit.PageContent{
		Status: status(problem), Title: v.T.Menu["accounts"], Problem: problem, Page: &p, Crumbs: treeCrumbs(v, q, p.Prefix),
	})
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
		p.More = address(accountsPath, with(q, "cursor", l.Cursor.Value, partParam, nodesPart))
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
		n.Address, n.Part = address(accountsPath, below), address(accountsPath, with(below, partParam, levelPart))
	}
	return n
}

// leftToRight returns a path that is always written from left to right, even in right-to-left text (Unicode Standard Annex 9).
func leftToRight(path string) string { return "\u2066" + path + "\u2069" }

// treeCrumbs returns links to the levels of the tree above a prefix.
func treeCrumbs(v *visit.Visit, q url.Values, prefix string) (crumbs []view.Crumb) {
	if prefix == "" {
		return nil
	}
	crumbs = append(crumbs, view.Crumb{Title: v.T.Menu["accounts"], Path: address(accountsPath, with(q, "prefix", "", "cursor", ""))})
	for i := range len(prefix) - 1 {
		if prefix[i] == ':' {
			crumbs = append(crumbs, view.Crumb{Title: leftToRight(prefix[:i+1]), Path: address(accountsPath, with(q, "prefix", prefix[:i+1], "cursor", ""))})
		}
	}
	return crumbs
}
