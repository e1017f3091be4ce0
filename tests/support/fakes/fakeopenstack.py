#!/usr/bin/env python3
"""Keystone, Nova and Glance as far as Packer's openstack builder asks for them, behind the proxy.

The password of the machine is what its cloudbase-init would have posted: encrypted with the key pair of the build. It
proves Packer's side of the protocol as we understand it, not OpenStack's behaviour.
"""
import base64
import json
import os
import sys
import threading

import proxy

PASSWORD = b"fake-windows-password-51d0"
TOKEN = "fake-keystone-token-9f2c"
BASE = "https://cloud.example.com"
SOURCE = "11111111-1111-1111-1111-111111111111"
SERVER = "22222222-2222-2222-2222-222222222222"
IMAGE = "33333333-3333-3333-3333-333333333333"
SERVICES = {"compute": "compute/v2.1", "image": "image", "network": "network", "block-storage": "volume/v3"}


def encrypt(public_key):
    """RSA with PKCS #1 v1.5 padding (RFC 8017), by a key in the form of OpenSSH (RFC 4253)."""
    blob = base64.b64decode(public_key.split()[1])
    fields = []
    while blob:
        size = int.from_bytes(blob[:4], "big")
        fields.append(blob[4:4 + size])
        blob = blob[4 + size:]
    exponent, modulus = (int.from_bytes(field, "big") for field in fields[1:3])
    size = (modulus.bit_length() + 7) // 8
    filler = bytes(byte % 255 + 1 for byte in os.urandom(size - len(PASSWORD) - 3))
    block = b"\0\2" + filler + b"\0" + PASSWORD
    return base64.b64encode(pow(int.from_bytes(block, "big"), exponent, modulus).to_bytes(size, "big")).decode()


class Cloud:
    def __init__(self):
        self.lock = threading.Lock()
        self.key = ""
        self.status = None
        self.images = {SOURCE: {"id": SOURCE, "name": "windows-2022", "status": "active", "visibility": "private", "min_disk": 40}}

    def answer(self, method, host, path, headers, raw):
        body = proxy.decode(raw, headers)
        path, _, query = path.partition("?")
        with self.lock:
            status, answer, more = self.decide(method, path.rstrip("/"), query, body, headers)
        return status, b"" if answer is None else json.dumps(answer).encode(), more

    def decide(self, method, path, query, body, headers):
        if path.startswith("/identity"):
            return self.identity(method, path, body)
        if headers.get("X-Auth-Token") != TOKEN:
            return 401, {"error": {"code": 401, "message": "no such token"}}, {}
        service, _, rest = path[1:].partition("/")
        return getattr(self, service)(method, rest.removeprefix("v2.1/").removeprefix("v2/"), query, body)

    def identity(self, method, path, body):
        if method == "GET":
            links = [{"rel": "self", "href": f"{BASE}/identity/v3/"}]
            return 200, {"versions": {"values": [{"id": "v3.14", "status": "stable", "links": links}]}}, {}
        identity = body["auth"]["identity"]
        if identity.get("application_credential", {}).get("secret") != "fake-application-secret-9f2c":
            return 401, {"error": {"code": 401, "message": "wrong credential"}}, {}
        catalog = [
            {"type": kind, "name": kind, "id": kind,
             "endpoints": [{"id": kind, "interface": "public", "region": "one", "region_id": "one", "url": f"{BASE}/{path}/"}]}
            for kind, path in SERVICES.items()]
        token = {"methods": ["application_credential"], "expires_at": "2099-01-01T00:00:00.000000Z",
                 "issued_at": "2026-11-22T00:00:00.000000Z", "catalog": catalog, "project": {"id": "p", "name": "p"}}
        return 201, {"token": token}, {"X-Subject-Token": TOKEN}

    def compute(self, method, path, query, body):
        name = path.split("/")[0]
        if name == "flavors":
            flavor = {"id": "4", "name": "m1.xlarge", "ram": 16384, "vcpus": 4, "disk": 80}
            return 200, {"flavors": [flavor]} if path.endswith("detail") else {"flavor": flavor}, {}
        if name == "os-keypairs" and method == "POST":
            self.key = body["keypair"]["public_key"]
            return 200, {"keypair": {"name": body["keypair"]["name"], "public_key": self.key, "fingerprint": "", "user_id": "u"}}, {}
        if path == "servers" and method == "POST":
            self.status = "ACTIVE"
            return 202, {"server": {"id": SERVER, "links": []}}, {}
        if path.endswith("/os-server-password"):
            return 200, {"password": encrypt(self.key)}, {}
        if path.endswith("/action"):
            return self.act(body)
        if method == "DELETE":
            if name == "servers":
                self.status = None
            return 204, None, {}
        if name == "servers" and self.status:
            addresses = {"nodes": [{"addr": "203.0.113.30", "version": 4, "OS-EXT-IPS:type": "fixed"}]}
            return 200, {"server": {"id": SERVER, "name": "packer", "status": self.status, "addresses": addresses, "progress": 100}}, {}
        return 404, {"itemNotFound": {"code": 404, "message": path}}, {}

    def act(self, body):
        if "createImage" in body:
            wanted = body["createImage"]
            self.images[IMAGE] = {"id": IMAGE, "name": wanted["name"], "status": "active", "visibility": "private", **wanted["metadata"]}
            return 202, None, {"Location": f"{BASE}/image/v2/images/{IMAGE}"}
        if "os-stop" in body:
            self.status = "SHUTOFF"
        return 202, None, {}

    def image(self, method, path, query, body):
        name = path.split("/")[1] if "/" in path else ""
        if method == "PATCH":
            return 200, self.images[name], {}
        if name in self.images:
            return 200, self.images[name], {}
        found = [image for image in self.images.values() if f"name={image['name']}" in query]
        return 200, {"images": found, "schema": "/v2/schemas/images", "first": "/v2/images"}, {}

    def network(self, method, path, query, body):
        return 200, {"networks": [], "ports": [], "floatingips": []}, {}


if __name__ == "__main__":
    sys.exit(proxy.serve(lambda _: Cloud(), __doc__))
