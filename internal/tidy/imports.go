package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// imports checks the direction of a file's imports. Tests may look at the whole
// house, but the keepers' modules stay where they are.
func (r *Report) imports(set *token.FileSet, f *file) {
	home := roomOf(f.folder)
	if home == nil {
		r.breach("rooms", f.path, "package %q belongs to no room of the house", f.folder)
	}
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		place := f.at(set, spec.Pos())
		for _, k := range keepers {
			if within(path, k.module) && !matches(k.packages, f.folder) {
				r.breach("keepers", place, "%s is for %s only", path, k.packages)
			}
		}
		own, inside := strings.CutPrefix(path, Module+"/")
		if !inside || f.test || home == nil {
			continue
		}
		if !within(own, f.folder) && !matchesAny(home.may, own) {
			r.breach("imports", place, "%s may not import %s", f.folder, own)
		}
	}
}

// roomOf is the first room that fits the package, nil if there is none.
func roomOf(folder string) *room {
	for i := range house {
		if matches(house[i].packages, folder) {
			return &house[i]
		}
	}
	return nil
}

// within tells whether path is folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// purity checks that ledger/** reads no clock, file, network or randomness,
// starts no goroutine and imports nothing that could.
func (r *Report) purity(set *token.FileSet, f *file) {
	if f.test || !within(f.folder, "ledger") {
		return
	}
	impure := make(map[string][]string) // local name of an import → names not to use
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		place := f.at(set, spec.Pos())
		local := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			r.breach("purity", place, "%s imported with a dot hides where names come from", path)
		}
		impure[local] = impureNames[path]
		allowed := slices.Contains(pureModules, path) || matches(codecs, f.folder) && slices.Contains(codecModules, path)
		if foreign(path) && !allowed || matchesAny(impureImports, path) {
			r.breach("purity", place, "ledger may not import %s", path)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			r.breach("purity", f.at(set, n.Pos()), "ledger starts no goroutine")
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[from.Name], n.Sel.Name) {
				r.breach("purity", f.at(set, n.Pos()), "ledger may not use %s.%s", from.Name, n.Sel.Name)
			}
		}
		return true
	})
}

// sleeps checks that no test waits for time to pass.
func (r *Report) sleeps(set *token.FileSet, f *file) {
	if !f.test {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
			if from, ok := s.X.(*ast.Ident); ok && from.Name == "time" {
				r.breach("sleeps", f.at(set, n.Pos()), "a test waits on a condition or moves a clock")
			}
		}
		return true
	})
}
