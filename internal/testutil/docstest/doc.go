// Package docstest checks the documentation against the repository: links resolve, the
// README stays short, and the pages of docs/reference say what the code says.
package docstest
