package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/capture"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/pkg/gpu/pci"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// newCapture returns the command "numalet capture", which copies the files that describe a
// machine.
func newCapture() *cobra.Command {
	root := live
	cmd := &cobra.Command{
		Use:   "capture FILE.tar | DIR | -",
		Short: "Write the files that describe this machine, to read them with --root on another machine",
		Long: `Write the files that describe this machine. If the argument ends in .tar, the command
writes a tar file with this name. If it is "-", the command writes a tar file to standard
output. Otherwise it writes the files to a new directory with this name. The files
describe only CPUs, NUMA nodes, memory sizes, and the PCI addresses and NUMA nodes of
NVIDIA GPUs. They contain no host names, serial numbers or processes. Attach the result
to a bug report.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("give a destination: FILE.tar, DIR, or - for standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := capture.Open(root)
			if err != nil {
				return fmt.Errorf("open root: %w", err)
			}
			defer tree.Close()
			files, err := machineFiles(tree)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				return fmt.Errorf("nothing to capture under %s: it holds no sys/devices/system/cpu", root)
			}
			if args[0] == "-" {
				return capture.Write(cmd.OutOrStdout(), tree, files)
			}
			return save(args[0], tree, files)
		},
	}
	rootFlag(cmd, &root)
	return cmd
}

// machineFiles returns the names of those files of a tree that describe the machine. If no file of
// the tree describes a topology, machineFiles returns no names, not even those of files about GPUs.
func machineFiles(tree *capture.Tree) ([]string, error) {
	files, err := sysfs.Files(tree)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	gpus, err := pci.Files(tree)
	return append(files, gpus...), err
}

// save writes the captured files to a new tar file if the given name ends in .tar, and otherwise to a
// new directory.
func save(name string, tree *capture.Tree, files []string) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists: name a new file or directory", name)
	}
	if !strings.HasSuffix(name, ".tar") {
		return capture.WriteDir(name, tree, files)
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(capture.Write(file, tree, files), file.Close())
}
