package backup

// ChangeHeader changes a backup's header before it is written.
func (b *Backup) ChangeHeader(change func(*Header)) { change(&b.header) }

// SaveAndPrune does what a schedule does whenever a backup is due.
func (s *Service) SaveAndPrune(dir string, keepCount int) (Listed, error) {
	return s.saveAndPrune(dir, keepCount)
}
