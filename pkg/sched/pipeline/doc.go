// Package pipeline runs the two tiers: pods come from a queue, first-tier
// schedulers work side by side, one second-tier scheduler commits, binders write
// decisions down.
//
// It knows who works when and what waits where; it refuses to decide anything
// (packages propose and commit do). Package virtual runs the same two tiers on a
// clock of its own.
package pipeline
