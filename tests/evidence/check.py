"""Checks documents by the official schemas and libraries of their formats: check.py KIND FILE [SCHEMA]."""

import json
import sys


def check_schema(document, schema):
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    for error in validator(schema).iter_errors(document):
        yield f"{error.json_path}: {error.message}"


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


def main():
    kind, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if kind == "schema":
        with open(sys.argv[3], encoding="utf-8") as file:
            problems = list(check_schema(json.loads(text), json.load(file)))
    elif kind == "cyclonedx":
        problems = list(check_cyclonedx(text))
    else:
        problems = list(check_spdx(path))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
