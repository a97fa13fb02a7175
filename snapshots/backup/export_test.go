package backup

// Claim has a backup say something else of itself.
func (b *Backup) Claim(change func(*Header)) { change(&b.header) }

// SaveAndPrune is what a schedule does each time.
func (s *Service) SaveAndPrune(dir string, keep int) (Listed, error) {
	return s.saveAndPrune(dir, keep)
}
