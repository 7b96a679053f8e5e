"""Names that are no regular files: a reader must neither wait for them nor read them to the end of memory."""

import os
import socket
import uuid
from pathlib import Path
from random import Random

_DEVICES = ("/dev/zero", "/dev/random", "/dev/null", "/dev/tty")


def special_file(random: Random, folder: Path) -> Path:
    """A folder, pipe, socket, device, broken link, name that is too long, or nothing at all."""
    path = folder / f"special-{uuid.UUID(int=random.getrandbits(128))}"
    kind = random.choice(["folder", "pipe", "socket", "device", "link", "loop", "long", "nothing", "inside a file"])
    if kind == "device":
        return Path(random.choice(_DEVICES))
    if kind == "long":
        return folder / ("n" * 300)
    if kind == "inside a file":
        (folder / "a file").touch()
        return folder / "a file" / "model"
    if path.is_symlink() or path.exists():
        return path  # the case is repeated in the same folder
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        _socket(path)
    elif kind == "link":
        path.symlink_to(folder / "nowhere")
    elif kind == "loop":
        path.symlink_to(path)
    return path


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # addresses of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)
