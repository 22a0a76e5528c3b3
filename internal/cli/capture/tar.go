package capture

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

const (
	// maxFile is the maximum size of one file in a tar file. The largest files of sysfs are a few
	// memory pages long.
	maxFile = 1 << 20
	// maxTree is the maximum size of all files in a tar file together. The captured files of a
	// machine take a few MiB. The limit is needed because a tar file with sparse files can unpack
	// to a thousand times its own size.
	maxTree = 64 << 20
	// maxName is the maximum length of a file name in a tar file. It is the kernel's PATH_MAX. A
	// longer name could make Unpack create too many directories.
	maxName = 4096
)

// Write writes the named files and directories of the file system `root` to w, in the format of a
// tar file.
func Write(w io.Writer, root fs.FS, names []string) error {
	out := tar.NewWriter(w)
	for _, name := range names {
		if err := add(out, root, name); err != nil {
			return fmt.Errorf("capture %s: %w", name, err)
		}
	}
	return out.Close()
}

// add writes one file or directory to the tar file. It reads a file before it writes the file's
// header, because the header needs the real size, and sysfs reports 4096 for the size of most
// files, whatever their content is.
func add(out *tar.Writer, root fs.FS, name string) error {
	info, err := fs.Stat(root, name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	}
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}

// WriteDir creates the directory dir, and copies the named files of the file system `root` into it.
func WriteDir(dir string, root fs.FS, names []string) error {
	var archive bytes.Buffer
	if err := Write(&archive, root, names); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return Unpack(&archive, dir)
}

// Unpack unpacks a tar file into the directory dir. It creates only files, directories and symbolic
// links, and writes nothing outside of dir.
func Unpack(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	in, made := tar.NewReader(r), directories{root, map[string]bool{}}
	for total := int64(0); total <= maxTree; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack a captured tree: %w", err)
		}
		if err := unpackOne(made, header, in); err != nil {
			return fmt.Errorf("unpack a captured tree: %.*s: %w", maxName, header.Name, err)
		}
		total += header.Size
	}
	return fmt.Errorf("unpack a captured tree: it has more than %d bytes, and no machine's has", maxTree)
}

func unpackOne(in directories, header *tar.Header, content io.Reader) error {
	if len(header.Name) > maxName {
		return fmt.Errorf("the name has %d bytes, and at most %d are possible", len(header.Name), maxName)
	}
	name := path.Clean(header.Name)
	if err := in.mkdir(path.Dir(name)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return in.mkdir(name)
	case tar.TypeSymlink:
		return in.root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		return unpackFile(in.root, header, content)
	}
	return nil
}

// directories remembers which directories of a tree exist already, so that mkdir calls
// os.Root.MkdirAll only once for each directory. MkdirAll opens every parent directory of a path. If
// mkdir called it for every file of a tree, these calls would take as long as writing the files.
type directories struct {
	root *os.Root
	made map[string]bool
}

func (d directories) mkdir(name string) error {
	if d.made[name] {
		return nil
	}
	d.made[name] = true
	return d.root.MkdirAll(name, 0o755)
}

func unpackFile(root *os.Root, header *tar.Header, content io.Reader) error {
	if header.Size > maxFile {
		return fmt.Errorf("%d bytes, where no file of a captured tree has more than %d", header.Size, maxFile)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return root.WriteFile(path.Clean(header.Name), data, 0o644)
}
