// Package containerdconf decides how a node's containerd is configured to require the agent: what
// the drop-in file says, which line the main file needs, and whether the configuration that results
// differs from the earlier one only where it should.
//
// It does not parse TOML. The node's own containerd does: `containerd config dump` prints the
// settings that result from all files in one canonical form, which Dump reads. A change of the main
// file is made in its text and judged by the dumps before and after it.
//
// All functions need time linear in their input.
package containerdconf
