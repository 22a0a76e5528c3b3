// Package checkpoint keeps a value on disk across crashes.
//
// It knows atomic replacement, a version and a checksum, but nothing about the
// value. A damaged file is renamed and reported, so that the agent can still
// start and rebuild its state from the running containers. A file of another version is
// left as it is and reported.
//
//	file := checkpoint.File[node.Snapshot]{Path: "/var/lib/numalet/checkpoint.json"}
//	snapshot, err := file.Load() // errors.Is(err, checkpoint.ErrDamaged): rebuild
//	err = file.Save(snapshot)
package checkpoint
