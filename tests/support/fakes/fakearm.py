#!/usr/bin/env python3
"""Azure (sign-in, resource manager, key vault) as far as Packer's azure-arm builder asks for it, on loopback.

Packer reaches it through proxy.py. It serves plugin 1.4.5 and what the 2.x plugins ask for besides.
It proves Packer's side of the protocol as we understand it, not Azure's behaviour.
"""
import base64
import json
import sys
import threading
import time
import uuid

import proxy

TENANT = "00000000-0000-0000-0000-00000000aaaa"
# Packer makes such a group and deletes it; before and after, it is not there.
TEMPORARY = "pkr-resource-group-"


def token():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'oid': str(uuid.UUID(int=1)), 'tid': TENANT})}.x"


class Cloud:
    """The resources that were created, by lower-case path."""

    def __init__(self, groups, networks):
        self.lock = threading.Lock()
        self.resources = {}
        self.groups = [group.lower() for group in groups]
        self.networks = [network.split("/") for network in networks]

    def answer(self, method, host, path, headers, raw):
        """(status, body, headers) of one request."""
        authorized = headers.get("Authorization", "").startswith("Bearer ")
        status, answer, more = self.decide(method, host, path.split("?")[0], proxy.decode(raw, headers), authorized)
        return status, b"" if answer is None else json.dumps(answer).encode(), more

    def decide(self, method, host, path, body, authorized):
        if host.startswith("login."):
            now = int(time.time())
            return 200, {
                "token_type": "Bearer", "access_token": token(), "resource": "x",
                "expires_in": "3600", "expires_on": str(now + 3600), "not_before": str(now)}, {}
        if ".vault." in host:
            certificate = base64.b64encode(b'{"data":"x","dataType":"pfx","password":"x"}').decode()
            return 200, {"value": certificate, "id": f"https://{host}{path}/v1", "attributes": {"enabled": True}}, {}
        if not authorized:
            # Packer reads the tenant of a subscription from this refusal.
            where = f'Bearer authorization_uri="https://login.windows.net/{TENANT}", error="invalid_token"'
            return 401, {"error": {"code": "AuthenticationFailed"}}, {"WWW-Authenticate": where}
        with self.lock:
            return self.manage(method, path, body)

    def manage(self, method, path, body):
        key = path.lower().rstrip("/")
        if method == "POST":
            # Template validation; power off, generalize and deallocate have no body.
            return 200, self.resource(path, {}) if key.endswith("/validate") else None, {}
        if method == "PUT":
            created = body if isinstance(body, dict) else {}
            resource = self.resource(path, created.get("properties") or {}, created.get("tags"))
            self.resources[key] = resource
            at_once = "/providers/" not in key or "/deployments/" in key
            return 200 if at_once else 201, resource, {}
        if method == "DELETE":
            for known in [k for k in self.resources if k == key or k.startswith(key + "/")]:
                del self.resources[known]
            # 2.x takes a 200 only with a body; deployments end at once.
            return 204 if "/deployments/" in key else 200, None, {}
        if method == "HEAD":
            known = key in self.resources or key.split("/")[-1] in self.groups
            return 204 if known else 404, None, {}
        return self.read(path, key)

    def read(self, path, key):
        segments = key.split("/")
        if key.endswith("/operations"):
            return 200, {"value": []}, {}
        if "publicipaddresses" in segments:
            return 200, self.resource(path, {"ipAddress": "127.0.0.1", "dnsSettings": {"fqdn": "127.0.0.1"}}), {}
        if "networkinterfaces" in segments:
            address = {"name": "ipconfig", "properties": {"privateIPAddress": "127.0.0.1"}}
            return 200, self.resource(path, {"ipConfigurations": [address]}), {}
        if segments[-1] == "virtualnetworks":
            root = path.split("/providers/")[0]
            return 200, {"value": [self.resource(
                f"{root}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{name}", {})
                for group, name, _ in self.networks]}, {}
        if segments[-1] == "subnets":
            return 200, {"value": [self.resource(f"{path}/{subnet}", {}) for _, name, subnet in self.networks
                                   if name.lower() == segments[-2]]}, {}
        if "virtualmachines" in segments:
            disk = {"name": "osdisk", "managedDisk": {"id": path + "/osdisk"}}
            return 200, self.resource(path, {"storageProfile": {"osDisk": disk, "dataDisks": []}}), {}
        if key in self.resources:
            return 200, self.resources[key], {}
        if "galleries" in segments and "versions" not in segments:
            return 200, self.resource(path, {"osType": "Windows"}), {}
        if len(segments) == 5 and segments[3] == "resourcegroups" and not segments[4].startswith(TEMPORARY):
            return 200, self.resource(path, {}), {}
        if "vaults" in segments and segments[-2] == "secrets":
            vault, name = segments[segments.index("vaults") + 1], path.split("/")[-1]
            secret = f"https://{vault}.vault.azure.net/secrets/{name}"
            return 200, self.resource(path, {"secretUri": secret, "secretUriWithVersion": f"{secret}/v1"}), {}
        return 404, {"error": {"code": "ResourceNotFound", "message": f"not found: {path}"}}, {}

    @staticmethod
    def resource(path, properties, tags=None):
        return {
            "id": path, "name": path.rstrip("/").split("/")[-1], "location": "westeurope", "tags": tags or {},
            "properties": {**properties, "provisioningState": "Succeeded"}}


def arguments(parser):
    parser.add_argument("--group", action="append", default=[], help="a resource group to build in that is there already")
    parser.add_argument("--network", action="append", default=[], metavar="GROUP/NAME/SUBNET", help="a virtual network that is there")


if __name__ == "__main__":
    sys.exit(proxy.serve(lambda options: Cloud(options.group, options.network), __doc__, arguments))
