// Package docstest checks the documentation against the repository: links resolve, the
// README stays short, and the pages of docs/reference say what the code says.
//
// Pages that need what only one package has are made by a test of that package, with
// the helpers here. To write all of them anew: make generate.
package docstest
