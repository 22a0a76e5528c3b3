// Package group is GPU groups: which GPUs of which nodes are kept for whom, which
// of them a container may have, how much a tenant may hold, and a proposal of
// groups for what is expected to come.
//
// It knows groups, inventories and node records; it refuses to know who may do
// what (a Right answers that) and to keep what is free (node records do). A GPU
// in a group is given only to containers that match a group that holds it, and
// one in none only to containers that match none. Whole cards and parts of one
// never mix: a whole card has to be all free, and a card in MIG mode has slices
// only.
//
//	grouping := group.New(groups, nodes)
//	match, err := grouping.Match(ask) // which groups serve it
//	offer, err := match.Best(records) // which node, which group, which GPUs
//
// From the outside in: group.go, nodes.go and ask.go are the nouns, check.go
// accepts groups, grouping.go, match.go and offer.go find GPUs, quota.go counts
// them, propose.go makes groups. Every refusal is a *Refusal.
package group
