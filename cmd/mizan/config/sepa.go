package config

import (
	"os"
	"path/filepath"

	"mizan/actors/provider/sepa"
)

// sepaDir reads the directory of the SEPA terminals' files. The file in it proves that the storage is mounted, because an empty
// mount point would look as if no payout had ever been handed over.
func (r *reader) sepaDir(name string) string {
	dir := r.text(name)
	if dir == "" {
		return ""
	}
	info, err := os.Stat(filepath.Join(dir, sepa.RootFile))
	if err != nil || !info.Mode().IsRegular() {
		r.reportBad(name, "%s has no file %s; create it once, on the storage itself", dir, sepa.RootFile)
		return ""
	}
	return dir
}
