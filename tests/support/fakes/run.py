#!/usr/bin/env python3
"""Runs a command against a simulated cloud and a simulated Windows machine, without any network.

    run.py --workdir DIR [options] -- COMMAND…

The command runs in a network namespace that has loopback only.
DIR gets the requests to the cloud (`log` below), winrm/ (see fakewinrm.py), certificates/, and command.pid, the
process and process group of the command: `kill -INT -$(cat DIR/command.pid)` is Ctrl-C.
The exit code is the command's; 124 when it took too long, 125 when the fakes did not start.
Options that are not listed here go to fakewinrm.py.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOOPBACK = ["127.0.0.1", "localhost"]
REGIONS = ["eu-central-1", "eu-west-1"]
# What stands for a cloud, the hosts that it answers for, the account of the build in the guest, and the credentials
# that a user would have in the environment.
CLOUDS = {
    "azure": {
        "fake": "fakearm.py", "log": "arm.jsonl", "user": "packer", "python": sys.executable,
        "hosts": ["management.azure.com", "login.microsoftonline.com", "login.windows.net", "*.vault.azure.net", "*.windows.net"],
        "environment": {
            "ARM_SUBSCRIPTION_ID": "00000000-0000-0000-0000-0000000000b1",
            "ARM_TENANT_ID": "00000000-0000-0000-0000-00000000aaaa",
            "ARM_CLIENT_ID": "00000000-0000-0000-0000-0000000000c1",
            "ARM_CLIENT_SECRET": "fake-client-secret-9f2c"}},
    "aws": {
        "fake": "fakeaws.py", "log": "aws.jsonl", "user": "Administrator",
        "python": os.environ.get("IMAGEGEN_TEST_MOTO", sys.executable),
        "hosts": ["*.amazonaws.com", *(f"*.{region}.amazonaws.com" for region in REGIONS)],
        "environment": {
            "AWS_ACCESS_KEY_ID": "AKIAFAKEOFTHETESTS00",
            "AWS_SECRET_ACCESS_KEY": "fake-secret-key-9f2c-of-the-tests-00000000"}},
    "gcp": {
        "fake": "fakegce.py", "log": "gce.jsonl", "user": "packer", "python": sys.executable,
        "hosts": ["*.googleapis.com"],
        # Credentials of another account, which must not be used.
        "environment": {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent/foreign.json"}},
    "oci": {
        "fake": "fakeoci.py", "log": "oci.jsonl", "user": "opc", "python": sys.executable,
        "hosts": ["*.eu-frankfurt-1.oraclecloud.com"], "environment": {}},
    "openstack": {
        "fake": "fakeopenstack.py", "log": "openstack.jsonl", "user": "Admin", "python": sys.executable,
        "hosts": ["cloud.example.com"],
        "environment": {
            "OS_CLOUD": "foreign", "OS_AUTH_URL": "https://foreign.example.com/v3", "OS_USERNAME": "foreign",
            "OS_PASSWORD": "fake-password-of-another-cloud"}}}


def main():
    arguments = sys.argv[1:]
    if "--" not in arguments:
        sys.exit(__doc__)
    split = arguments.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--cloud", choices=CLOUDS, default="azure")
    parser.add_argument("--winrm-port", type=int, default=5986)
    parser.add_argument("--proxy-port", type=int, default=3128)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--report", help="the file that the guest's check-report.json holds")
    parser.add_argument("--group", action="append", default=[], help="see fakearm.py")
    parser.add_argument("--network", action="append", default=[], metavar="GROUP/NAME/SUBNET", help="see fakearm.py")
    parser.add_argument("--pkr-vars", action="store_true", help="give the credentials as PKR_VAR_ too, for plain Packer")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options, for_guest = parser.parse_known_args(arguments[:split])
    if not options.inside:
        return leave_network(arguments)
    return run(options, for_guest, arguments[split + 1:])


def leave_network(arguments):
    """Starts this program again in a network namespace of its own; without root that takes a user namespace too."""
    missing = [tool for tool in ("unshare", "ip", "openssl") if not shutil.which(tool)]
    if missing:
        sys.exit(f"run.py: needs {', '.join(missing)}")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--net", sys.executable, os.path.abspath(__file__), "--inside", *arguments]
    os.execvp(command[0], command)


def run(options, for_guest, command):
    workdir = os.path.abspath(options.workdir)
    os.makedirs(workdir, exist_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    cloud = CLOUDS[options.cloud]
    authority, certificate = certificates(os.path.join(workdir, "certificates"), [*cloud["hosts"], *LOOPBACK])
    report = ["--download", f"C:/imagegen/check-report.json={options.report}"] if options.report else []
    fakes = [
        start(cloud["python"], cloud["fake"], "--port", options.proxy_port, "--certificate", certificate,
              "--log", os.path.join(workdir, cloud["log"]),
              *[f"--group={group}" for group in options.group],
              *[f"--network={network}" for network in options.network]),
        start(sys.executable, "fakewinrm.py", "--port", options.winrm_port, "--certificate", certificate,
              "--user", cloud["user"], "--out", os.path.join(workdir, "winrm"), *report, *for_guest)]
    try:
        # The line `ready` is the event: the fake listens.
        if not all(fake.stdout.readline() == "ready\n" for fake in fakes):
            print("run.py: a fake did not start", file=sys.stderr)
            return 125
        return command_in(workdir, options, authority, command)
    finally:
        for fake in fakes:
            fake.terminate()
        for fake in fakes:
            fake.wait()


def start(python, name, *arguments):
    return subprocess.Popen(
        [python, os.path.join(HERE, name), *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def command_in(workdir, options, authority, command):
    environment = {
        **os.environ,
        "HTTPS_PROXY": f"http://127.0.0.1:{options.proxy_port}",
        "SSL_CERT_FILE": authority,
        "AWS_CA_BUNDLE": authority,
        "CHECKPOINT_DISABLE": "1",
        "HOME": private(workdir, "home"),
        "PACKER_CONFIG_DIR": private(workdir, "packer"),
        **CLOUDS[options.cloud]["environment"]}
    if options.pkr_vars:
        given = CLOUDS[options.cloud]["environment"].items()
        environment.update({f"PKR_VAR_{name.split('_', 1)[1].lower()}": value for name, value in given})
    # A group of its own, as a terminal would make one: Packer's outer process leaves Ctrl-C to the inner one.
    child = subprocess.Popen(command, env=environment, start_new_session=True)
    with open(os.path.join(workdir, "command.pid"), "w", encoding="utf-8") as file:
        file.write(str(child.pid))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: os.killpg(child.pid, received))
    try:
        code = child.wait(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        print(f"run.py: {command[0]} took longer than {options.timeout:.0f} s", file=sys.stderr)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return 124
    return code if code >= 0 else 128 - code


def private(workdir, name):
    path = os.path.join(workdir, name)
    os.makedirs(path, exist_ok=True)
    return path


def certificates(folder, hosts):
    """(authority, certificate with key) for every host that the fakes stand for."""
    os.makedirs(folder, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-sha256", "-days", "30", "-subj", "/CN=imagegen test authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", path("authority.key"), "-out", path("authority.pem"))
    openssl("req", *key, "-subj", "/CN=imagegen test", "-keyout", path("server.key"), "-out", path("server.csr"))
    names = ",".join(("IP:" if host[0].isdigit() else "DNS:") + host for host in hosts)
    with open(path("server.ext"), "w", encoding="utf-8") as file:
        file.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", path("server.csr"), "-CA", path("authority.pem"), "-CAkey", path("authority.key"),
            "-CAcreateserial", "-days", "30", "-sha256", "-extfile", path("server.ext"), "-out", path("server.crt"))
    with open(path("server.pem"), "w", encoding="utf-8") as joined:
        for name in ("server.crt", "server.key"):
            with open(path(name), encoding="utf-8") as part:
                joined.write(part.read())
    return path("authority.pem"), path("server.pem")


if __name__ == "__main__":
    sys.exit(main())
