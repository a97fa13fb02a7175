// Package localetest checks what a person has to check in catalogs otherwise: that they are translated, and in the right script.
//
// Callers: the tests of api/web/locale and of the packages with catalogs.
//
// Rejected: these checks in locale.Load, because the texts that are rightly exceptions, and why, are known to tests only.
package localetest
