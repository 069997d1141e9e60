"""`python -m docs.openapi`: writes docs/openapi.json."""

import json

from docs.openapi.document import FILE, document


def main() -> None:
    """Write the document where it is committed."""
    FILE.write_text(json.dumps(document(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
