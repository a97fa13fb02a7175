package snapshots

// Claim has a backup say something else of itself.
func (b *Backup) Claim(change func(*BackupHeader)) { change(&b.header) }

// SaveAndPrune is what a schedule does each time.
func (s *Backups) SaveAndPrune(dir string, keep int) (Listed, error) {
	return s.saveAndPrune(dir, keep)
}
