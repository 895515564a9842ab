"""What rounds take past the framework, for the OpenAPI document."""

from typing import Any

from pydantic.json_schema import models_json_schema

from agon.api.round_schemas import NewRoundBody, SubmissionIn, SubmissionsIn, SubmittedBatchOut, SubmittedOut
from agon.api.submit import SUBMIT

_REFS = "#/components/schemas/{model}"
_SCHEMAS = (NewRoundBody, SubmissionIn, SubmissionsIn, SubmittedOut, SubmittedBatchOut)


def add_rounds(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with the body of a new round, and with what is submitted, in it."""
    _, definitions = models_json_schema([(one, "validation") for one in _SCHEMAS], ref_template=_REFS)
    schemas = document["components"]["schemas"]
    schemas.update({name: schema for name, schema in definitions["$defs"].items() if name not in schemas})
    document["paths"][SUBMIT] = {"post": _submit()}
    return document


def _submit() -> dict[str, Any]:
    refused = {"description": "Refused", "content": _json("ErrorBody")}
    statuses = (401, 403, 404, 409, 413, 422, 429, 503)
    return {
        "tags": ["rounds"],
        "operationId": "submit_answers",
        "summary": "Submit Answers",
        "description": "Send an answer that was made elsewhere, or up to 1,000. The reply comes after the ledger has "
        "it; in a batch each has its own, be it a refusal.",
        "requestBody": {"required": True, "content": _json("SubmissionIn", "SubmissionsIn")},
        "responses": {
            "200": {"description": "OK", "content": _json("SubmittedOut", "SubmittedBatchOut")},
            **{str(status): refused for status in statuses},
            "4XX": refused,
        },
    }


def _json(*schemas: str) -> dict[str, Any]:
    references = [{"$ref": _REFS.format(model=name)} for name in schemas]
    return {"application/json": {"schema": references[0] if len(references) == 1 else {"anyOf": references}}}
