package bucket

// Policy says which of the nodes that fit comes first.
type Policy int

const (
	// LeastFit takes the most free first, dimensions compared in the index's order: it balances load.
	LeastFit Policy = iota
	// BestFit takes the least free that fits first, compared likewise: it packs.
	BestFit
	// FirstFit takes nodes in order of their names, whatever is free on them.
	FirstFit
	// NextFit is FirstFit that goes on behind Query.After, round and round.
	NextFit
	// Random takes any node that fits, each as likely as the other.
	Random
)
