#!/usr/bin/env python3
"""Oracle's Compute and Networking services as far as Packer's oracle-oci builder asks for them, behind the proxy.

It proves Packer's side of the protocol as we understand it, not Oracle's behaviour.
"""
import json
import sys
import threading

import proxy

PASSWORD = "fake-windows-password-51d0"
VERSIONS = ("Server 2019 Standard", "Server 2022 Standard")


def ocid(kind, name):
    return f"ocid1.{kind}.oc1.eu-frankfurt-1.{name}"


class Cloud:
    def __init__(self):
        self.lock = threading.Lock()
        self.resources = {}

    def answer(self, method, host, path, headers, raw):
        path, _, query = path.partition("?")
        body = proxy.decode(raw, headers)
        if not headers.get("Authorization", "").startswith("Signature "):
            return 401, b'{"code": "NotAuthenticated", "message": "no signature"}', {}
        with self.lock:
            status, answer = self.decide(method, path.split("/")[2:], query, body)
        return status, b"" if answer is None else json.dumps(answer).encode(), {"opc-request-id": "1"}

    def decide(self, method, segments, query, body):
        kind, name = segments[0], segments[1] if len(segments) > 1 else ""
        if method == "POST" and kind in ("instances", "images"):
            return 200, self.create(kind.removesuffix("s"), body)
        if method == "DELETE" and kind == "instances":
            self.resources[name]["lifecycleState"] = "TERMINATED"
            return 204, None
        if segments[-1] == "initialCredentials":
            return 200, {"username": "opc", "password": PASSWORD}
        if kind == "vnicAttachments":
            return 200, [{"id": ocid("vnicattachment", "a"), "vnicId": ocid("vnic", "a"), "lifecycleState": "ATTACHED"}]
        if kind == "vnics":
            return 200, {"id": name, "publicIp": "203.0.113.40", "privateIp": "10.0.0.40", "lifecycleState": "AVAILABLE"}
        if kind == "computeImageCapabilitySchemas":
            schema = {"id": ocid("schema", "a"), "name": "schema", "imageId": ocid("image", "made"), "schemaData": {},
                      "computeGlobalImageCapabilitySchemaId": ocid("schema", "b"),
                      "computeGlobalImageCapabilitySchemaVersionName": "1", "timeCreated": "2026-10-01T00:00:00.000Z"}
            return 200, schema if name else [schema]
        if kind == "images" and not name:
            versions = [version for version in VERSIONS if version.replace(" ", "+") in query]
            # A node image of an earlier build has the system and version of its base image, and is newer.
            return 200, [image for version in versions for image in (self.source(version), self.node_image(version))]
        if name in self.resources and len(segments) == 2:
            return 200, self.resources[name]
        return 404, {"code": "NotAuthorizedOrNotFound", "message": "/".join(segments)}

    def create(self, kind, body):
        state = "RUNNING" if kind == "instance" else "AVAILABLE"
        made = {
            "id": ocid(kind, "made"), "lifecycleState": state, "timeCreated": "2026-11-22T00:00:00.000Z", "region": "eu-frankfurt-1",
            "compartmentId": body["compartmentId"], "displayName": body.get("displayName") or "packer"}
        self.resources[made["id"]] = made
        return made

    def node_image(self, version):
        return {**self.source(version), "id": ocid("image", "node"), "displayName": "imagegen-node",
                "timeCreated": "2026-11-01T00:00:00.000Z"}

    @staticmethod
    def source(version):
        return {"id": ocid("image", version.split(" ")[1]),
                "displayName": f"Windows-Server-{version.split(' ')[1]}-Standard-Edition-VM-2026.10.01-0", "operatingSystem": "Windows",
                "operatingSystemVersion": version, "lifecycleState": "AVAILABLE", "timeCreated": "2026-10-01T00:00:00.000Z",
                "compartmentId": ocid("tenancy", "a")}


if __name__ == "__main__":
    sys.exit(proxy.serve(lambda _: Cloud(), __doc__))
