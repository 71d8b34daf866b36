"""Evaluation of the objective: in this process, in a new process for each trial, in an executor, or as a program."""

from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator
from dale.evaluate.outcome import Outcome

__all__ = ["Command", "Evaluator", "Outcome"]
