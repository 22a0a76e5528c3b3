// Package config loads the configuration of each program from defaults, a file, the
// environment and flags.
//
// Each program has one table of its settings: a flag set. The flags, the keys of the
// configuration file, the environment variables, the output of --print-config and
// docs/reference/flags.md come from this table.
//
//	cfg, err := config.LoadAgent(config.Input{Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout})
package config
