// Package config turns defaults, a file, the environment and flags into one
// immutable struct per binary.
//
// One table per binary (a flag set) is the only list of its settings: flags,
// file keys, environment variables, --print-config and docs/reference/flags.md
// are all made of it. The package refuses to know what the settings do.
//
//	cfg, err := config.LoadAgent(config.Input{Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout})
package config
