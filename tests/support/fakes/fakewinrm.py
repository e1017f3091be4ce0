#!/usr/bin/env python3
"""A WinRM (WS-Management shell) server with a scripted guest behind it, on loopback.

It keeps what Packer uploads, reads what Packer runs, answers as the options say, and counts.
NTLM is checked for the user's name only. No PowerShell is run.
Each event is a line of events.jsonl; the sums are in summary.json when it is stopped by SIGTERM.
"""
import argparse
import base64
import hashlib
import html
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELL = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell"
NAMESPACES = (
    'xmlns:s="http://www.w3.org/2003/05/soap-envelope" '
    'xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" '
    'xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" '
    'xmlns:x="http://schemas.xmlsoap.org/ws/2004/09/transfer" '
    f'xmlns:rsp="{SHELL}"')


def envelope(action, body, relates_to):
    return (
        f"<s:Envelope {NAMESPACES}><s:Header><a:Action>{action}</a:Action>"
        f"<a:MessageID>uuid:{uuid.uuid4()}</a:MessageID>"
        "<a:To>http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:To>"
        f"<a:RelatesTo>{relates_to}</a:RelatesTo></s:Header><s:Body>{body}</s:Body></s:Envelope>").encode()


def normal(path):
    return path.strip("'\"").replace("/", "\\").lower().replace("%temp%", "$env:temp")


def challenge():
    """An NTLM challenge: Unicode, NTLM, extended session security, target info; empty target."""
    info = struct.pack("<HH", 0, 0)
    flags = 0x00000001 | 0x00000200 | 0x00080000 | 0x00800000 | 0x20000000
    head = struct.pack("<8sIHHII8s8sHHI", b"NTLMSSP\0", 2, 0, 0, 48, flags, os.urandom(8), bytes(8), len(info), len(info), 48)
    return base64.b64encode(head + info).decode()


def authenticated_user(message):
    """The user's name in an NTLM authenticate message."""
    length, _, offset = struct.unpack_from("<HHI", message, 36)
    return message[offset:offset + length].decode("utf-16le")


class Guest:
    """What the machine behind the listener knows and does."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.files = {}
        self.uploads = []
        self.scripts = []
        self.downloads = []
        self.restarts = 0
        self.reboot_answers = []
        self.launches = 0
        self.sealed = False
        self.ended = False
        self.dead = threading.Event()
        self.events = open(os.path.join(options.out, "events.jsonl"), "w", encoding="utf-8")
        os.makedirs(os.path.join(options.out, "uploads"), exist_ok=True)

    def event(self, **what):
        self.events.write(json.dumps(what) + "\n")
        self.events.flush()

    def run(self, command):
        """(exit code, standard output) of one command; None when it never ends."""
        command = command.strip()
        chunk = re.match(r'echo (\S*) >> "(.+)"$', command)
        if chunk:
            content = base64.b64decode(chunk.group(1))
            self.files.setdefault(normal(chunk.group(2)), bytearray()).extend(content)
            return 0, ""
        if "powershell" in command.lower():
            self.launches += 1
        encoded = re.search(r"-EncodedCommand (\S+)", command, re.IGNORECASE)
        if encoded:
            return self.run_encoded(base64.b64decode(encoded.group(1)).decode("utf-16le"))
        if command.startswith("shutdown"):
            return self.shut_down(command)
        # Packer up to 1.12 calls the script after a file with its variables; later ones run a file that has both.
        script = re.search(r"(?:&'|-file )(c:/Windows/Temp/script-[^' ]+)", command)
        if script:
            return self.run_script(script.group(1), command)
        self.event(kind="command", command=command)
        return 0, ""

    def run_encoded(self, text):
        paths = re.findall(r'GetFullPath\("(.+?)"', text)
        if "$dest_file_path" in text and len(paths) == 2:
            return self.restore(paths[0], paths[1].strip("'"))
        if "Remove-Item $tmp_file_path" in text and paths:
            self.files.pop(normal(paths[0]), None)
            return 0, ""
        read = re.search(r'ReadAllBytes\("(.+?)"\)', text)
        if read:
            return self.send(read.group(1))
        self.event(kind="command", powershell=text)
        if "WinRM connected" in text:
            return 0, "WinRM connected.\r\n"
        return 0, "WIN-HOST restarted.\r\n" if "restarted." in text else ""

    def restore(self, temporary, path):
        content = bytes(self.files.get(normal(temporary), b""))
        self.files[normal(path)] = bytearray(content)
        name = path.replace("/", "\\").split("\\")[-1]
        saved = f"uploads/{len(self.uploads) + 1:02}-{name}"
        with open(os.path.join(self.options.out, saved), "wb") as file:
            file.write(content)
        upload = {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "saved": saved}
        self.uploads.append(upload)
        self.event(kind="upload", **upload)
        return 0, ""

    def send(self, path):
        """A download: Packer has PowerShell print the file in base64, and never looks at the exit code."""
        content = None
        if path in self.options.download:
            with open(self.options.download[path], "rb") as file:
                content = file.read()
        elif normal(path) in self.files:
            content = bytes(self.files[normal(path)])
        self.downloads.append(path)
        self.event(kind="download", path=path, found=content is not None)
        return (1, "") if content is None else (0, base64.b64encode(content).decode() + "\r\n")

    def shut_down(self, command):
        self.event(kind="command", command=command)
        if "restart test" in command:
            return (self.reboot_answers.pop(0) if self.reboot_answers else 0), ""
        if re.match(r"shutdown(\.exe)? /s", command):
            self.ended = True
        if command.startswith("shutdown /r"):
            self.restarts += 1
            self.reboot_answers = list(self.options.reboot_answer)
        return 0, ""

    def run_script(self, path, command):
        number = len(self.scripts) + 1
        variables = re.search(r"\. (c:/Windows/Temp/packer-ps-env-vars-[^;]+);", command)
        script = {
            "number": number,
            "text": self.text(path),
            "environment": self.text(variables.group(1)) if variables else "",
            "exit": self.options.script_exit.get(number, 0)}
        self.scripts.append(script)
        self.event(kind="script", **script)
        if number in self.options.hook:
            subprocess.run(self.options.hook[number], shell=True, check=False)
        if number in self.options.die:
            self.dead.set()
            return None
        if number in self.options.hang:
            return None
        self.sealed = bool(re.search(r"-Phase\s+'?seal\b", script["text"]))
        return script["exit"], f"script {number} ends with {script['exit']}\r\n"

    def text(self, path):
        return bytes(self.files.get(normal(path), b"")).decode("utf-8", "replace")


class Listener(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    guest = None
    counts = {"requests": 0, "handshakes": 0, "bytesUp": 0, "bytesDown": 0, "operations": {}, "afterSeal": 0}
    results = {}
    user = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def reply(self, status, body=b"", authenticate=()):
        self.send_response(status)
        self.send_header("Content-Type", "application/soap+xml;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        for scheme in authenticate:
            self.send_header("WWW-Authenticate", scheme)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.counts["bytesDown"] += len(body)

    def authenticated(self):
        """NTLM belongs to the connection: anonymous, negotiate, authenticate, then free."""
        if self.user == self.guest.options.user:
            return True
        self.counts["handshakes"] += 1
        header = self.headers.get("Authorization", "")
        message = base64.b64decode(header.split(" ", 1)[1]) if " " in header else b""
        kind = struct.unpack_from("<I", message, 8)[0] if message[:8] == b"NTLMSSP\0" else 0
        if kind == 3:
            self.user = authenticated_user(message)
            if self.user == self.guest.options.user:
                return True
        # A client takes the challenge only under the scheme that it asked with.
        scheme = header.split(" ", 1)[0]
        self.reply(401, authenticate=[f"{scheme} {challenge()}"] if kind == 1 else ["Negotiate", "NTLM"])
        return False

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        with self.guest.lock:
            self.counts["requests"] += 1
            self.counts["bytesUp"] += len(text)
            gone = self.guest.dead.is_set()
            if not self.authenticated():
                return
        action = re.search(r"<(?:\w+:)?Action[^>]*>([^<]+)<", text).group(1).strip()
        operation = action.rsplit("/", 1)[1].lower()
        relates_to = (re.search(r"MessageID[^>]*>([^<]+)<", text) or ["", ""])[1]
        with self.guest.lock:
            self.counts["operations"][operation] = self.counts["operations"].get(operation, 0) + 1
            ends = self.guest.ended if self.guest.options.ends_by_command else self.guest.sealed
            if ends and operation not in ("receive", "signal", "delete"):
                self.counts["afterSeal"] += 1
                gone = True
        if gone:
            self.close_connection = True
            return
        answer = {"create": self.create, "command": self.command_, "receive": self.receive}.get(operation)
        if answer:
            kind, body = answer(text)
            self.reply(200, envelope(kind, body, relates_to))
        elif operation == "signal":
            self.reply(200, envelope(f"{SHELL}/SignalResponse", "<rsp:SignalResponse/>", relates_to))
        else:
            self.reply(200, envelope(f"{action}Response", "", relates_to))
            self.end_machine()

    def end_machine(self):
        """The machine is off once Packer has heard that the shutdown began, and has closed its shell."""
        if self.guest.ended and self.guest.options.shutdown_hook:
            subprocess.Popen(self.guest.options.shutdown_hook, shell=True)

    def create(self, _):
        name = str(uuid.uuid4()).upper()
        return "http://schemas.xmlsoap.org/ws/2004/09/transfer/CreateResponse", (
            "<x:ResourceCreated><a:Address>http://127.0.0.1/wsman</a:Address><a:ReferenceParameters>"
            f"<w:ResourceURI>{SHELL}/cmd</w:ResourceURI><w:SelectorSet><w:Selector Name=\"ShellId\">{name}</w:Selector>"
            "</w:SelectorSet></a:ReferenceParameters></x:ResourceCreated>")

    def command_(self, text):
        command = re.search(r"<(?:\w+:)?Command(?:\s[^>]*)?>(.*?)</(?:\w+:)?Command>", text, re.DOTALL).group(1)
        command = command[9:-3] if command.startswith("<![CDATA[") else html.unescape(command)
        arguments = [html.unescape(a) for a in re.findall(r"<(?:\w+:)?Arguments[^>]*>(.*?)</", text, re.DOTALL)]
        name = str(uuid.uuid4()).upper()
        with self.guest.lock:
            self.results[name] = self.guest.run(" ".join([command] + arguments))
        return f"{SHELL}/CommandResponse", (
            f"<rsp:CommandResponse><rsp:CommandId>{name}</rsp:CommandId></rsp:CommandResponse>")

    def receive(self, text):
        name = re.search(r'CommandId="([^"]+)"', text).group(1)
        result = self.results.get(name, (1, ""))
        if result is None:
            # A command that hangs, or a machine that died: nothing comes until this program ends.
            threading.Event().wait()
        code, output = result

        def stream(kind, content):
            return (
                f'<rsp:Stream Name="{kind}" CommandId="{name}">{base64.b64encode(content.encode()).decode()}</rsp:Stream>'
                f'<rsp:Stream Name="{kind}" CommandId="{name}" End="true"></rsp:Stream>')

        return f"{SHELL}/ReceiveResponse", (
            f'<rsp:ReceiveResponse>{stream("stdout", output)}{stream("stderr", "")}'
            f'<rsp:CommandState CommandId="{name}" State="{SHELL}/CommandState/Done">'
            f"<rsp:ExitCode>{code}</rsp:ExitCode></rsp:CommandState></rsp:ReceiveResponse>")


def pair(kind):
    """`N=VALUE` with N a number, for the options that speak of the N-th script."""
    def parse(text):
        number, value = text.split("=", 1)
        return int(number), kind(value)

    return parse


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", help="PEM with certificate and key; without, the listener speaks HTTP")
    parser.add_argument("--plain", action="store_true", help="HTTP, as `AllowUnencrypted` allows it")
    parser.add_argument("--ends-by-command", action="store_true",
                        help="the session outlives the sealing phase, until `shutdown /s`")
    parser.add_argument("--shutdown-hook", help="run when the guest was told to shut down and has answered")
    parser.add_argument("--out", required=True, help="folder for events.jsonl, summary.json and uploads/")
    parser.add_argument("--user", default="packer", help="the only user who may sign in")
    parser.add_argument("--download", action="append", default=[], metavar="PATH=FILE", help="what a file in the guest holds")
    parser.add_argument("--script-exit", action="append", default=[], type=pair(int), metavar="N=CODE")
    parser.add_argument("--hook", action="append", default=[], type=pair(str), metavar="N=COMMAND", help="run when script N starts")
    parser.add_argument("--hang", action="append", default=[], type=int, metavar="N", help="script N never ends")
    parser.add_argument("--die", action="append", default=[], type=int, metavar="N", help="the machine is gone from script N on")
    parser.add_argument("--reboot-answer", action="append", default=[], type=int, metavar="CODE",
                        help="exit codes of Packer's restart tests before the first 0 (1115 costs 10 s each)")
    options = parser.parse_args(arguments)
    options.download = dict(d.split("=", 1) for d in options.download)
    options.script_exit = dict(options.script_exit)
    options.hook = dict(options.hook)
    if options.plain == bool(options.certificate):
        parser.error("either --certificate or --plain")
    return options


def main():
    options = options_of(sys.argv[1:])
    os.makedirs(options.out, exist_ok=True)
    guest = Listener.guest = Guest(options)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Listener)
    server.daemon_threads = True
    if options.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.certificate)
        # The handshake belongs to the connection's own thread: a client that dawdles must not stop the others.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)

    def stop(*_):
        summary = {
            **Listener.counts, "powershellLaunches": guest.launches, "restarts": guest.restarts, "sealed": guest.sealed,
            "uploads": guest.uploads, "downloads": guest.downloads, "scripts": guest.scripts}
        path = os.path.join(options.out, "summary.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2)
        os.replace(path + ".new", path)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
