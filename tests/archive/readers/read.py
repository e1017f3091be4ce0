"""Files of archives, as Python's standard library reads them: one line of JSON for each archive."""

import hashlib
import json
import posixpath
import sys
import tarfile
import zipfile


def read_zip(path):
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, archive.read(info)


def read_tar(path):
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if member.isreg():
                yield member.name, archive.extractfile(member).read()
            elif not member.isdir():
                yield member.name, b"neither file nor folder"


for line in sys.stdin:
    path = line.rstrip("\n")
    files = {}
    try:
        for name, content in (read_zip if path.endswith(".zip") else read_tar)(path):
            files[posixpath.normpath(name)] = hashlib.sha256(content).hexdigest()
        answer = {"files": files}
    except Exception as error:  # whatever a reader stops at is its refusal
        answer = {"error": str(error)}
    print(json.dumps(answer))
