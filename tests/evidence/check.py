"""Checks documents by the official schemas and libraries of their formats: check.py KIND FILE [SCHEMA]."""

import json
import sys


def check_schema(document, schema):
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    for error in validator(schema).iter_errors(document):
        yield f"{error.json_path}: {error.message}"


def check_outputs(checks):
    for check in checks:
        for entry in check["documents"]:
            for message in check_schema(entry["document"], check["schema"]):
                yield f"{entry['name']}: {message}"


def check_cyclonedx(text):
    from cyclonedx.model.bom import Bom
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        yield str(error)
    # Read back by the library: references must lead somewhere.
    document = json.loads(text)
    bom = Bom.from_json(document)
    bom.validate()
    for component in document["components"]:
        if "purl" in component:
            canonical = PackageURL.from_string(component["purl"]).to_string()
            if canonical != component["purl"]:
                yield f"{component['purl']} is {canonical} in its canonical form"


def check_spdx(path):
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    for message in validate_full_spdx_document(parse_file(path)):
        yield f"{message.context.spdx_id}: {message.validation_message}"


def check_bundle(document, key_path, predicate_type):
    """The envelope by securesystemslib, the statement by in-toto's own bindings."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from google.protobuf.json_format import ParseDict
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    with open(key_path, "rb") as file:
        key = SSlibKey.from_crypto(load_pem_public_key(file.read()))
    envelope = dict(document["dsseEnvelope"])
    # DSSE allows a signature without the id of its key; the library wants one.
    envelope["signatures"] = [{"keyid": key.keyid, **it} for it in envelope["signatures"]]
    parsed = Envelope.from_dict(envelope)
    parsed.verify([key], 1)
    payload = json.loads(parsed.payload)
    statement = Statement.copy_from_pb(ParseDict(payload, statement_pb2.Statement()))
    statement.validate()
    if statement.pb.predicate_type != predicate_type:
        yield f"the statement is {statement.pb.predicate_type}"
    if predicate_type == "https://slsa.dev/provenance/v1":
        from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance

        # A field that the format does not have is an error.
        provenance = ParseDict(payload["predicate"], Provenance())
        if not provenance.run_details.builder.id or not provenance.build_definition.build_type:
            yield "builder or build type is empty"
    elif predicate_type.startswith("https://in-toto.io/attestation/test-result/"):
        from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult

        ParseDict(payload["predicate"], TestResult())
    elif predicate_type == "https://cyclonedx.org/bom":
        yield from check_cyclonedx(json.dumps(payload["predicate"]))


def main():
    kind, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if kind == "schema":
        with open(sys.argv[3], encoding="utf-8") as file:
            problems = list(check_schema(json.loads(text), json.load(file)))
    elif kind == "outputs":
        problems = list(check_outputs(json.loads(text)))
    elif kind == "bundle":
        problems = list(check_bundle(json.loads(text), *sys.argv[3:5]))
    elif kind == "cyclonedx":
        problems = list(check_cyclonedx(text))
    else:
        problems = list(check_spdx(path))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
