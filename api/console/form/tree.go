package form

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// node has the values that were posted under a name. Its children are the nodes of names that continue this name after a dot.
type node struct {
	values   []string
	children map[string]*node
}

// treeOf arranges the values of a posted form in a tree, by the parts of their dotted names. It ignores names that are too long
// or have too many parts, and names beyond the first maxNames, because no form has them.
func treeOf(posted url.Values) *node {
	root := &node{}
	names := 0
	for name, values := range posted {
		if names++; names > maxNames || len(name) > maxName || strings.Count(name, ".") > maxNested {
			continue
		}
		root.place(name).values = values
	}
	return root
}

// place returns the node of a name. It creates missing nodes.
func (n *node) place(name string) *node {
	for part := range strings.SplitSeq(name, ".") {
		if n.children == nil {
			n.children = make(map[string]*node)
		}
		child := n.children[part]
		if child == nil {
			child = &node{}
			n.children[part] = child
		}
		n = child
	}
	return n
}

// child returns the node of a member, or nil if nothing was posted for the member.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return n.children[name]
}

// text returns the last value that was posted under the node's name. The last value counts because a form has a hidden field
// before each check box, with the same name. If the box is not checked, the hidden field's value is the only one.
func (n *node) text() (text string, posted bool) {
	if n == nil || len(n.values) == 0 {
		return "", false
	}
	return strings.ToValidUTF8(n.values[len(n.values)-1], "�"), true
}

// hasText tells whether a person entered something in a control of the node or of its children.
func (n *node) hasText() bool {
	if n == nil {
		return false
	}
	for _, v := range n.values {
		if strings.TrimSpace(v) != "" {
			return true
		}
	}
	for name, child := range n.children {
		if !strings.HasPrefix(name, "_") && child.hasText() {
			return true
		}
	}
	return false
}

// row is a row of a list.
type row struct {
	number string
	*node
}

// rows returns the rows of a list in the order of their numbers. Rows that the person marked for removal are left out.
func (n *node) rows() (rows []row) {
	if n == nil {
		return nil
	}
	for number, child := range n.children {
		if _, err := strconv.ParseUint(number, 10, 31); err != nil {
			continue
		}
		if _, isDropped := child.child(dropName).text(); !isDropped {
			rows = append(rows, row{number, child})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(len(a.number), len(b.number)), cmp.Compare(a.number, b.number))
	})
	return rows
}
