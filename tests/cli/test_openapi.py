import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.sources.openapi.documents import document, operation

PETS = document(
    {
        "/pets": {
            "get": {"operationId": "listPets", "summary": "List the animals of the shop", "tags": ["pets"]}
        },
        "/pets/sales": {"post": {"operationId": "sell", "summary": "Sell an animal"}},
        "/bad": {"get": operation({"$ref": "#/nowhere"}, operationId="bad")},
    }
)


def test_an_openapi_document_is_indexed_and_searched_beside_catalogs(
    run: Run, catalog: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "pets.json"
    spec.write_text(json.dumps(PETS, indent=1), encoding="utf-8")
    built = run("index", "build", spec, catalog, "-o", tmp_path / "x", "--json").json
    assert (built["tools"], built["sources"], built["read"]) == (6, 4, 7)
    assert [(issue["severity"], issue["tool"]) for issue in built["issues"]] == [("error", "bad")]
    found = run("search", "sell an animal", "-i", tmp_path / "x", "-k", "1", "--json").json
    assert [hit["name"] for hit in found["hits"]] == ["pets__sell"]
    tagged = run("search", "select:pets__listPets", "-i", tmp_path / "x", "--tag", "pets", "--json").json
    assert [hit["name"] for hit in tagged["hits"]] == ["pets__listPets"]
