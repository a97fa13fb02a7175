package utp

// BoundReports sets how many pages one question for reports may have.
func (p *Provider) BoundReports(pages int) { p.reportPages = pages }
