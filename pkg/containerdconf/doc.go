// Package containerdconf decides how to configure a node's containerd so that it refuses to
// create containers while the agent's NRI plugin is not registered. The package makes the text of
// a drop-in file, and the line with which containerd's main configuration file imports the
// drop-in file. The package also checks that the new configuration differs from the earlier one
// only in the intended settings.
//
// The package does not parse TOML. The node's own containerd does that: `containerd config dump`
// prints, in one canonical form, the settings that result from all configuration files. ReadDump
// reads this output. The package changes the main configuration file as text. Check then compares
// the outputs of `containerd config dump` before and after the change.
package containerdconf
