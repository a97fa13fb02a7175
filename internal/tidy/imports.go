package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// checkImports checks that a file imports only packages that its layer may import. Tests may import every package of this
// module. But allowedImporters restricts the imports of tests too.
func (r *Report) checkImports(fileSet *token.FileSet, f *file) {
	importer := layerOf(f.folder)
	if importer == nil {
		r.addBreach("layers", f.path, "package %q belongs to no layer", f.folder)
	}
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		place := f.placeOf(fileSet, spec.Pos())
		for _, allowed := range allowedImporters {
			if isWithin(path, allowed.module) && !matchesAny(strings.Fields(allowed.packages), f.folder) {
				r.addBreach("allowed importers", place, "%s is for %s only", path, allowed.packages)
			}
		}
		imported, isOwn := strings.CutPrefix(path, Module+"/")
		if !isOwn || f.isTest || importer == nil {
			continue
		}
		if !isWithin(imported, f.folder) && !matchesAny(importer.mayImport, imported) {
			r.addBreach("imports", place, "%s may not import %s", f.folder, imported)
		}
	}
}

// layerOf returns the first layer that matches the package, or nil.
func layerOf(folder string) *layer {
	for i := range layers {
		if matches(layers[i].packages, folder) {
			return &layers[i]
		}
	}
	return nil
}

// isWithin tells whether path is the folder itself or below the folder.
func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// checkPurity checks that package ledger and the packages below it are pure: they read no clock, file, network or randomness,
// start no goroutine, and import none of the packages in impureImports.
func (r *Report) checkPurity(fileSet *token.FileSet, f *file) {
	if f.isTest || !isWithin(f.folder, "ledger") {
		return
	}
	impure := make(map[string][]string) // maps the local name of an imported package to the functions that must not be called
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		place := f.placeOf(fileSet, spec.Pos())
		localName := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			localName = spec.Name.Name
		}
		if localName == "." {
			r.addBreach("purity", place, "%s imported with a dot hides where names come from", path)
		}
		impure[localName] = impureNames[path]
		allowed := slices.Contains(pureModules, path) || matches(codecs, f.folder) && slices.Contains(codecModules, path)
		if isForeign(path) && !allowed || matchesAny(impureImports, path) {
			r.addBreach("purity", place, "ledger may not import %s", path)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			r.addBreach("purity", f.placeOf(fileSet, n.Pos()), "ledger starts no goroutine")
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[pkg.Name], n.Sel.Name) {
				r.addBreach("purity", f.placeOf(fileSet, n.Pos()), "ledger may not use %s.%s", pkg.Name, n.Sel.Name)
			}
		}
		return true
	})
}

// checkSleeps checks that no test calls time.Sleep.
func (r *Report) checkSleeps(fileSet *token.FileSet, f *file) {
	if !f.isTest {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "time" {
				r.addBreach("sleeps", f.placeOf(fileSet, n.Pos()), "a test waits on a condition or moves a clock")
			}
		}
		return true
	})
}
