"""The trials for TensorBoard, written by a process of its own.

Nothing of TensorBoard or TensorFlow is imported by the process that searches.
"""

from autotune.board.report import BoardReport, board_for

__all__ = ["BoardReport", "board_for"]
