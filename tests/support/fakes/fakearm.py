#!/usr/bin/env python3
"""Azure (sign-in, resource manager, key vault) as far as Packer's azure-arm builder asks for it, on loopback.

Packer reaches it through HTTPS_PROXY: every CONNECT ends here, whatever host it names.
Each request is a line of the log, with its whole body.
It proves Packer's side of the protocol as we understand it, not Azure's behaviour.
"""
import argparse
import base64
import json
import socketserver
import ssl
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler

TENANT = "00000000-0000-0000-0000-00000000aaaa"


def token():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'oid': str(uuid.UUID(int=1)), 'tid': TENANT})}.x"


class Cloud:
    """The resources that were created, by lower-case path, and the log."""

    def __init__(self, log, groups, networks):
        self.lock = threading.Lock()
        self.resources = {}
        self.groups = [group.lower() for group in groups]
        self.networks = [network.split("/") for network in networks]
        self.log = open(log, "w", encoding="utf-8")

    def record(self, entry):
        with self.lock:
            self.log.write(json.dumps(entry) + "\n")
            self.log.flush()

    def answer(self, method, host, path, body, authorized):
        """(status, body, headers) of one request."""
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
            return 200, None, {}
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
        if len(segments) == 5 and segments[3] == "resourcegroups":
            return 200, self.resource(path, {}), {}
        return 404, {"error": {"code": "ResourceNotFound", "message": f"not found: {path}"}}, {}

    @staticmethod
    def resource(path, properties, tags=None):
        return {
            "id": path, "name": path.rstrip("/").split("/")[-1], "location": "westeurope", "tags": tags or {},
            "properties": {**properties, "provisioningState": "Succeeded"}}


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud = None

    def log_message(self, *_):
        pass

    def handle_any(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw
        host = self.headers.get("Host", "").split(":")[0]
        path = self.path.split("?")[0]
        authorized = self.headers.get("Authorization", "").startswith("Bearer ")
        status, answer, headers = self.cloud.answer(self.command, host, path, body, authorized)
        self.cloud.record({"method": self.command, "host": host, "path": self.path, "body": body, "status": status})
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_any


class Tunnel(socketserver.BaseRequestHandler):
    """The proxy: reads CONNECT, then speaks TLS as if it were that host."""

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.request.recv(4096)
            if not data:
                return
            head += data
        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            Request(self.server.tls.wrap_socket(self.request, server_side=True), self.client_address, self.server)
        except (ConnectionError, ssl.SSLError):
            # Packer drops connections it no longer needs.
            return


class Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--certificate", required=True, help="PEM with certificate and key")
    arguments.add_argument("--log", required=True)
    arguments.add_argument("--group", action="append", default=[], help="a resource group to build in that is there already")
    arguments.add_argument("--network", action="append", default=[], metavar="GROUP/NAME/SUBNET", help="a virtual network that is there")
    options = arguments.parse_args()
    Request.cloud = Cloud(options.log, options.group, options.network)
    proxy = Proxy(("127.0.0.1", options.port), Tunnel)
    proxy.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proxy.tls.load_cert_chain(options.certificate)
    print("ready", flush=True)
    proxy.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
