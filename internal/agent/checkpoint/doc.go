// Package checkpoint keeps a value on disk across crashes.
//
// It replaces the file atomically, and stores a format version and a checksum with the value. It knows
// nothing about the value. Load renames a damaged file and returns an error, so that the agent can
// still start and rebuild its state from the running containers. For a file of another version, Load
// returns an error and leaves the file as it is.
//
//	file := checkpoint.File[node.Snapshot]{Path: "/var/lib/numalet/checkpoint.json"}
//	snapshot, err := file.Load() // errors.Is(err, checkpoint.ErrDamaged): rebuild
//	err = file.Save(snapshot)
package checkpoint
