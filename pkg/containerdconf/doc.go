// Package containerdconf decides how to configure a node's containerd so that it creates no
// container without the agent's NRI plugin. It makes the text of a drop-in file and the line that
// the main file needs to import it. It also checks that the new configuration differs from the
// earlier one only in the intended settings.
//
// It does not parse TOML. The node's own containerd does that: `containerd config dump` prints the
// settings that result from all files in one canonical form, which ReadDump reads. The main file is
// changed as text. Check then compares the dumps before and after the change.
package containerdconf
