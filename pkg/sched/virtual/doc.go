// Package virtual runs the two tiers on a virtual clock: the same proposers and
// the same committer as in package cycle, with times that are given.
//
// It answers what a number of first-tier schedulers would gain, exactly and at
// once, and shows that with conflicts nothing is promised twice.
package virtual
