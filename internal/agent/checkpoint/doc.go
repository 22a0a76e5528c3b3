// Package checkpoint keeps a value on disk across crashes.
//
// Save replaces the checkpoint file atomically, and stores a format version and a checksum with the
// value. The value may have any type that package json can encode. Load renames a damaged file and
// returns an error, so that the agent can still start and rebuild its state from the running
// containers. For a file of another format version, Load returns an error and leaves the file as it
// is.
//
//	file := checkpoint.File[node.Snapshot]{Path: "/var/lib/numalet/checkpoint.json"}
//	snapshot, err := file.Load() // errors.Is(err, checkpoint.ErrDamaged): rebuild
//	err = file.Save(snapshot)
package checkpoint
