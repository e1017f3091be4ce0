// read-bill reads a bill of materials as grype does before it asks its database, and prints the packages that it found.
// ci/programs/evidence/hand-run builds it in the folder of grype's module.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/anchore/grype/grype/pkg"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: read-bill FILE")
		os.Exit(2)
	}
	packages, _, bill, err := pkg.Provide("sbom:"+os.Args[1], pkg.ProviderConfig{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "read-bill:", err)
		os.Exit(1)
	}
	lines := make([]string, 0, len(packages))
	for _, found := range packages {
		lines = append(lines, fmt.Sprintf("%s %s %s, %d CPEs", found.Name, found.Version, found.PURL, len(found.CPEs)))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	fmt.Printf("%d packages in a bill by %s\n", len(packages), bill.Descriptor.Name)
	if len(packages) == 0 {
		os.Exit(1)
	}
}
