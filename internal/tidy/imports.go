package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// imports checks the direction of a file's imports. Tests may import every package of the
// module, but only allowed importers may import a restricted module.
func (r *Report) imports(set *token.FileSet, f *file) {
	importer := layerOf(f.folder)
	if importer == nil {
		r.breach("layers", f.path, "package %q belongs to no layer", f.folder)
	}
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		place := f.at(set, spec.Pos())
		for _, allowed := range allowedImporters {
			if within(path, allowed.module) && !matches(allowed.packages, f.folder) {
				r.breach("allowed importers", place, "%s is for %s only", path, allowed.packages)
			}
		}
		imported, inside := strings.CutPrefix(path, Module+"/")
		if !inside || f.test || importer == nil {
			continue
		}
		if !within(imported, f.folder) && !matchesAny(importer.mayImport, imported) {
			r.breach("imports", place, "%s may not import %s", f.folder, imported)
		}
	}
}

// layerOf returns the first layer that matches the package; nil if there is none.
func layerOf(folder string) *layer {
	for i := range layers {
		if matches(layers[i].packages, folder) {
			return &layers[i]
		}
	}
	return nil
}

// within tells whether path is the folder or is below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// purity checks that ledger/** reads no clock, file, network or randomness, starts no
// goroutine, and imports no package that could.
func (r *Report) purity(set *token.FileSet, f *file) {
	if f.test || !within(f.folder, "ledger") {
		return
	}
	impure := make(map[string][]string) // local name of an import → names that must not be used
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
