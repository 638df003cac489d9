"""Planted kernels: what a test on random numbers lets through, the diagnosis names."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import bad_kernels
import good_kernels
import numpy as np
import pytest

from kernelcontracts.diagnose.features import Features
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.claims import from_literal
from kernelcontracts.lang.library import load_library
