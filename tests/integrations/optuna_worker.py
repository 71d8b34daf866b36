"""One worker of a study that several processes share: python optuna_worker.py STORAGE LOG N_TRIALS."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

from dale.integrations.optuna import DaleSampler

STUDY = "shared"


def storage_of(address):
    """The storage at an address: the URL of a database, or the path of a journal."""
    if not address.startswith(("sqlite:", "postgresql")):
        return JournalStorage(JournalFileBackend(address))
    settings = {"connect_args": {"timeout": 120}} if address.startswith("sqlite:") else {}  # seconds for a lock
    return RDBStorage(address, engine_kwargs=settings)


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    time.sleep(0.05)
    bend = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return float(bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def main(address, log, n_trials):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name=STUDY, storage=storage_of(address), sampler=DaleSampler(seed=0))
    with Path(log).open("a", encoding="utf-8") as file:

        def acknowledged(_, trial):
            file.write(json.dumps([trial.number, trial.params, trial.value]) + "\n")
            file.flush()
            os.fsync(file.fileno())

        study.optimize(branin, n_trials=int(n_trials), callbacks=[acknowledged])


if __name__ == "__main__":
    main(*sys.argv[1:])
