package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// round is one measurement of one contender with one load.
type round struct {
	contender
	load
}

// rounds returns the rounds to run, in order. If the flag -only is set, these are the rounds that
// match the parameter `only`, the compiled value of the flag. If the flag is not set, they are the
// usual rounds (load.usual).
func rounds(o options, only *regexp.Regexp) []round {
	var all []round
	for _, l := range loads(o) {
		for _, c := range contenders() {
			wanted := o.Only == "" && l.usual(c) || o.Only != "" && only.MatchString(c.name+" "+l.name)
			if wanted && l.possible(c) {
				all = append(all, round{c, l})
			}
		}
	}
	return all
}

// compare runs all rounds and prints the results.
func compare(ctx context.Context, o options) (err error) {
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	for _, program := range []*string{&o.Rig, &o.Controller} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	began := time.Now()
	f, err := newField(ctx, o)
	if err != nil {
		return err
	}
	if !o.Keep {
		defer f.plane.Down()
	}
	var results results
	for range o.Repeat {
		for _, r := range rounds(o, only) {
			result, err := f.round(ctx, r.contender, r.load)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.contender.name, r.load.name, err)
			}
			results = append(results, result)
		}
	}
	results = results.medians()
	fmt.Printf("\n%s%s altogether\n\n%s", head(o), time.Since(began).Round(time.Second), results.table(o))
	return check(os.Stdout, o.Bounds, results)
}
