// Command release writes the files of a release: the chart, plain manifests, the kubectl
// plugin, a bill of materials, checksums, and their signature. The script
// deploy/release/build builds the images and programs first, and then calls this command.
// Equal input gives equal files.
//
//	release -version v1.2.3 -image registry.example.com/numalet -url https://example.com/v1.2.3 -key key.pem -o build/release
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var o options
	flag.StringVar(&o.version, "version", "", "version, such as v1.2.3")
	flag.StringVar(&o.image, "image", "localhost/numalet", "repository of the image in the chart and the manifests")
	flag.StringVar(&o.url, "url", "", "where users download the files, for the krew manifest; if empty, no krew manifest is written")
	flag.StringVar(&o.chart, "chart", "../chart", "folder of the chart")
	flag.StringVar(&o.programs, "programs", "", "folder that has the programs as OS_ARCH/PROGRAM")
	flag.StringVar(&o.out, "o", "", "folder of the release")
	key := flag.String("key", "", "private key (PEM, PKCS #8: ECDSA or Ed25519) that signs the checksums; empty for none")
	flag.Parse()
	err := o.write()
	if err == nil {
		err = sums(o.out)
	}
	if err == nil && *key != "" {
		err = sign(filepath.Join(o.out, sumsFile), *key)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
