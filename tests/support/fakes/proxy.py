"""The way into a simulated cloud: an HTTPS proxy on loopback at which every CONNECT ends, whatever host it names.

Connections to the WinRM port are handed to the simulated guest: Packer reaches a machine by the address that its cloud
gave it. Each request to the cloud is a line of the log, with its whole body.
"""
import argparse
import json
import socket
import socketserver
import ssl
import threading
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler

WINRM_PORT = 5986


class Log:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.file = open(path, "w", encoding="utf-8")

    def write(self, entry):
        with self.lock:
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()


class Request(BaseHTTPRequestHandler):
    """A request that came through the tunnel; the server's `cloud` answers it."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_any(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        host = self.headers.get("Host", "").split(":")[0]
        try:
            status, content, headers = self.server.cloud.answer(self.command, host, self.path, self.headers, raw)
        except Exception:
            # A refusal, which Packer reports at once; it repeats what fails without one.
            traceback.print_exc()
            status, content, headers = 400, b"the simulation has an error", {}
        entry = {"method": self.command, "host": host, "path": self.path, "body": decode(raw, self.headers), "status": status,
                 "signer": self.headers.get("Authorization", "").split(",")[0]}
        self.server.log.write(entry)
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_any


def decode(raw, headers):
    """A body as JSON: an object, the fields of a form, or text."""
    text = raw.decode("utf-8", "replace")
    if headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
        return dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
    try:
        return json.loads(text)
    except ValueError:
        return text


class Tunnel(socketserver.BaseRequestHandler):
    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.request.recv(4096)
            if not data:
                return
            head += data
        port = int(head.split(b" ")[1].rsplit(b":", 1)[1])
        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            if port == WINRM_PORT:
                self.server.log.write({"method": "CONNECT", "host": head.split(b" ")[1].decode()})
                self.pass_on(port)
            else:
                Request(self.server.tls.wrap_socket(self.request, server_side=True), self.client_address, self.server)
        except (ConnectionError, ssl.SSLError):
            # Packer drops connections it no longer needs.
            return

    def pass_on(self, port):
        guest = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=copy, args=(guest, self.request), daemon=True).start()
        copy(self.request, guest)


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def serve(make_cloud, description, add_arguments=lambda parser: None):
    """Serves the cloud that `make_cloud` makes of the options, until the process ends."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", required=True, help="PEM with certificate and key")
    parser.add_argument("--log", required=True)
    add_arguments(parser)
    options = parser.parse_args()
    proxy = Proxy(("127.0.0.1", options.port), Tunnel)
    proxy.log = Log(options.log)
    proxy.cloud = make_cloud(options)
    proxy.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proxy.tls.load_cert_chain(options.certificate)
    print("ready", flush=True)
    proxy.serve_forever()
