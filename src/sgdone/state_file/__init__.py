"""Arrays and plain numbers in files, as safetensors without pickle: checkpoints, and the base of model files."""

from sgdone.machine.atomic import remove_partial
from sgdone.state_file.checkpoint import Checkpoint, check_identity, read_checkpoint, write_checkpoint
from sgdone.state_file.file_format import CheckpointError, StateFileError

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "StateFileError",
    "check_identity",
    "read_checkpoint",
    "remove_partial",
    "write_checkpoint",
]
