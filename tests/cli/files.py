"""Files for the command line's tests."""


def write_csv(path, columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_svmlight(path, X, y, zero_based):
    first = 0 if zero_based else 1
    lines = [
        f"{label} " + " ".join(f"{j + first}:{x}" for j, x in enumerate(row)) for label, row in zip(y, X, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path
