package utp

// BoundReports sets how many pages one poll for reports may read.
func (p *Provider) BoundReports(bound int) { p.reportPageBound = bound }
