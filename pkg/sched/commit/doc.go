// Package commit is the second tier: the one place where nodes are given away.
//
// It knows how to tell whether a first list still holds, and how to place a pod
// so that no two decisions promise the same thing; it refuses to look for nodes
// (package propose) and to bind (an effect that it is given).
package commit
