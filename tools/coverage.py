"""Prints what a report of coverage says of each package: `python -m tools.coverage FILE`."""

import json
import sys
from collections import Counter
from pathlib import Path, PurePath

COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def main(report: str) -> None:
    """Print a table in Markdown, the last row for all packages together."""
    files = json.loads(Path(report).read_text("utf-8"))["files"]
    packages: dict[str, Counter[str]] = {}
    for name, found in sorted(files.items()):
        parts = PurePath(name.replace("autotune/api/", "api/")).parts
        package = parts[1] if parts[0] == "autotune" and len(parts) > 2 else parts[0]
        for each in (package, "all"):
            counts = {key: found["summary"][key] for key in COUNTS}
            packages.setdefault(each, Counter()).update(counts)
    packages["all"] = packages.pop("all")
    lines = ["| package | statements | run | branches run |", "| --- | ---: | ---: | ---: |"]
    for package, n in packages.items():
        branches = f"{n['covered_branches'] / n['num_branches']:.0%}" if n["num_branches"] else ""
        share = n["covered_lines"] / max(n["num_statements"], 1)
        lines.append(f"| {package} | {n['num_statements']:,} | {share:.0%} | {branches} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
