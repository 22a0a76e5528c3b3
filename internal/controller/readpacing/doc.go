// Package readpacing reads in larger pieces from connections on which much arrives.
//
// It knows how long a reader can wait for more; it refuses to let it wait where
// little arrives.
//
//	config.Dial = gather.Dial // of clients that watch
package readpacing
