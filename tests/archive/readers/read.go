// Files of archives, as Go's standard library reads them: one line of JSON for each archive.
package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path"
	"strings"
)

type files map[string]string

func (found files) add(name string, content io.Reader) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return err
	}
	found[path.Clean(name)] = hex.EncodeToString(hash.Sum(nil))
	return nil
}

func readZip(name string) (files, error) {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	found := files{}
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		content, err := entry.Open()
		if err != nil {
			return nil, err
		}
		if err := found.add(entry.Name, content); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func readTar(name string) (files, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(plain)
	found := files{}
	for {
		header, err := archive.Next()
		if err == io.EOF {
			_, err := io.Copy(io.Discard, plain)
			return found, err
		}
		if err != nil {
			return nil, err
		}
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeReg:
			if err := found.add(header.Name, archive); err != nil {
				return nil, err
			}
		default:
			found[path.Clean(header.Name)] = "neither file nor folder"
		}
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		read := readTar
		if strings.HasSuffix(lines.Text(), ".zip") {
			read = readZip
		}
		found, err := read(lines.Text())
		answer := map[string]any{"files": found}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			panic(err)
		}
	}
}
