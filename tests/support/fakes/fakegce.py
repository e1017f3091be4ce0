#!/usr/bin/env python3
"""Google Compute Engine and its sign-in as far as Packer's googlecompute builder asks for them, behind the proxy.

The guest agent's exchange of a password is played: a key in the metadata `windows-keys`, the encrypted answer on the
fourth serial port. It proves Packer's side of the protocol as we understand it, not Google's behaviour.
"""
import base64
import hashlib
import json
import os
import sys
import threading

import proxy

PASSWORD = b"fake-windows-password-51d0"
TOKEN = "fake-access-token-9f2c"
DONE = {"kind": "compute#operation", "name": "operation-1", "status": "DONE", "progress": 100}
LICENSE = "https://www.googleapis.com/compute/v1/projects/windows-cloud/global/licenses/windows-server-2022-dc"


def encrypt(key):
    """RSA-OAEP with SHA-1 (RFC 8017), by the public key of the metadata item."""
    modulus, exponent = (int.from_bytes(base64.b64decode(key[name]), "big") for name in ("modulus", "exponent"))
    size = (modulus.bit_length() + 7) // 8

    def mask(seed, length):
        blocks = (hashlib.sha1(seed + counter.to_bytes(4, "big")).digest() for counter in range(length // 20 + 1))
        return b"".join(blocks)[:length]

    def xor(left, right):
        return bytes(a ^ b for a, b in zip(left, right))

    block = hashlib.sha1(b"").digest() + bytes(size - len(PASSWORD) - 42) + b"\1" + PASSWORD
    seed = os.urandom(20)
    block = xor(block, mask(seed, len(block)))
    message = b"\0" + xor(seed, mask(block, 20)) + block
    return base64.b64encode(pow(int.from_bytes(message, "big"), exponent, modulus).to_bytes(size, "big")).decode()


class Cloud:
    def __init__(self):
        self.lock = threading.Lock()
        self.instances = {}
        self.images = {}
        self.serial = ""

    def answer(self, method, host, path, headers, raw):
        body = proxy.decode(raw, headers)
        path = path.split("?")[0]
        with self.lock:
            status, answer = self.decide(method, host, path, body, headers)
        return status, json.dumps(answer).encode(), {}

    def decide(self, method, host, path, body, headers):
        if path.endswith("/token"):
            return 200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
        if "tokeninfo" in path:
            return 200, {"email": "build@example-project.iam.gserviceaccount.com"}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"error": {"code": 401, "message": "no such token"}}
        name = path.rsplit("/", 1)[1]
        if method == "GET":
            return self.read(path, name)
        if method == "POST" and name == "instances":
            body["metadata"] = {"fingerprint": "1", **(body.get("metadata") or {})}
            self.instances[body["name"]] = body
        elif name == "setMetadata":
            self.set_metadata(path.split("/")[-2], body)
        elif method == "POST" and name == "images":
            self.images[body["name"]] = body
        elif method == "DELETE":
            self.instances.pop(name, None)
        return 200, {**DONE, "zone": "europe-west3-a"}

    def set_metadata(self, name, metadata):
        self.instances[name]["metadata"] = metadata
        for item in metadata["items"]:
            if item["key"] == "windows-keys":
                key = json.loads(item["value"])
                self.serial += json.dumps({
                    "userName": key["userName"], "passwordFound": True, "modulus": key["modulus"],
                    "exponent": key["exponent"], "encryptedPassword": encrypt(key)}) + "\n"

    def read(self, path, name):
        if "/operations/" in path:
            return 200, DONE
        if "/images/family/" in path:
            return 200, self.source(f"{name}-v20260909", name)
        if "/global/images/" in path and "windows-cloud" in path:
            return 200, self.source(name, "")
        if "/global/images/" in path and name in self.images:
            return 200, {**self.images[name], "selfLink": f"https://www.googleapis.com{path}", "diskSizeGb": "60", "status": "READY"}
        if name == "serialPort":
            return 200, {"contents": self.serial}
        if "/instances/" in path and name in self.instances:
            access = [{"natIP": "203.0.113.20"}]
            interfaces = [{"networkIP": "10.0.0.20", "accessConfigs": access}]
            return 200, {**self.instances[name], "status": "RUNNING", "networkInterfaces": interfaces}
        if "/machineTypes/" in path or path.split("/")[-2] == "zones":
            return 200, {"name": name, "selfLink": f"https://www.googleapis.com{path}"}
        return 404, {"error": {"code": 404, "message": f"not found: {path}"}}

    @staticmethod
    def source(name, family):
        return {"name": name, "family": family, "selfLink": f"projects/windows-cloud/global/images/{name}",
                "diskSizeGb": "50", "licenses": [LICENSE], "status": "READY",
                "guestOsFeatures": [{"type": feature} for feature in ("UEFI_COMPATIBLE", "WINDOWS", "GVNIC")]}


if __name__ == "__main__":
    sys.exit(proxy.serve(lambda _: Cloud(), __doc__))
