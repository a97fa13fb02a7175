package form

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// node has the values that were posted under a name, and the nodes of the longer names that begin with it.
type node struct {
	values   []string
	children map[string]*node
}

// treeOf arranges the values of a posted form in a tree, by the parts of their dotted names. It ignores names that are too long
// or have too many parts, because no form has them.
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

// child returns the node of a member; nil: nothing was posted.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return n.children[name]
}

// text returns the last value that was posted under the node's name. A check box is preceded by a hidden field with the same
// name, whose value counts if the box is not checked.
func (n *node) text() (text string, posted bool) {
	if n == nil || len(n.values) == 0 {
		return "", false
	}
	return strings.ToValidUTF8(n.values[len(n.values)-1], "�"), true
}

// hasText tells whether something was typed at the node or below it.
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

// rows returns the rows of a list in the order of their numbers, without the rows that the person removes.
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
