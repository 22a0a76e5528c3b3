// Package checkpoint keeps a value on disk across crashes: the agent's checkpoint.
//
// It knows atomic replacement, a version and a checksum; it refuses to know
// what it keeps. A file that cannot be trusted is set aside under another name
// and reported, because a damaged checkpoint is a reason to rebuild, never a
// reason not to start.
//
//	file := state.File[node.Snapshot]{Path: "/var/lib/numalet/checkpoint.json"}
//	snapshot, err := file.Load() // errors.Is(err, state.ErrDamaged): rebuild
//	err = file.Save(snapshot)
package checkpoint
