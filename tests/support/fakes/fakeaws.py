#!/usr/bin/env python3
"""Amazon's EC2 and STS as moto simulates them, behind the proxy; run by the Python of ci/programs/moto/build.

Added to moto: machines that answer a command; the password of a Windows machine, encrypted with its key pair; images of Amazon for our Windows
releases; what only the plugin asks for. It proves Packer's side of the protocol, not Amazon's behaviour.
"""
import base64
import io
import os
import sys

import proxy

PASSWORD = "fake-windows-password-51d0"
OWNER = "801119661308"
NAMES = [
    f"{prefix}Windows_Server-{release}-English-{edition}-Base-{date}"
    for prefix, release in (("EC2LaunchV2-", "2019"), ("", "2019"), ("", "2022"), ("", "2025"))
    for edition in ("Core", "Full")
    for date in ("2026.08.12", "2026.09.09")]


class Images:
    """What each region starts with: the date of an image is in its name."""

    def __iter__(self):
        return images()


def images():
    for number, name in enumerate(NAMES):
        yield {
            "ami_id": f"ami-{number + 1:017x}", "name": name, "description": "Microsoft Windows Server", "state": "available",
            "creation_date": name[-10:].replace(".", "-") + "T10:00:00.000Z", "owner_id": OWNER, "owner_alias": "amazon",
            "public": True, "virtualization_type": "hvm", "architecture": "x86_64", "platform": "windows",
            "image_type": "machine", "image_location": f"amazon/{name}", "hypervisor": "xen", "root_device_type": "ebs",
            "root_device_name": "/dev/sda1", "sriov": "simple"}


def encrypt_password(backend, instance_id):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import padding

    pair = backend.describe_key_pairs(key_names=[backend.get_instance(instance_id).key_name])[0]
    key = serialization.load_ssh_public_key(pair.material_public)
    return base64.b64encode(key.encrypt(PASSWORD.encode(), padding.PKCS1v15())).decode()


def create_image(backend, instance_id, name, description, tag_specifications):
    """moto tags no snapshots in this action; the log has what was asked for."""
    wanted = [it for it in tag_specifications if it["ResourceType"] != "snapshot"]
    return backend.create_plain_image(instance_id, name, description, tag_specifications=wanted)


def set_deprecation(time):
    """An answer to EnableImageDeprecation or DisableImageDeprecation, which moto does not know."""
    def answer(response):
        from moto.core.responses import ActionResult

        from moto.ec2.exceptions import InvalidAMIIdError

        name = response._get_param("ImageId")
        image = response.ec2_backend.amis.get(name)
        if image is None:
            raise InvalidAMIIdError(name)
        image.deprecation_time = response._get_param("DeprecateAt") if time else None
        return ActionResult({"Return": True})

    return answer


def find_image_name(command, instance_id):
    from moto.ec2.models import ec2_backends

    backend = ec2_backends[command.account_id][command.backend_region]
    return backend.amis[backend.get_instance(instance_id).image_id].name


def make_invocation(plain):
    """What a machine prints: as the name of its image says."""
    def get_invocation(command, instance_id, plugin_name):
        code = 8 if find_image_name(command, instance_id) == "drifted" else 0
        return {**plain(command, instance_id, plugin_name), "StandardOutputContent": f"checked\nimagegen-clone-test={code}\n"}

    return get_invocation


def make_command(plain):
    """Refuses a machine whose agent never reports, and one that the sign-in may not command."""
    def send_command(backend, **wanted):
        from moto.core.exceptions import JsonRESTError

        command = plain(backend, **wanted)
        name = find_image_name(command, wanted["instance_ids"][0])
        if name == "silent":
            raise JsonRESTError("InvalidInstanceId", "Instances not in a valid state for account")
        if name == "refused":
            raise JsonRESTError("AccessDeniedException", "not authorized to perform: ssm:SendCommand")
        return command

    return send_command


class Cloud:
    def __init__(self):
        import moto.ec2.models.amis
        from moto.ec2.models import EC2Backend
        from moto.ec2.responses import EC2Response
        from moto.ec2.utils import filter_dict_attribute_mapping
        from moto.ssm.models import Command, SimpleSystemManagerBackend
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        # Named, so that moto adds none of its own images; read by region.
        os.environ["MOTO_AMIS_PATH"] = __file__
        moto.ec2.models.amis.AMIS = Images()
        EC2Response.enable_image_deprecation = set_deprecation(True)
        EC2Response.disable_image_deprecation = set_deprecation(False)
        EC2Backend.get_password_data = encrypt_password
        EC2Backend.create_plain_image = EC2Backend.create_image
        EC2Backend.create_image = create_image
        # A filter that moto does not know.
        filter_dict_attribute_mapping["client-token"] = "client_token"
        Command.get_invocation = make_invocation(Command.get_invocation)
        SimpleSystemManagerBackend.send_command = make_command(SimpleSystemManagerBackend.send_command)
        self.application = DomainDispatcherApplication(create_backend_app)

    def answer(self, method, host, path, headers, raw):
        if host == "checkip.amazonaws.com":
            return 200, b"203.0.113.7\n", {"Content-Type": "text/plain"}
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
            "SERVER_NAME": host, "SERVER_PORT": "443", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "https",
            "wsgi.version": (1, 0), "wsgi.input": io.BytesIO(raw), "wsgi.errors": sys.stderr,
            "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
            "CONTENT_TYPE": headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(raw)),
            **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}}
        started = []
        body = b"".join(self.application(environ, lambda status, given, _=None: started.append((status, given))))
        status, given = started[0]
        kept = {name: value for name, value in given if name.lower() in ("content-type", "x-amzn-requestid")}
        return int(status.split(" ")[0]), body, kept


if __name__ == "__main__":
    sys.exit(proxy.serve(lambda _: Cloud(), __doc__))
