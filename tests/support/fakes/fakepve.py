#!/usr/bin/env python3
"""A simulated API of Proxmox VE on loopback, enough for Packer's plugin.

    fakepve.py --port PORT --out DIR [--template NAME]

DIR gets requests.jsonl (method, path, form; what was uploaded by name and digest), a copy of each upload (disc-N),
and machines.json when SIGTERM ends the program. Like the real one it refuses an upload whose name does not end with
`.iso`, deletes a volume for good, and makes a template of a machine that is stopped alone.
"""
import argparse
import hashlib
import json
import os
import re
import signal
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NODE = "pve"
TOKEN = "PVEAPIToken=packer@pve!build=invented-token-of-the-test"


class Cluster:
    def __init__(self, out):
        self.out = out
        self.machines = {}
        self.volumes = {}
        self.uploads = 0
        os.makedirs(out, exist_ok=True)
        self.log = open(os.path.join(out, "requests.jsonl"), "w", encoding="utf-8")

    def record(self, **what):
        self.log.write(json.dumps(what) + "\n")
        self.log.flush()

    def save(self):
        machines = [{**machine, "vmid": number} for number, machine in sorted(self.machines.items())]
        state = {"machines": machines, "volumes": sorted(self.volumes)}
        with open(os.path.join(self.out, "machines.json"), "w", encoding="utf-8") as file:
            json.dump(state, file, indent=2)

    def task(self, kind):
        return f"UPID:{NODE}:00000000:00000000:00000000:{kind}:100:packer@pve:"

    def upload(self, storage, body, kind):
        boundary = re.search(r"boundary=(\S+)", kind).group(1).encode()
        part = next(part for part in body.split(b"--" + boundary) if b'filename="' in part)
        head, content = part.split(b"\r\n\r\n", 1)
        name = re.search(rb'filename="([^"]*)"', head).group(1).decode()
        content = content[:-2]
        if not name.endswith(".iso"):
            return None
        with open(os.path.join(self.out, f"disc-{self.uploads}"), "wb") as file:
            file.write(content)
        self.uploads += 1
        self.volumes[f"{storage}:iso/{name}"] = hashlib.sha256(content).hexdigest()
        self.record(upload=name, sha256=self.volumes[f"{storage}:iso/{name}"])
        return self.task("imgcopy")

    def machine(self, number, action, method, form):
        machine = self.machines.get(number)
        if machine is None:
            return None
        config = machine["config"]
        if action == "/config" and method == "GET":
            return config
        if action == "/config":
            for name in form.pop("delete", "").split(","):
                config.pop(name, None)
            config.update(form)
            return self.task("qmconfig")
        if action == "/clone":
            clone = {"config": {**config, "name": form.get("name", "")}, "status": "stopped", "template": 0,
                     "from": number, "keys": 0}
            self.machines[form["newid"]] = clone
            return self.task("qmclone")
        if action == "/status/current":
            return {"status": machine["status"], "vmid": int(number)}
        if action.startswith("/status/"):
            machine["status"] = "running" if action.endswith("/start") else "stopped"
            machine["ended"] = action.rsplit("/", 1)[1]
            return self.task("qmstate")
        if action == "/sendkey":
            machine["keys"] += 1
            return ""
        if action == "/monitor":
            machine["keys"] += 1
            return ""
        if action == "/template" and machine["status"] == "stopped":
            machine["template"] = 1
            return self.task("qmtemplate")
        if action == "/agent/network-get-interfaces":
            address = {"ip-address": "127.0.0.1", "ip-address-type": "ipv4", "prefix": 8}
            return {"result": [{"name": "Ethernet", "hardware-address": "bc:24:11:00:00:01", "ip-addresses": [address]}]}
        if not action and method == "DELETE":
            del self.machines[number]
            return self.task("qmdestroy")
        return None

    def answer(self, method, path, form):
        found = re.match(rf"/nodes/{NODE}/qemu/(\d+)(/.*)?$", path)
        if path == "/version":
            return {"version": "8.2.2", "release": "8.2"}
        if path == "/access/ticket":
            return {"ticket": "PVE:packer@pve:T", "CSRFPreventionToken": "C", "username": "packer@pve"}
        if path == "/cluster/nextid":
            return str(max([99, *map(int, self.machines)]) + 1)
        if path == "/cluster/resources":
            return [{"vmid": int(number), "node": NODE, "type": "qemu", "name": machine["config"].get("name", ""),
                     "status": machine["status"], "template": machine["template"]}
                    for number, machine in self.machines.items()]
        if path == "/nodes":
            return [{"node": NODE, "status": "online"}]
        if path == f"/nodes/{NODE}/qemu" and method == "POST":
            self.machines[form["vmid"]] = {"config": form, "status": "stopped", "template": 0, "keys": 0}
            return self.task("qmcreate")
        if "/tasks/" in path:
            return {"status": "stopped", "exitstatus": "OK"}
        volume = re.match(rf"/nodes/{NODE}/storage/([^/]+)/content/(.+)$", path)
        if volume and method == "DELETE":
            name = volume.group(2)
            return self.task("imgdel") if self.volumes.pop(name, None) else None
        if re.match(rf"/nodes/{NODE}/storage/[^/]+/content$", path):
            if method == "GET":
                return [{"volid": name, "content": "iso"} for name in self.volumes]
            return f"{path.split('/')[4]}:{form.get('filename', 'disk')}"
        if re.match(rf"/nodes/{NODE}/storage/[^/]+/status$", path):
            return {"type": "dir", "content": "images,iso"}
        return self.machine(found.group(1), found.group(2) or "", method, form) if found else None


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster = None

    def log_message(self, *_):
        pass

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.removeprefix("/api2/json").partition("?")
        path = urllib.parse.unquote(path)
        # Plugin 1.1.1 adds one more of these headers with each upload; the last one counts.
        kind = (self.headers.get_all("Content-Type") or [""])[-1]
        if self.headers.get("Authorization") != TOKEN and "Cookie" not in self.headers and path != "/access/ticket":
            return self.reply(401, None)
        upload = re.match(rf"/nodes/{NODE}/storage/([^/]+)/upload$", path)
        if upload:
            data = self.cluster.upload(upload.group(1), body, kind)
        else:
            form = {name: values[0] for name, values in urllib.parse.parse_qs(
                body.decode("utf-8", "replace"), keep_blank_values=True).items()}
            self.cluster.record(method=self.command, path=path, query=query, form=form)
            data = self.cluster.answer(self.command, path, form)
        return self.reply(500 if data is None else 200, data)

    def reply(self, status, data):
        body = json.dumps({"data": data}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = handle_request


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--template", help="a template that exists")
    options = parser.parse_args()
    cluster = Api.cluster = Cluster(options.out)
    if options.template:
        config = {"name": options.template, "scsi0": "local-lvm:base-99-disk-0,size=60G"}
        cluster.machines["99"] = {"config": config, "status": "stopped", "template": 1, "keys": 0}

    def stop(*_):
        cluster.save()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Api)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
