package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	out := fs.String("o", "image.tar", "archive to write")
	img := Image{Labels: map[string]string{}}
	arch, links := runtime.GOARCH, []File(nil)
	fs.StringVar(&img.Ref, "ref", "localhost/image:dev", "name and tag")
	fs.StringVar(&arch, "arch", arch, "architecture (GOARCH) of the files before the first argument of the form ARCH:, after which the files for ARCH follow")
	fs.Func("entrypoint", "command line, comma separated", func(s string) error {
		img.Entrypoint = strings.Split(s, ",")
		return nil
	})
	fs.Func("label", "key=value (repeatable)", func(s string) error {
		return pair(s, func(k, v string) { img.Labels[k] = v })
	})
	fs.Func("link", "path=target, a symbolic link (repeatable)", func(s string) error {
		return pair(s, func(p, target string) { links = append(links, Link(p, target)) })
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	img.Platforms = []Platform{{Arch: arch}}
	for _, arg := range fs.Args() {
		if err := img.add(arg); err != nil {
			return err
		}
	}
	for i := range img.Platforms {
		img.Platforms[i].Files = append(img.Platforms[i].Files, links...)
	}
	return img.save(*out)
}

// add processes one argument of the command. SOURCE=/path adds a file to the image. An
// architecture and a colon, such as "arm64:", means that the files after it are for that
// architecture.
func (img *Image) add(arg string) error {
	if arch, ok := strings.CutSuffix(arg, ":"); ok {
		img.Platforms = append(img.Platforms, Platform{Arch: arch})
		return nil
	}
	p := &img.Platforms[len(img.Platforms)-1]
	src, dst, ok := strings.Cut(arg, "=")
	if !ok {
		return fmt.Errorf("read argument %q: want SOURCE=/path/in/image", arg)
	}
	data, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	p.Files = append(p.Files, Program(dst, data))
	return nil
}

func (img *Image) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := img.Write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

func pair(s string, use func(k, v string)) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("read %q: want key=value", s)
	}
	use(k, v)
	return nil
}
