"""Runs cloudbase-init's own code on Linux, with stand-ins for what exists on Windows alone.

usage: run.py CONFIGURATION [USER-DATA]

Prints one JSON object: options that cloudbase-init does not know, classes that it cannot load, files that it
would write, scripts that it would run, what it would do to accounts, and which names it would give machines.
"""
import ctypes
import importlib
import json
import os
import sys
import tempfile
import types
from unittest import mock

WINDOWS_ONLY = (
    "winreg", "wmi", "mi", "pywintypes", "pythoncom", "winerror", "win32com", "win32com.client", "win32process",
    "win32security", "win32net", "win32netcon", "win32service", "win32api", "win32con", "comtypes",
    "comtypes.client", "PyMI",
)
for name in WINDOWS_ONLY:
    sys.modules[name] = mock.MagicMock(name=name)
ctypes.cdll = mock.MagicMock(name="cdll")
for name in ("windll", "oledll", "WinDLL", "WINFUNCTYPE", "FormatError", "WinError", "GetLastError"):
    if not hasattr(ctypes, name):
        setattr(ctypes, name, mock.MagicMock(name=name))

from cloudbaseinit import conf as configuration  # noqa: E402
from cloudbaseinit.metadata.services import base  # noqa: E402
from cloudbaseinit.osutils import factory  # noqa: E402
from cloudbaseinit.plugins.common import userdata  # noqa: E402
from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import write_files  # noqa: E402
from cloudbaseinit.utils import classloader, hostname  # noqa: E402

CONF = configuration.CONF
# The machine's customer, whose account a platform made of the built-in administrator.
CUSTOMER = "customer"
# The password that the customer gave the platform.
PASSWORD = "chosen"
# Names that the platform's metadata give machines; the first is this machine's.
HOST_NAMES = ("node-a", "ip-172-31-16-100.eu-central-1.compute.internal",
              "ip-172-31-16-109.eu-central-1.compute.internal")


class Recorder:
    """Windows as cloudbase-init asks for it: answers what a clone would, and remembers what was asked."""

    def __init__(self):
        self.calls = []

    def enum_users(self):
        return [CUSTOMER]

    def is_builtin_admin(self, user):
        return user == CUSTOMER

    def user_exists(self, user):
        return user == CUSTOMER

    def get_default_script_exec_header(self):
        return "rem cmd"

    def generate_random_password(self, length):
        return "x" * length

    def execute_powershell_script(self, path, sysnative=False):
        self.calls.append(["powershell", read(path), bool(sysnative)])
        return b"", b"", 0

    def execute_process(self, args, shell=True, **_):
        self.calls.append(["shell" if shell else "process", read(args[-1])])
        return b"", b"", 0

    def __getattr__(self, name):
        def record(*args, **_):
            self.calls.append([name] + [str(arg) for arg in args])
        return record


def read(path):
    with open(path, "rb") as stream:
        return stream.read().decode()


class Service(base.BaseMetadataService):
    """A metadata service that knows name, the customer's account and user data, and nothing else."""

    def __init__(self, user_data):
        super().__init__()
        self.user_data = user_data

    def get_decoded_user_data(self):
        return self.user_data

    def get_host_name(self):
        return HOST_NAMES[0]

    def get_admin_username(self):
        return CUSTOMER

    def get_admin_password(self):
        return PASSWORD

    def _get_data(self, path):
        raise base.NotExistingMetadataException()


def known_names(options):
    for entry in options.values():
        option = entry["opt"]
        yield option.name.replace("-", "_")
        yield option.dest
        for old in option.deprecated_opts:
            if old.name:
                yield old.name.replace("-", "_")


def find_unknown(path):
    """Options of the file that no module registered; oslo.config itself passes over them."""
    CONF(["--config-file", path], project="cloudbase-init")
    unknown = []
    for parsed in CONF._namespace._parsed:
        for section, values in parsed.items():
            group = CONF._opts if section.upper() == "DEFAULT" else CONF._groups[section]._opts
            names = set(known_names(group))
            unknown += [f"{section}.{name}" for name in values if name.replace("-", "_") not in names]
    for entry in CONF._opts.values():
        getattr(CONF, entry["opt"].dest)
    return unknown


def load_classes(names):
    missing = []
    for name in names:
        try:
            classloader.ClassLoader().load_class(name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name}: {error}")
    return missing


def main():
    recorder = Recorder()
    factory.get_os_utils = lambda: recorder
    written = {}

    def write(path, content, _permissions=0o644, open_mode="wb"):
        name = os.path.relpath(path)
        written[name] = (written.get(name, "") if open_mode == "ab" else "") + content.decode()
        return True

    write_files._write_file = write
    result = {"unknown": find_unknown(sys.argv[1])}
    result["missing"] = load_classes(list(CONF.plugins) + list(CONF.metadata_services))
    service = Service(None)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "rb") as stream:
            service.user_data = stream.read()
    os.chdir(tempfile.mkdtemp())
    shared = {}
    for name in CONF.plugins:
        if name.endswith((".CreateUserPlugin", ".UserDataPlugin", ".SetUserPasswordPlugin")):
            plugin = classloader.ClassLoader().load_class(name)()
            plugin.execute(service, shared)
    result["files"] = written
    result["calls"] = recorder.calls
    result["names"] = [hostname.set_hostname(Recorder(), name)[0] for name in HOST_NAMES]
    json.dump(result, sys.stdout)


main()
